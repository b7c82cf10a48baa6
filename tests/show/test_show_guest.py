"""A line about the guest says ok only for what was really shown."""

from pathlib import Path

import pytest

from show.cases import Case
from show.complaint_lines import complaint
from show.drill_lines import MOMENTS, PATHS, WINDOWS, judged_drills
from show.guest_whole import COMPLAINTS, shows
from show.kill_lines import killed
from show.lines import Line, show
from show.named_lines import member
from show.stage import Stage

FIXED = (
    *((120, "run", "TERM"), (60, "run", "INT"), (8, "run", "KILL")),
    *((60, "resume", "TERM"), (30, "resume", "INT"), (5, "resume", "KILL")),
    *((30, "final", "KILL"), (8, "final", "INT"), (5, "final", "TERM")),
)
EVERY = tuple((w, m, p) for w in WINDOWS for m in MOMENTS for p in PATHS)
GOOD = {"ended_by": "SIGINT", "ended_before": 3, "kept": 3, "rerun": 0, "lost": 0}
GOOD |= {"in_flight": 2, "settled": 2, "verdicts": 8, "intended": 8}


def cell(place: tuple[int, str, str], **changed: object) -> dict[str, object]:
    """One cell in which all went well, but for what is changed."""
    window_s, moment, path = place
    named = {"window_s": window_s, "moment": moment, "path": path, "wrong": []}
    return {**named, **GOOD, **changed}


def words(lines: list[Line]) -> list[str]:
    """Their verdicts."""
    return [line.word for line in lines]


def test_an_empty_checkout_shows_nothing_ok(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without tests, drills, kills and bench no line is ok."""
    every = shows(Stage(tmp_path, tmp_path, full=False, ci=False))
    assert show(every) == 1
    assert capsys.readouterr().out.endswith(f"0 ok, {len(every)} short, 0 not run\n")


def test_the_numbers_of_the_complaints() -> None:
    """Each once; a letter makes another number."""
    assert len(COMPLAINTS) == len(set(COMPLAINTS)) == 26
    lettered = [Case("test_complaint_42b_x", "test_complaint_42b_x", "passed")]
    assert complaint("42", lettered).word == "short"
    assert complaint("42b", lettered).text() == "ok      complaint 42b  x"


def test_a_family_is_split_by_how_its_names_go_on() -> None:
    """Each member by itself: what one shows is not shown for another, and one that fails is short."""
    found = [
        Case(f"test_disk_{name}_x", "", word) for name, word in (("a", "passed"), ("b", "failed"))
    ]
    assert member("a", "test_disk_a", found).word == "ok"
    assert member("b", "test_disk_b", found).word == "short"
    assert member("c", "test_disk_c", found).word == "short"


def test_fixed_and_full_tables() -> None:
    """The fixed cells are enough for CI and not for --full; one that is missing is a gap."""
    fixed = {"cells": [cell(place) for place in FIXED], "took_s": 480.0}
    assert "short" not in words(list(judged_drills(fixed, full=False)))
    assert "short" in words(list(judged_drills(fixed, full=True)))
    full = {"cells": [cell(place) for place in EVERY]}
    assert set(words(list(judged_drills(full, full=True)))) == {"ok"}
    assert words(list(judged_drills({"cells": full["cells"][1:]}, full=True))).count("short") == 1
    assert "short" in words(list(judged_drills({"cells": fixed["cells"][1:]}, full=False)))  # type: ignore[index]


@pytest.mark.parametrize(
    "changed",
    [
        *({"wrong": ["x"]}, {"wrong": None}, {"kept": 2}, {"rerun": 1}, {"lost": 1}),
        *({"rerun": None}, {"settled": 1}, {"settled": 3}, {"verdicts": 7}),
    ],
)
def test_one_cell_that_went_wrong_is_short(changed: dict[str, object]) -> None:
    """Whatever of it, and whatever was not counted."""
    cells = [cell(FIXED[0], **changed), *(cell(place) for place in FIXED[1:])]
    found = list(judged_drills({"cells": cells, "took_s": 1.0}, full=False))
    assert words(found).count("short") == 1


@pytest.mark.parametrize(
    ("found", "word"),
    [
        ({"points": 70, "killed": 70, "wrong": []}, "ok"),
        ({"points": 70, "killed": 69, "wrong": []}, "short"),
        ({"points": 0, "killed": 0, "wrong": []}, "short"),
        ({"points": 70, "killed": 70, "wrong": ["12: lost"]}, "short"),
        ({"points": 70, "killed": 70}, "short"),
    ],
)
def test_every_write_is_every_write(found: dict[str, object], word: str) -> None:
    """One less is short, and so is one other end."""
    assert killed("idle-guard", {"idle-guard": found}).word == word
    assert killed("boot-resume", {"idle-guard": found}).word == "short"
