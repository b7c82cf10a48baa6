"""A line about the restarter says ok only for what was really shown."""

from pathlib import Path

import pytest

from show.cases import Case, passed, read
from show.complaint_lines import complaint
from show.delay import Delay, share
from show.delay_lines import judged_delays
from show.lines import Line, show
from show.restarter_bench_lines import flat, judged_bench
from show.restarter_tests import COMPLAINTS, HISTORIES, per_row, six
from show.restarter_whole import shows
from show.sim_lines import AT_LEAST, FAULTS, ROWS, cells, judged_figures
from show.stage import Stage

GOOD_SIM: dict[str, object] = {
    "preemptions": 10_000,
    "doubled": 0,
    "missed": 0,
    "life_median_s": 1800.0,
    "took_s": 480.0,
    "cells": {f"{row} f{fault}": AT_LEAST for row in range(1, ROWS + 1) for fault in range(FAULTS)},
}
BAD_SIM: dict[str, list[object]] = {
    "preemptions": [9_999, None, "10000", True],
    "doubled": [1, None],
    "missed": [1, None],
    "life_median_s": [1799.9, None],
    "took_s": [480.1, 0, None],
    "cells": [None, {}, {"1 f0": 50}],
}
GOOD_POLL: dict[str, object] = {
    "instances": 1_000,
    "wall_s": 5.0,
    "first_wall_s": 5.0,
    "cpu_s": 2.0,
    "rss_mb": 100.0,
}
FEW: dict[str, object] = {"instances": 10, "cpu_s": 0.02}


def words(lines: list[Line]) -> list[str]:
    """Their verdicts."""
    return [line.word for line in lines]


def case(test: str, word: str = "passed") -> Case:
    """One case of that test."""
    return Case(test, test, word)


def test_an_empty_checkout_shows_nothing_ok(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without tests, bench, record and simulation no line that needs them is ok."""
    stage = Stage(tmp_path, tmp_path, full=False, ci=False)
    every = [one for one in shows(stage) if one.what != "stop → start"]
    assert show(every) == 1
    assert capsys.readouterr().out.endswith(f"0 ok, {len(every)} short, 0 not run\n")


def test_cases_are_read_as_they_ended(tmp_path: Path) -> None:
    """A failure, an error and a skip are not passed; the case keeps its parameters."""
    (tmp_path / "r.xml").write_text(
        "<testsuites><testsuite>"
        '<testcase name="test_a[1]"/><testcase name="test_a[2]"><failure/></testcase>'
        '<testcase name="test_b"><error/></testcase><testcase name="test_c"><skipped/></testcase>'
        "</testsuite></testsuites>"
    )
    assert read(tmp_path / "r.xml") == [
        Case("test_a", "test_a[1]", "passed"),
        Case("test_a", "test_a[2]", "failed"),
        Case("test_b", "test_b", "failed"),
        Case("test_c", "test_c", "skipped"),
    ]


def test_too_few_or_not_passed_is_short() -> None:
    """Cases of one test are one test; a skipped case has shown nothing."""
    assert passed("x", [case("a"), case("b")], 2).word == "ok"
    assert passed("x", [case("a"), case("a")], 2).word == "short"
    assert passed("x", [case("a"), case("b", "failed")], 1).word == "short"
    assert passed("x", [case("a"), case("b", "skipped")], 1).word == "short"


def test_a_complaint_needs_a_test_of_its_own_number() -> None:
    """16 is not 1, and one case that fails is enough."""
    assert complaint("1", [case("test_complaint_16_x")]).word == "short"
    assert complaint("1", [case("test_complaint_01_x")]).word == "ok"
    both = [case("test_complaint_01_x"), case("test_complaint_01_y", "failed")]
    assert complaint("1", both).word == "short"
    assert len(COMPLAINTS) == 23


def test_all_six_histories_are_wanted() -> None:
    """More are welcome; one that is missing or fails is short."""
    every = [case(f"test_history_{name}") for name in HISTORIES]
    assert six([*every, case("test_history_of_more")]).word == "ok"
    assert six(every[1:]).word == "short"
    assert six([*every, case("test_history_of_more", "failed")]).word == "short"


def test_rows_are_counted_by_their_number() -> None:
    """Row 1 is not row 18."""
    found = [case("test_row_1_a"), case("test_row_18_a"), case("test_row_18_b")]
    assert per_row(found) == {1: 1, 18: 2}


def test_good_figures_of_the_simulation() -> None:
    """At each limit, equal is enough."""
    assert set(words(list(judged_figures(GOOD_SIM, "", full=False)))) == {"ok"}
    assert words(list(judged_figures(GOOD_SIM, "", full=True))).count("short") == 1


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, vs in BAD_SIM.items() for v in vs])
def test_one_figure_past_its_limit_is_short(name: str, value: object) -> None:
    """And one that is missing, or looks like another."""
    assert "short" in words(list(judged_figures(GOOD_SIM | {name: value}, "", full=False)))


def test_a_broken_invariant_is_short() -> None:
    """Whatever the figures say."""
    assert "short" in words(list(judged_figures(GOOD_SIM, "I1: started while held", full=False)))


def test_each_broken_rule_has_its_line() -> None:
    """With its seed: the last of them alone would hide the others."""
    found = GOOD_SIM | {"broken": ["I2 broken: seed 7\n  faults", "I7 broken: seed 9"]}
    lines = [line for line in judged_figures(found, "exit 1", full=False) if line.what == "broken"]
    assert [(line.word, line.figure) for line in lines] == [
        ("short", "I2 broken: seed 7"),
        ("short", "I7 broken: seed 9"),
    ]


def test_every_cell_counts() -> None:
    """One that is hit once too rarely, or never."""
    table = dict(GOOD_SIM["cells"])  # type: ignore[call-overload]
    assert cells({"cells": table}).word == "ok"
    assert cells({"cells": table | {"3 f2": AT_LEAST - 1}}).word == "short"
    del table["3 f2"]
    assert cells({"cells": table}).word == "short"


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({}, "ok"),
        ({"wall_s": 5.1}, "short"),
        ({"first_wall_s": 5.1}, "short"),
        ({"cpu_s": 2.1}, "short"),
        ({"rss_mb": 0}, "short"),
    ],
)
def test_a_thousand_instances(changed: dict[str, object], word: str) -> None:
    """At each limit and past it; nothing at all was not measured."""
    found = words(list(judged_bench({"polls": [FEW, GOOD_POLL | changed]})))
    assert ("short" in found) == (word == "short")
    assert words(list(judged_bench({}))) == ["short"] * 5


@pytest.mark.parametrize(("cpu_s", "word"), [(3.0, "ok"), (3.1, "short"), (0, "short")])
def test_flat_is_half_more_at_most(cpu_s: float, word: str) -> None:
    """Between 10 and 1,000 instances."""
    assert flat({10: FEW, 1_000: {"cpu_s": cpu_s}}).word == word
    assert flat({1_000: {"cpu_s": 1.0}}).word == "short"


def test_the_share_that_is_not_exceeded() -> None:
    """99 of 100 values are at most the 99th."""
    values = [float(number) for number in range(1, 101)]
    assert (share(values, 99), share(values, 100), share([5.0], 99)) == (99.0, 100.0, 5.0)


@pytest.mark.parametrize(
    ("seen_s", "real_s", "expected"),
    [(70.0, 130.0, ["ok", "ok"]), (70.1, 130.0, ["short", "ok"]), (70.0, 130.1, ["ok", "short"])],
)
def test_delays_at_and_past_their_limits(seen_s: float, real_s: float, expected: list[str]) -> None:
    """Grace and ten, grace and seventy; one of a hundred may be later."""
    late = Delay(999.0, 999.0)
    found = [Delay(seen_s, real_s)] * 99
    assert words(list(judged_delays([*found, late]))) == expected
    assert words(list(judged_delays([]))) == ["short", "short"]
