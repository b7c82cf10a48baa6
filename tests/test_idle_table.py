"""The whole truth table of idle-guard: keep-alive x activity x probe errors x store, each cell played to its end."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from resume_world import planned
from resume_world import seen as resume_seen
from spoteval.clock import Now
from spoteval.control.enders import HOLD_WITHIN_S, Ender, owed
from spoteval.shape import Unreadable
from spoteval_agents.idle_guard.decide import decide, observe
from spoteval_agents.idle_guard.reports import BLIND_S, reports
from spoteval_agents.idle_guard.seen import Keep, Policy, Seen, State
from spoteval_agents.idle_guard.uses import found, uses

POLICY = Policy(after_s=1200.0, cpu_above=0.10, every_s=60.0)
QUIET = Seen(
    "5e55",
    members=0,
    cpu=0.02,
    gpu=0.0,
    disk_io=1e5,
    network=1e5,
    servers=(("policy", 0), ("judge", None)),
)
LOST = Unreadable("EIO")
KEEP_ALIVE: Mapping[str, dict[str, object]] = {
    "absent": {},
    "touched": {"keep_alive": Keep("", 60.0)},
    "forgotten": {"keep_alive": Keep("setup 2026-12-01", 43200.0)},
    "unreadable": {"keep_alive": LOST},
}
# Every use of design 6.5, and beside them what looks like one and is none.
ACTIVITY: Mapping[str, dict[str, object]] = {
    "run": {"members": 3},
    "notice": {"draining": True},
    "requests": {"servers": (("policy", 14), ("judge", None))},
    "gpu": {"gpu": 0.0501},
    "cpu": {"cpu": 0.1001},
    "disk": {"disk_io": 5e6 + 1},
    "network": {"network": 5e6 + 1},
    "episode logs": {"logs": "episode logs grew by 7 bytes"},
    "publication": {"publishing": "publishing: 3 waiting, the store took something 9 s ago"},
    "boot-resume works": {"busy": ("boot-resume",)},
    "end-handler works": {"busy": ("end-handler",), "complete": True, "guest_hold": ""},
    "login": {"logins": ("ana",)},
    "inhibitor": {"inhibitors": ("backup: nightly copy",)},
}
IDLENESS: Mapping[str, dict[str, object]] = {
    "nothing": {},
    "at every limit": {"cpu": 0.10, "gpu": 0.05, "disk_io": 5e6, "network": 5e6},
    "no gpu, no server that tells": {"gpu": None, "servers": (("policy", None),)},
    "boot-resume waits for a person": {"busy": ("boot-resume",), "guest_hold": "tp 4 -> 8"},
    "boot-resume has nothing to bring back": {"busy": ("boot-resume",), "complete": True},
    "no disk": {"disk": "/mnt/durable: is no mount point"},
}
ERRORS: Mapping[str, dict[str, object]] = {
    "none": {},
    "run": {"members": LOST},
    "requests": {"servers": (("policy", LOST), ("judge", None))},
    "gpu": {"gpu": LOST},
    "cpu": {"cpu": LOST},
    "disk": {"disk_io": LOST},
    "network": {"network": LOST},
    "episode logs": {"logs": LOST},
    "publication": {"publishing": LOST},
    "busy files": {"busy": LOST},
    "login": {"logins": LOST},
    "inhibitor": {"inhibitors": LOST},
}
CELLS = tuple(product(KEEP_ALIVE, {**ACTIVITY, **IDLENESS}, ERRORS, ("reachable", "away")))


@dataclass
class Played:
    """How a cell ended."""

    off_s: float | None
    intent: Ender | None
    told: tuple[str, ...]


def world(keep: str, activity: str, error: str) -> Seen:
    """The cell as it is seen; an error hides what its probe would have told."""
    changes = {**KEEP_ALIVE[keep], **{**ACTIVITY, **IDLENESS}[activity], **ERRORS[error]}
    return replace(QUIET, **changes)  # type: ignore[arg-type]


def play(seen: Seen, store: str) -> Played:
    """The pure loop for two hours: what is seen stays as it is but for the intent that it writes."""
    state, intent, told = State(), None, list[str]()
    for at_s in _times():
        now = _now(at_s)
        look = replace(seen, intents=() if intent is None else (intent,))
        state = observe(state, look, POLICY, now)
        told += [one.name for one in reports(state, look, POLICY, now) if one.name not in told]
        word = decide(state, look, POLICY, now).word
        if word == "intent":
            intent = Ender("5e55", "5e55", "idle-guard", "idle for 1200 s", "idle-1", now.mark)
        elif word == "hold" and intent is not None:
            intent = replace(intent, proved=store == "reachable")
        elif word == "stop":
            return Played(at_s, intent, tuple(told))
    return Played(None, intent, tuple(told))


def _times() -> Iterator[float]:
    """A look a minute until every idle cell is off; then past the hour, in which nothing may change."""
    yield from (60.0 * step for step in range(39))
    yield from (BLIND_S, BLIND_S + 60.0, 2 * BLIND_S)


def _now(at_s: float) -> Now:
    return Now(datetime(2026, 12, 1, 3, tzinfo=UTC) + timedelta(seconds=at_s), at_s, "boot-1")


def is_idle(keep: str, activity: str, error: str) -> bool:
    """The truth, said without the code: nothing but the absence of everything is idleness."""
    return keep == "absent" and activity in IDLENESS and error == "none"


def test_idle_table_is_whole() -> None:
    """Every probe has its row of use and its row of error, and every row is a use by itself."""
    assert len(CELLS) == 4 * 19 * 12 * 2
    for name, changes in ACTIVITY.items():
        assert uses(replace(QUIET, **changes), POLICY), name  # type: ignore[arg-type]
    used = {use.probe for name in ACTIVITY for use in found(world("absent", name, "none"), POLICY)}
    blind = {
        use.probe for name in ERRORS for use in found(world("absent", "nothing", name), POLICY)
    }
    assert {"busy files" if probe == "agents" else probe for probe in used} - {"notice"} == blind


@pytest.mark.parametrize("store", ["reachable", "away"])
@pytest.mark.parametrize("keep", KEEP_ALIVE)
def test_idle_table_each_cell_is_off_only_where_nothing_uses_it(keep: str, store: str) -> None:
    """Off after 20 min with a proved hold, after 15 more without one; on in every other cell, with no intent."""
    for _, activity, error, _ in (cell for cell in CELLS if cell[0] == keep and cell[3] == store):
        played = play(world(keep, activity, error), store)
        cell = (keep, activity, error, store)
        if not is_idle(keep, activity, error):
            assert (played.off_s, played.intent) == (None, None), cell
        elif store == "reachable":
            assert played.off_s is not None, cell
            assert 1200.0 <= played.off_s <= 1200.0 + 120.0, cell
            assert played.intent is not None, cell
            assert played.intent.proved, cell
        else:
            assert played.off_s is not None, cell
            assert 1200.0 + HOLD_WITHIN_S <= played.off_s <= 1200.0 + HOLD_WITHIN_S + 120.0, cell


def test_idle_table_store_away_the_next_boot_holds_first() -> None:
    """The hold that is owed comes before everything else, and the run is not resumed."""
    played = play(world("absent", "nothing", "none"), "away")
    assert played.intent is not None
    assert owed([played.intent], "next") == (played.intent,)
    plan = planned(resume_seen(session="next", intents=(played.intent,), hold="tp 4 -> 8"))
    assert plan.act == "owed 5e55"
    assert plan.decision.line().startswith(
        "agent=boot-resume decision=begin stage=stop-intent ender=idle-guard hold=idle-1 "
    )


@pytest.mark.parametrize("error", [name for name in ERRORS if name != "none"])
def test_idle_table_an_error_alone_is_told_after_an_hour(error: str) -> None:
    """Beside real use it is not: that is why the machine is on."""
    assert play(world("absent", "nothing", error), "reachable").told == ("blind",)
    other = "cpu" if error != "cpu" else "gpu"
    assert play(world("absent", other, error), "reachable").told == ()
    seen = world("absent", "nothing", error)
    state = observe(State(), seen, POLICY, _now(0.0))
    assert reports(state, seen, POLICY, _now(BLIND_S - 0.1)) == ()
    assert len(reports(state, seen, POLICY, _now(BLIND_S))) == 1


def test_idle_table_a_forgotten_keep_alive_is_told_in_each_of_its_cells() -> None:
    """Whatever else is going on."""
    for activity, error in product({**ACTIVITY, **IDLENESS}, ERRORS):
        told = play(world("forgotten", activity, error), "reachable").told
        assert told == ("keep-alive setup 2026-12-01",), (activity, error)


@pytest.mark.parametrize("activity", ACTIVITY)
def test_idle_table_any_use_begins_the_time_anew(activity: str) -> None:
    """One active look between idle ones: the next 20 min are whole."""
    quiet, used = world("absent", "nothing", "none"), world("absent", activity, "none")
    state = observe(State(), quiet, POLICY, _now(0.0))
    state = observe(state, used, POLICY, _now(1190.0))
    state = observe(state, quiet, POLICY, _now(1200.0))
    assert decide(state, quiet, POLICY, _now(2399.9)).word == "idle"
    assert decide(state, quiet, POLICY, _now(2400.0)).word == "intent"
