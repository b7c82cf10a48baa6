"""Every record file, cut at each byte: what is left reads as designed, never as a guess."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from spoteval.clock import Mark
from spoteval.episode import Attempt, Outcome, attempt_from
from spoteval.event import Event, event_from
from spoteval.files import encoded, parse_lines, parse_record, read_text
from spoteval.hold import Hold, hold_from
from spoteval.interruption import Closed, Opened, closed_from, opened_from
from spoteval.run import RunPlan, RunRecord, StopRules, run_from
from spoteval.shape import Reading, Table, Unreadable

WRONG: tuple[object, ...] = (5, "x", [], {}, None, True)
AT = datetime(2026, 12, 1, 2, 58, 11, tzinfo=UTC)
MARK = Mark(AT, 12.5, "boot")


@dataclass(frozen=True)
class Case:
    """A record, and how it is read back."""

    value: object
    record: dict[str, object]
    read: Callable[[Table], Reading[object]]


PLAN = RunPlan(
    "inspect", "fresh_budget", ("t.py",), env={"A": "b"}, stop_rules=StopRules(60.0, 1, (2, 5))
)
WHOLE = {
    "run": Case(
        run := RunRecord("r", "gpu-1", 3, AT, PLAN, {"spoteval": "0.1"}), run.record(), run_from
    ),
    "hold": Case(
        hold := Hold(
            "h-1", "gpu-1", "why", "ana", AT, ensure_stopped=True, stop_after_s=5.0, no_resume=True
        ),
        hold.record(),
        hold_from,
    ),
    "opened": Case(
        opened := Opened("i", "r", "s", MARK, "notice", "undecided", 60.0),
        opened.record(),
        opened_from,
    ),
    "closed": Case(
        closed := Closed("i", MARK, "preempted", 1, 2, 3, 4.5), closed.record(), closed_from
    ),
}
LINES = {
    "attempt": Case(
        attempt := Attempt("t/s/1", "uuid", Outcome.COMPLETED, 2, "C", started=AT, ended=AT),
        attempt.record(),
        lambda table: attempt_from(table.values),
    ),
    "event": Case(
        event := Event(AT, "start", "restarter", "gpu-1", price={"amount": 3.1}, detail={"n": 1}),
        event.record(),
        lambda table: event_from(table.values),
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_record_comes_back(name: str) -> None:
    """What is written is what is read."""
    case = WHOLE[name]
    table = parse_record(encoded(case.record), name)
    assert isinstance(table, Table)
    assert case.read(table) == case.value


@pytest.mark.parametrize("name", WHOLE)
def test_a_record_cut_at_each_byte_is_unreadable(name: str) -> None:
    """No prefix of a record passes for a record; without its newline alone it is whole."""
    case = WHOLE[name]
    data = encoded(case.record)
    for length in range(len(data) - 1):
        assert isinstance(parse_record(data[:length], name), Unreadable)
    assert isinstance(parse_record(data[:-1], name), Table)


@pytest.mark.parametrize("name", WHOLE)
def test_a_record_without_any_one_key_is_read_or_unreadable(name: str) -> None:
    """A record of an older or torn hand lacks keys: a reading, never an exception."""
    case = WHOLE[name]
    for key in case.record:
        rest = {other: value for other, value in case.record.items() if other != key}
        assert isinstance(case.read(Table(rest, name)), type(case.value) | Unreadable)


@pytest.mark.parametrize("name", WHOLE)
def test_a_record_with_a_value_of_a_wrong_kind_is_unreadable_or_ignored(name: str) -> None:
    """Numbers for texts and lists for tables never raise."""
    case = WHOLE[name]
    for key in case.record:
        for wrong in WRONG:
            case.read(Table({**case.record, key: wrong}, name))


@pytest.mark.parametrize("name", WHOLE)
def test_unknown_keys_are_ignored(name: str) -> None:
    """A record of a newer version is still read."""
    case = WHOLE[name]
    assert case.read(Table({**case.record, "newer": 1}, name)) == case.value


@pytest.mark.parametrize("name", LINES)
def test_a_line_cut_at_each_byte_is_torn_or_whole(name: str) -> None:
    """A torn line is named by number; the lines before it stand."""
    case = LINES[name]
    line = json.dumps(case.record).encode() + b"\n"
    for length in range(len(line) + 1):
        found = parse_lines(line + line[:length])
        back = [case.read(Table(record, name)) for record in found.records]
        assert back[0] == case.value
        assert (len(back), found.torn) in ((1, ()), (1, (2,)), (2, ()))


def test_a_zero_byte_touch_file_is_a_hold(tmp_path: Path) -> None:
    """Touch is enough; the reason is empty text, not absence."""
    (tmp_path / "gpu-1").touch()
    assert read_text(tmp_path / "gpu-1") == ""
