"""A line says ok only for what was really shown."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from show.bench_lines import BOUNDED, nothing_imported_late, resident
from show.demo_lines import promises
from show.inspect_lines import agreement
from show.lines import Line, Missing, Show, short, show, skipped
from show.program import chosen
from show.stage import Stage
from show.store_lines import same_as_disk
from show.thin_loop import shows

GOOD: dict[str, object] = {
    "episodes_intended": 24,
    "episodes_completed": 24,
    "episodes_lost": 0,
    "finished_episodes_rerun": 0,
    "attempts": 24,
    "preemptions": 3,
    "capacity_failures": 1,
    "start_errors_that_ran": 1,
    "hold_violations": 0,
    "pull_verified": True,
    "classes": {"completed": 23, "model_failure": 1, "not_run": 0},
    "price_range": [3.1, 3.6],
    "restart_stages": {"S2": 1.2, "S3": 2, "S4": 0.9, "S5": 2.8, "S6": 0},
    "machine_off": True,
    "duration_s": 300,
}
BAD: dict[str, list[object]] = {
    "episodes_intended": [23, True, None],
    "episodes_completed": [23, 25],
    "episodes_lost": [1, False, "0"],
    "finished_episodes_rerun": [1],
    "attempts": [23],
    "preemptions": [2],
    "capacity_failures": [0],
    "start_errors_that_ran": [0],
    "hold_violations": [1],
    "pull_verified": [False, 1, "true"],
    "classes": [{"completed": 24, "not_run": 1}, {}, None, {"completed": "24"}],
    "price_range": [[3.6, 3.1], [0, 1], [3.1], None, "3.1-3.6"],
    "restart_stages": [{"S2": 1}, None, GOOD["restart_stages"] | {"S6": None}],  # type: ignore[operator]
    "machine_off": [False, None],
    "duration_s": [300.1, 0, None],
}


def test_a_good_demo_holds_every_promise() -> None:
    """At each limit, equal is enough."""
    assert set(promises(GOOD).values()) == {True}


@pytest.mark.parametrize("name", sorted(GOOD))
def test_a_missing_key_holds_nothing(name: str) -> None:
    """A key that the demo does not write is short."""
    assert promises({key: value for key, value in GOOD.items() if key != name})[name] is False


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, vs in BAD.items() for v in vs])
def test_one_past_is_short(name: str, value: object) -> None:
    """One past the limit, and what only looks like the right value."""
    assert promises(GOOD | {name: value})[name] is False


def _fails() -> Iterator[Line]:
    raise Missing("not there")


def _breaks() -> Iterator[Line]:
    yield Line("ok", "first")
    raise OSError("gone")


@pytest.mark.parametrize("lines", [_fails, _breaks, lambda: iter(())])
def test_what_raises_or_shows_nothing_is_short(
    lines: object, capsys: pytest.CaptureFixture[str]
) -> None:
    """Missing, broken and silent all end in short, and in exit code 1."""
    assert show([Show("a thing", lines)]) == 1  # type: ignore[arg-type]
    assert "short   a thing  " in capsys.readouterr().out


def test_what_a_machine_cannot_show_is_said_with_its_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Never silently ok; counted apart."""
    assert show([Show("boots", lambda: [skipped("boots", "no root")])]) == 0
    said = capsys.readouterr().out
    assert "skipped boots  skipped: no root" in said
    assert said.endswith("0 ok, 0 short, 0 not run, 1 skipped\n")


def test_all_ok_is_exit_0(capsys: pytest.CaptureFixture[str]) -> None:
    """Lines that were not run do not fail, and are counted."""
    lines = [Line("ok", "a", "7"), Line("not run", "b", "(needs --full)")]
    assert show([Show("x", lambda: lines)]) == 0
    said = capsys.readouterr().out
    assert said == "ok      a  7\nnot run b  (needs --full)\n1 ok, 0 short, 1 not run\n"


def test_an_empty_checkout_shows_nothing_ok(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without tests, bench and programs no line that needs them is ok."""
    stage = Stage(tmp_path, tmp_path, full=False, ci=False)
    wanted = ("rows", "records cut at each byte", "invariants over the cycle", "memory and marker")
    assert show([one for one in shows(stage) if one.what in wanted]) == 1
    assert capsys.readouterr().out.endswith("0 ok, 4 short, 0 not run\n")


@pytest.mark.parametrize(
    ("rss_kb", "private_kb", "word"),
    [(24576, 12288, "ok"), (24577, 1, "short"), (1, 12289, "short"), (0, 0, "short")],
)
def test_memory_at_and_past_its_limit(rss_kb: float, private_kb: float, word: str) -> None:
    """24 MB and 12 MB are allowed, one more kB is not, and nothing at all was not measured."""
    found = {"idle-guard": {"rss_kb": rss_kb, "private_dirty_kb": private_kb}}
    assert resident("idle-guard", found).word == word
    assert resident("boot-resume", found).word == "short"


def test_late_imports_are_short() -> None:
    """Every bounded agent must have been looked at, and none may differ."""
    good: dict[str, dict[str, object]] = {name: {"modules_equal": True} for name in BOUNDED}
    assert nothing_imported_late(good).word == "ok"
    assert nothing_imported_late(good | {"restarter": {"modules_equal": False}}).word == "short"
    assert nothing_imported_late({"idle-guard": {"modules_equal": True}}).word == "short"


def test_verdicts_must_be_the_same_and_all() -> None:
    """Another verdict, two verdicts or a missing sample are short."""
    alone = {"t/a/1": ["C"], "t/b/1": ["I"]}
    assert agreement(alone, alone, 2).word == "ok"
    assert agreement(alone, alone, 3).word == "short"
    assert agreement({"t/a/1": ["C"]}, alone, 2).word == "short"
    assert agreement(alone | {"t/b/1": ["C", "I"]}, alone, 2).word == "short"


def test_a_byte_apart_is_short(tmp_path: Path) -> None:
    """A pulled file that differs, and a log that was not pulled."""
    pulled, disk = tmp_path / "pulled", tmp_path / "disk"
    for folder in (pulled, disk):
        folder.mkdir()
        (folder / "a.eval").write_bytes(b"one")
    assert same_as_disk(pulled, disk).word == "ok"
    (disk / "b.eval").write_bytes(b"two")
    assert same_as_disk(pulled, disk).word == "short"
    (pulled / "b.eval").write_bytes(b"twe")
    assert same_as_disk(pulled, disk).word == "short"


def test_a_part_that_is_not_chosen_is_not_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is printed as such, so that parts of a run add up to the whole."""
    one = Stage(tmp_path, tmp_path, full=False, ci=False, parts=["sim"])
    every = Stage(tmp_path, tmp_path, full=False, ci=False)
    shows = [
        Show("tests/sim", lambda: [Line("ok", "a", "1")]),
        Show("rows", lambda: [short("b", "2")]),
    ]
    assert show(chosen(shows, one)) == 0
    assert capsys.readouterr().out.splitlines() == [
        "ok      a  1",
        "not run rows  (--part names others)",
        "1 ok, 0 short, 1 not run",
    ]
    assert show(chosen(shows, every)) == 1
