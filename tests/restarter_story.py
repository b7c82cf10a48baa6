"""Short ways to say what the restarter saw and remembers: seconds after noon, one boot."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from spoteval.clock import Mark, Now
from spoteval.config.restarter import PollSettings
from spoteval.config.shared import Money
from spoteval.hold import Hold
from spoteval.provider.contract import Observation, Price, State
from spoteval.publication.listing import Fact, InstanceListing
from spoteval.shape import Unreadable
from spoteval_agents.restarter.policy import Policy
from spoteval_agents.restarter.seen import Seen, StoreSight
from spoteval_agents.restarter.state import Assignment
from spoteval_agents.restarter.state import State as Memory

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
RUN = Assignment("swe-lite-q3", 2)
PRICE = Price(11.6, "USD", "hour", "configured", datetime(2026, 11, 20, tzinfo=UTC))
CAP = Money(14.0, "USD", "hour")
POLICY = Policy("gpu-1", "/var/lib/spoteval/holds/gpu-1", PollSettings(), CAP)


def now(seconds: float = 0.0, boot: str = "b1", *, synced: bool = True) -> Now:
    """So many seconds after noon."""
    return Now(NOON + timedelta(seconds=seconds), seconds, boot, synced)


def mark(seconds: float) -> Mark:
    """The mark of that moment."""
    return now(seconds).mark


def hold(
    hold_id: str = "operator-1", *, ensure_stopped: bool = False, stop_after_s: float = 600.0
) -> Hold:
    """A hold of the store."""
    return Hold(
        hold_id,
        "gpu-1",
        "tp 4 -> 8",
        "ana",
        NOON,
        ensure_stopped=ensure_stopped,
        stop_after_s=stop_after_s,
    )


def sight(
    *holds: Hold,
    run: Assignment | None = RUN,
    facts: tuple[Fact, ...] = (),
    released: tuple[str, ...] = (),
    owners: tuple[str, ...] = (),
) -> StoreSight:
    """One LIST with these holds and their bodies."""
    ids = frozenset(item.id for item in holds) | frozenset(released)
    return StoreSight(InstanceListing(ids, frozenset(released), facts, owners), holds, run)


def look(
    state: State | None = State.STOPPED,
    at_s: float = 0.0,
    *,
    store: StoreSight | Unreadable | None = None,
    file_hold: str | Unreadable | None = None,
    price: Price | Unreadable | None = None,
    error: str = "timeout:20s",
    billed: bool | None = None,
    last_start: datetime | None = None,
    cause: str | None = None,
) -> Seen:
    """One look at that second. `state` None: the provider did not answer."""
    costs = billed if billed is not None else state is not State.STOPPED
    obs = None if state is None else Observation(state, costs, last_start=last_start, cause=cause)
    return Seen(
        provider=Unreadable(error) if obs is None else obs,
        taken=mark(at_s),
        file_hold=file_hold,
        store=sight() if store is None else store,
        mirror=frozenset(),
        price=price,
    )


def stopped(since_s: float = 0.0, **changes: object) -> Memory:
    """A memory of an instance that stands still since that second, with a run to do."""
    memory = Memory(word="STOPPED", since=mark(since_s), run=RUN)
    return replace(memory, **changes)  # type: ignore[arg-type]
