"""What `run set` may change: never what is measured; whatever it changes is on record, also after a kill."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from crash_points import Crash, CrashPoints
from spoteval.clock import Now
from spoteval.control.refused import Refused
from spoteval.control.runchange import tell_changes, write_generation
from spoteval.control.runfiles import read_run
from spoteval.control.runset import changed, names
from spoteval.event import events_from
from spoteval.files import encoded, parse_record, read_lines, write_record
from spoteval.paths import RunPaths
from spoteval.run import RunPlan, RunRecord, StopRules, run_from
from spoteval.settings.money import Money
from spoteval.shape import ShapeError, Table

AT = datetime(2026, 12, 2, 7, 12, tzinfo=UTC)
NOW = Now(AT, 5000.0, "boot-1")
PLAN = RunPlan("inspect", "fresh_budget", stop_rules=StopRules(spend=Money(600, "USD")))
RECORD = RunRecord("swe-lite-q3", "gpu-1", 1, AT - timedelta(days=1), PLAN)


def _set(*words: str, record: RunRecord = RECORD) -> RunRecord | None:
    return changed(record, words, "ana", "more KV cache", NOW)


@pytest.mark.parametrize(
    ("word", "name", "pair"),
    [
        ("concurrency=24", "concurrency", ("16", "24")),
        ("deadline=2026-12-04T08:00:00Z", "deadline", ("none", "2026-12-04T08:00:00.000Z")),
        ("failed_starts=30min", "stop_rules.failed_starts", ("none", "30min")),
        ("stop_rules.failed_starts=40min", "stop_rules.failed_starts", ("none", "40min")),
        ("preemptions_before_healthy=3", "stop_rules.preemptions_before_healthy", ("none", "3")),
        (
            "preemptions_before_episodes=4/10",
            "stop_rules.preemptions_before_episodes",
            ("none", "preemptions=4 episodes=10"),
        ),
        ("spend=900 USD", "stop_rules.spend", ("600.00 USD", "900.00 USD")),
        (
            'spend={ amount = 900, currency = "USD" }',
            "stop_rules.spend",
            ("600.00 USD", "900.00 USD"),
        ),
        ("spend=none", "stop_rules.spend", ("600.00 USD", "none")),
        ("price_cap=12.50 USD/h", "stop_rules.price_cap", ("none", "12.50 USD/hour")),
    ],
)
def test_what_may_be_changed(word: str, name: str, pair: tuple[str, str]) -> None:
    """Each becomes the next generation, with what it was and what it is; read back it is the same."""
    found = _set(word)
    assert found is not None
    assert (found.generation, found.name, found.versions) == (2, RECORD.name, RECORD.versions)
    (change,) = found.changes
    assert (change.settings, change.by, change.reason) == ({name: pair}, "ana", "more KV cache")
    table = parse_record(encoded(found.record()), "run.json")
    assert isinstance(table, Table)
    assert run_from(table) == found


def test_several_at_once_are_one_change() -> None:
    """One generation, one reason; a setting typed twice counts from what it was."""
    found = _set("concurrency=20", "concurrency=24", "failed_starts=30min")
    assert found is not None
    assert (found.plan.concurrency, found.plan.stop_rules.failed_starts_s) == (24, 1800.0)
    assert found.changes[0].settings == {
        "concurrency": ("16", "24"),
        "stop_rules.failed_starts": ("none", "30min"),
    }
    again = _set("concurrency=16", record=found)
    assert again is not None
    assert [change.generation for change in again.changes] == [2, 3]


def test_what_is_so_already_changes_nothing() -> None:
    """No generation is made of it."""
    assert _set("concurrency=16", "spend=600 USD") is None


@pytest.mark.parametrize(
    ("word", "line"),
    [
        ("harness=directory", "harness cannot be changed: another harness is another evaluation"),
        ("args=[]", "args cannot be changed: it is part of what is measured"),
        (
            "settlement=none",
            "settlement cannot be changed: what becomes of cut attempts is declared before any is cut",
        ),
        (
            "errors=retry-1",
            (
                "errors cannot be changed: the policy is the same for every episode, also for those that"
                " ended before"
            ),
        ),
        ("expected=9", "expected cannot be changed: what is intended is frozen at the first start"),
        (
            "label=scored",
            "label cannot be changed: what a run counts as is declared before it begins",
        ),
    ],
)
def test_what_is_measured_is_never_changed(word: str, line: str) -> None:
    """Refused with the reason, and with what makes another run of it."""
    with pytest.raises(Refused) as refused:
        _set("concurrency=24", word)
    assert str(refused.value) == f"{line} (spoteval run new NAME --like swe-lite-q3)"


@pytest.mark.parametrize(
    ("word", "line"),
    [
        ("concurrency", '"concurrency": must be KEY=VALUE'),
        ("concurrency=", '"concurrency=": must be KEY=VALUE'),
        ("concurency=3", '"concurency": no such setting (did you mean "concurrency"?)'),
        ("x=3", f'"x": no such setting ({", ".join(names())})'),
        ("concurrency=0", "[run] concurrency 0: must be a whole number, 1 or more"),
        ("concurrency=none", '[run] concurrency "none": must be a whole number'),
        ("failed_starts=30", '[run.stop_rules] failed_starts 30: must be a duration such as "60s"'),
        ("spend=9 usd", '[run.stop_rules] spend "9 usd": must be a table'),
        ("deadline=tomorrow", "[run] deadline"),
    ],
)
def test_what_is_no_setting_is_said(word: str, line: str) -> None:
    """The value as typed, what is allowed, the nearest known one."""
    with pytest.raises(ShapeError) as error:
        _set(word)
    assert str(error.value).startswith(line)


@pytest.mark.parametrize(("past_s", "refused"), [(-1, False), (0, True), (1, True)])
def test_a_deadline_lies_ahead(past_s: int, refused: bool) -> None:
    """At the moment itself it is past: a run is ended by `run finish`, not by the clock."""
    typed = f"deadline={(AT - timedelta(seconds=past_s)).isoformat()}"
    if not refused:
        assert _set(typed) is not None
        return
    with pytest.raises(Refused, match=r"is past .to end the run now: spoteval run finish"):
        _set(typed)


def test_no_harness_orders_its_episodes() -> None:
    """Said, instead of a setting without effect."""
    with pytest.raises(Refused, match="no harness of this version can order its episodes"):
        _set("order=longest-first")


def test_a_change_is_on_record_after_a_kill_at_any_write(
    tmp_path: Path, crash_points: CrashPoints
) -> None:
    """Before it or after it, never half of it; what a kill kept from the events, the next `run set` tells."""

    def run(name: str) -> RunPaths:
        paths = RunPaths(tmp_path / name)
        write_record(paths.record, RECORD.record())
        return paths

    def change(paths: RunPaths) -> None:
        record = read_run(paths)
        assert isinstance(record, RunRecord)
        fresh = _set("concurrency=24", record=record)
        if fresh is not None:
            write_generation(paths, fresh)
        tell_changes(paths, fresh or record, "s1")

    first = run("count")
    points = crash_points.count(lambda: change(first))
    assert points > 4
    for n in range(1, points + 1):
        paths = run(str(n))
        with pytest.raises(Crash), crash_points.crash_at(n):
            change(paths)
        change(paths)
        found = read_run(paths)
        assert isinstance(found, RunRecord)
        assert (found.generation, found.plan) == (2, replace(PLAN, concurrency=24))
        (event,) = events_from(read_lines(paths.events).records)
        assert (event.kind, event.reason) == ("setting-changed", "more KV cache (ana)")
        assert event.detail == {
            "run": "swe-lite-q3",
            "generation": 2,
            "concurrency": "16 -> 24",
        }
