"""Short ways to say what the restarter saw and remembers: seconds after noon, one boot."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from spoteval.clock import Mark, Now
from spoteval.config.grant import Grant
from spoteval.config.restarter import PollSettings
from spoteval.hold import Hold
from spoteval.provider.contract import Observation, Price, State
from spoteval.publication.listing import Fact, InstanceListing
from spoteval.settings.money import Money
from spoteval.shape import Unreadable
from spoteval_agents.restarter.policy import Policy
from spoteval_agents.restarter.seen import Seen, StoreSight
from spoteval_agents.restarter.state import Assignment, Ownership
from spoteval_agents.restarter.state import State as Memory

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
RUN = Assignment("swe-lite-q3", 2)
PRICE = Price(11.6, "USD", "hour", "configured", datetime(2026, 11, 20, tzinfo=UTC))
CAP = Money(14.0, "USD", "hour")
ME, OTHER = "5f0c0000-0000-4000-8000-000000000001", "0b000000-0000-4000-8000-000000000002"
GRANT = Grant(price_cap=CAP)
POLICY = Policy("gpu-1", "/var/lib/spoteval/holds/gpu-1", PollSettings(), GRANT, identity=ME)
OWNED = Ownership(ME, 3)
MINE = (f"000001-{ME}",)


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
    owners: tuple[str, ...] = MINE,
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
    auto_restart: bool = False,
) -> Seen:
    """One look at that second. `state` None: the provider did not answer."""
    costs = billed if billed is not None else state is not State.STOPPED
    obs = Observation(state, costs, auto_restart, last_start, cause) if state is not None else None
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
    memory = Memory(word="STOPPED", since=mark(since_s), run=RUN, owner=OWNED)
    return replace(memory, **changes)  # type: ignore[arg-type]
