"""What the restarter counts towards the stop rules, as `status` reads it from its memory."""

from dataclasses import replace

from spoteval.clock import Now, read_now
from spoteval.files import encoded, parse_record
from spoteval.report.rules import Counted, counted
from spoteval.shape import Reading, Table, Unreadable
from spoteval_agents.restarter.state import Counts, State
from spoteval_agents.restarter.state_file import state_record


def _read(state: State, now: Now) -> Reading[Counted]:
    table = parse_record(encoded(state_record(state, now)), "state.json")
    assert isinstance(table, Table)
    return counted(table, now)


def test_a_fresh_memory_has_counted_nothing() -> None:
    """Zeros, and not "not known"."""
    assert _read(State(), read_now()) == Counted()


def test_it_is_what_the_restarter_remembers() -> None:
    """Each count under the name that the restarter gives it."""
    now = read_now()
    counts = Counts(unhealthy=1, interrupted=2, finished=12, starts_from=3)
    since = replace(now.mark, mono_s=now.mono_s - 1980.0)
    state = State(starts=10, failing_since=since, counts=counts)
    found = _read(state, now)
    assert isinstance(found, Counted)
    assert replace(found, failing_s=round(found.failing_s)) == Counted(1980, 1, 2, 12, 7)


def test_what_is_damaged_is_not_zero() -> None:
    """Nor is a memory that is not there yet."""
    now = read_now()
    assert counted(None, now) == Unreadable("the restarter has not looked yet")
    assert counted(Unreadable("state.json: damaged"), now) == Unreadable("state.json: damaged")
    odd = counted(Table({"counts": {"unhealthy": "many"}}, "state.json"), now)
    assert isinstance(odd, Unreadable)
    assert "unhealthy" in odd.why
