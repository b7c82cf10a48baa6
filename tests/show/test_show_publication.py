"""A line about publication says ok only for what was really shown."""

from dataclasses import asdict
from pathlib import Path

import pytest

from parts import Parts
from publication.campaign import CAMPAIGNS, Tally, table
from show.cases import Case
from show.failure_lines import failure
from show.fault_lines import KINDS, campaign
from show.lines import show
from show.publication_bench_lines import bench_row
from show.publication_whole import COMPLAINTS, FAILURES, shows
from show.stage import Stage

GOOD = {
    "cases": 70,
    "lost": 0,
    "torn": 0,
    "doubled": 0,
    "broken": 0,
    "by": {"write": 70},
    "missing": [],
}


def test_an_empty_checkout_shows_nothing_ok(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without tests, campaigns and bench no line is ok."""
    every = shows(Stage(tmp_path, tmp_path, full=False, ci=False))
    assert show(every) == 1
    assert capsys.readouterr().out.endswith(f"0 ok, {len(every)} short, 0 not run\n")


def test_every_number_is_asked_for_once() -> None:
    """21 failures, 11 complaints."""
    assert tuple(range(1, 22)) == FAILURES
    assert len(set(COMPLAINTS)) == len(COMPLAINTS) == 11


def test_a_failure_is_found_by_its_two_digits() -> None:
    """What shows 12 does not show 1 or 2; one that fails is short."""
    found = [Case("test_failure_12_odd_names", "", "passed")]
    assert failure(12, found).text() == "ok      failure 12  odd names"
    assert {failure(number, found).word for number in (1, 2, 11)} == {"short"}
    assert failure(12, [*found, Case("test_failure_12_x", "", "failed")]).word == "short"


@pytest.mark.parametrize(
    ("found", "word"),
    [
        (GOOD, "ok"),
        (None, "short"),
        (GOOD | {"cases": 0}, "short"),
        *((GOOD | {name: 1}, "short") for name in ("lost", "torn", "doubled", "broken")),
        ({"cases": 70, "lost": 0, "torn": 0}, "short"),
        (GOOD | {"missing": ["fsync"]}, "short"),
        (GOOD | {"by": {}}, "short"),
    ],
)
def test_a_campaign_with_one_bad_case_is_short(found: dict[str, object] | None, word: str) -> None:
    """Also one that played nothing, or did not count."""
    assert campaign("kill -9", found).word == word


def test_a_row_that_missed_its_goal_is_short() -> None:
    """And the others stand beside it either way."""
    row = {"work": "idle", "ours": "1 ms", "goal": "≤ 2 ms", "others": {"aws": "6 s"}}
    assert bench_row(row | {"good": True}).text() == "ok      idle  1 ms (≤ 2 ms) aws 6 s"
    assert bench_row(row | {"good": False}).word == "short"


def test_the_keys_of_a_line_are_those_of_the_record() -> None:
    """What the campaigns write is what the lines read, and each has its line."""
    kept = Parts(None, {"every": 1})
    for fault in (name for names in CAMPAIGNS.values() for name in names):
        kept.add(fault, asdict(Tally(cases=3)))
    found = table(kept)
    assert set(found) == set(KINDS)
    assert {campaign(what, found[kind]).word for kind, what in KINDS.items()} == {"ok"}
    kept.add("fsync", asdict(Tally(cases=3, torn=1, bad=["x"])))
    assert campaign("", table(kept)["enospc"]).word == "short"
    assert campaign("", table(Parts(None, {}))["proxy"]).word == "short"
