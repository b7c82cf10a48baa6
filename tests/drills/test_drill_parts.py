"""What the drills count, and what they call good."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from drills.campaign import Outcome
from drills.cells import EVERY, FIXED, MOMENTS, PATHS, WINDOWS, Cell, cell_of
from drills.judge import Row, ended_by
from drills.seen import Witnessed, witnessed
from show.drill_lines import judged_drills

CELL = Cell(60, "run", "INT")
ROW = Row(
    *(60, "run", "INT", "notice", "keep", "SIGINT"),
    hook_s=1.0,
    cut_short=False,
    ended_before=4,
    kept=4,
    rerun=0,
    errors_rerun=0,
    lost=0,
    in_flight=3,
    settled=3,
    verdicts=9,
    intended=9,
    wrong=(),
)


def seen(text: str, tmp_path: Path) -> Witnessed:
    """Words of `word:episode:process`, in this order."""
    lines = (item.split(":") for item in text.split())
    (tmp_path / "w").write_text("".join(f"{w} {k} 1 {p} t\n" for w, k, p in lines))
    return witnessed(tmp_path / "w")


def test_who_ran_when_it_was_cut(tmp_path: Path) -> None:
    """Begun and not over, in whichever process; what said itself that it was cut counts too."""
    found = seen("begin:a:1 begin:b:1 end:a:1 begin:c:1 cut:c:1 begin:b:2 end:b:2", tmp_path)
    assert found.in_flight == {("b/1", "1")}
    assert found.cut == Counter({"b/1": 1, "c/1": 1})
    assert found.ended == {"a/1", "b/1"}
    assert found.rerun == frozenset()


def test_who_waits_for_a_retry_does_not_run(tmp_path: Path) -> None:
    """The first try has failed by itself; the second one runs again."""
    assert seen("begin:a:1 fail:a:1", tmp_path).in_flight == frozenset()
    assert seen("begin:a:1 fail:a:1 again:a:1", tmp_path).in_flight == {("a/1", "1")}


def test_who_ran_again_after_an_end(tmp_path: Path) -> None:
    """After an end it is a loss of work; after an error of its own it is told apart."""
    assert seen("begin:a:1 end:a:1 begin:a:2", tmp_path).rerun == {"a/1"}
    errors = seen("begin:a:1 error:a:1 begin:a:2 end:a:2 begin:b:1 cut:b:1 begin:b:2", tmp_path)
    assert not errors.rerun
    assert errors.errors_rerun == {"a/1"}
    assert witnessed(tmp_path / "absent").lines == ()


@pytest.mark.parametrize(
    ("steps", "signal"),
    [
        ("SIGINT:0 left", "SIGINT"),
        ("SIGINT:1 left,SIGTERM:0 left", "SIGTERM"),
        ("SIGINT:1 left,SIGTERM:1 left,kill:1 killed", "KILL"),
        ("SIGINT:1 left,kill:0 killed", "SIGINT"),
        ("SIGINT:1 left,SIGTERM:1 left,kill:0 killed", "SIGTERM"),
        ("kill:0 killed", "nobody"),
        ("marker:x", "nothing"),
    ],
)
def test_what_the_run_ended_at(steps: str, signal: str) -> None:
    """The first signal that left nobody; one that came too late to be seen at its own step is still the one."""
    pairs = (step.split(":") for step in steps.split(","))
    assert ended_by((name, detail) for name, detail in pairs) == signal


def test_the_fixed_cells_leave_out_nothing() -> None:
    """Every window, moment and path, and both policies and both triggers; all of them are in the whole table."""
    assert len(set(FIXED)) == 9
    assert len(set(EVERY)) == 45 >= len(set(FIXED) & set(EVERY)) == 9
    assert {cell.window_s for cell in FIXED} == set(WINDOWS)
    assert {cell.moment for cell in FIXED} == set(MOMENTS)
    assert {cell.path for cell in FIXED} == set(PATHS)
    assert {cell.errors for cell in FIXED} == {"keep", "retry-1"}
    assert {cell.told_by for cell in FIXED} == {"notice", "shutdown"}


@pytest.mark.parametrize("cell", EVERY)
def test_a_cell_is_typed_as_it_is_printed(cell: Cell) -> None:
    """And only so."""
    assert cell_of(str(cell)) == cell
    with pytest.raises(ValueError, match="a cell is 120"):
        cell_of(f"{cell}x")


@pytest.mark.parametrize(
    "row",
    [
        replace(ROW, kept=3),
        replace(ROW, ended_before=0, kept=0),
        replace(ROW, rerun=1),
        replace(ROW, lost=1),
        replace(ROW, settled=2),
        replace(ROW, settled=4),
        replace(ROW, in_flight=0, settled=0),
        replace(ROW, verdicts=8),
        replace(ROW, wrong=("not both holds",)),
    ],
)
def test_a_row_that_does_not_add_up_is_not_good(row: Row) -> None:
    """One figure is enough; a drill in which nothing was cut or nothing had ended shows nothing."""
    assert Outcome(CELL, ROW).good
    assert not Outcome(CELL, row).good
    assert not Outcome(CELL, None, "Never: waited").good
    said = Outcome(CELL, row).text()
    assert said.endswith(("does not add up", "not both holds"))


def test_the_records_are_what_the_show_reads() -> None:
    """A drill that came to no row is a cell with something wrong."""
    rows = [replace(ROW, window_s=c.window_s, moment=c.moment, path=c.path) for c in FIXED]
    good = {"cells": [Outcome(CELL, row).record() for row in rows], "took_s": 100.0}
    assert {line.word for line in judged_drills(good, full=False)} == {"ok", "not run"}
    bad = {**good, "cells": [*good["cells"][1:], Outcome(FIXED[0], None, "Never").record()]}  # type: ignore[index]
    assert "short" in {line.word for line in judged_drills(bad, full=False)}
