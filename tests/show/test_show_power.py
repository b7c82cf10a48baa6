"""A line about lost power says ok only for what was really shown."""

from pathlib import Path

import pytest

from show.cut_lines import PHASES, judged_cuts
from show.end_lines import judged_end
from show.lines import Line, show
from show.power_whole import shows
from show.stage import Stage

GOOD: dict[str, object] = {"wrong": [], "lost": 0, "rerun": 0, "denied": 0, "unreadable": 0}
GOOD |= {"completed": True, "verified": True, "carried": "nspawn", "by": "fork", "phase": "run"}


def words(lines: list[Line]) -> list[str]:
    """Their verdicts."""
    return [line.word for line in lines]


def found(*items: dict[str, object]) -> dict[str, object]:
    """A record of these cuts."""
    return {"found": {str(number): item for number, item in enumerate(items)}}


def test_an_empty_checkout_shows_nothing_ok(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the programs no line is ok."""
    every = shows(Stage(tmp_path, tmp_path, full=True, ci=False))
    assert show(every) == 1
    assert capsys.readouterr().out.endswith(f"0 ok, {len(every)} short, 0 not run\n")


def test_cuts_that_cost_nothing() -> None:
    """As many as are wanted, all good."""
    assert set(words(list(judged_cuts(found(*[GOOD] * 4), 4)))) == {"ok"}
    assert "short" in words(list(judged_cuts(found(*[GOOD] * 3), 4)))


@pytest.mark.parametrize(
    "broken",
    [
        *({name: 1} for name in ("lost", "rerun", "denied", "unreadable")),
        {"completed": False},
        {"verified": False},
        {"wrong": ["never came to its end"]},
    ],
)
def test_one_cut_that_cost_something(broken: dict[str, object]) -> None:
    """One of many is enough."""
    lines = list(judged_cuts(found(*[GOOD] * 4, {**GOOD, **broken}), 4))
    assert words(lines).count("short") == 1


def test_a_count_that_is_not_said_is_no_zero() -> None:
    """A record that does not say what was lost does not say that nothing was."""
    silent = {key: value for key, value in GOOD.items() if key != "lost"}
    assert "short" in words(list(judged_cuts(found(*[silent] * 4), 4)))


def test_a_hundred_cuts_leave_out_no_phase() -> None:
    """Each was cut, and in each a machine was killed."""
    kills = [{**GOOD, "by": "kill", "phase": phase} for phase in PHASES]
    forks = [GOOD] * (100 - len(kills))
    assert set(words(list(judged_cuts(found(*kills, *forks), 100)))) == {"ok"}
    spared = list(judged_cuts(found(*kills[1:], *[*forks, GOOD]), 100))
    assert words(spared).count("short") == 1
    assert "no KILL in start" in "".join(line.text() for line in spared)


def test_a_machine_that_must_end() -> None:
    """Within its bound, at equal and one past; or on, for the reason that is written down."""
    case: dict[str, object] = {"wrong": [], "off_s": 180, "bound_s": 180, "machine": "qemu"}
    assert judged_end("x", case).word == "ok"
    assert judged_end("x", {**case, "off_s": 181}).word == "short"
    assert judged_end("x", {**case, "off_s": None}).word == "short"
    assert judged_end("x", {**case, "off_s": None, "stays_on": True}).word == "ok"
    assert judged_end("x", {**case, "wrong": ["no line"]}).word == "short"
    assert judged_end("x", None).word == "short"
