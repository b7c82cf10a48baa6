"""What the kills compare, and what they call the same end."""

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from kills import campaign
from kills.campaign import kills, table
from kills.end import End
from kills.story import Injected, Played
from parts import Found, Parts
from show.kill_lines import AGENTS, killed

END = End(
    *("STOPPED", True, True),
    *(("a completed C",), ("a",), ("a",), ("preempted settled",), ("a/1",), ()),
    *(("end",), ("end-handler proved",), ("2 booted",), ("end",), (), ("a/1", "rerun 0"), ()),
)


@pytest.mark.parametrize("name", [field.name for field in fields(End)])
def test_any_difference_is_one(name: str) -> None:
    """A record that is there twice is not there once."""
    value = getattr(END, name)
    changed = f"{value}x" if isinstance(value, str) else not value
    change: dict[str, Any] = {name: (*value, "x") if isinstance(value, tuple) else changed}
    other = replace(END, **change)
    (said,) = other.unlike(END)
    assert said.startswith(f"{name}: ")
    assert END.unlike(END) == ()


def test_every_point_of_every_story_is_a_kill() -> None:
    """From the first to the last, of the agents that are asked for."""
    points = {"one": {"boot-resume": 2, "run": 1}, "two": {"boot-resume": 1}}
    found = [str(kill) for kill in kills(points, ["boot-resume"])]
    assert found == ["one:boot-resume:1", "one:boot-resume:2", "two:boot-resume:1"]


GOOD = {"reached": True, "wrong": []}


@pytest.mark.parametrize(
    ("fate", "word"),
    [
        (GOOD, "ok"),
        ({**GOOD, "earlier": [{"reached": True, "wrong": ["x"]}]}, "ok"),
        ({**GOOD, "reached": False}, "short"),
        ({**GOOD, "wrong": ["x"]}, "short"),
        (None, "short"),
    ],
)
def test_the_table_is_what_the_show_reads(
    fate: Found | None, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A point that was not reached, or not played, was not killed at; a second try is said."""
    kept = Parts(None, {}, more={"points": {"s": {"idle-guard": 2}}})
    kept.found = {"s:idle-guard:1": GOOD, **({} if fate is None else {"s:idle-guard:2": fate})}
    rows = table(kept, [], AGENTS)
    line = killed("idle-guard", rows)
    assert line.word == word
    assert ("second try" in line.text()) == (fate is not None and "earlier" in fate)
    assert killed("boot-resume", rows).word == "short"
    assert "idle-guard" in capsys.readouterr().out


@pytest.mark.parametrize(("killed_at", "word"), [(9, "ok"), (8, "short"), (10, "ok")])
def test_few_numbers_of_a_slower_play_may_never_be_come_to(killed_at: int, word: str) -> None:
    """They are counted apart, and said."""
    kept = Parts(None, {}, more={"points": {"s": {"run": 10}}})
    kept.found = {f"s:run:{n}": {**GOOD, "reached": n <= killed_at} for n in range(1, 11)}
    line = killed("run", table(kept, [], AGENTS))
    assert (line.word, f"at {killed_at} of 10" in line.figure) == (word, True)
    assert (f"{10 - killed_at} more never come to" in line.figure) == (killed_at < 10)


@pytest.fixture
def plays(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is played, in a campaign of one story of two points; the second one ends otherwise at its first try."""
    heard: list[str] = []

    def story(_: Path, kill: Injected) -> Played:
        name = f"{kill.agent}:{kill.number}"
        end = replace(END, over=False) if name == "run:2" and name not in heard else END
        heard.append(name)
        return Played(end, {"run": 2}, was_killed=kill.number > 0)

    monkeypatch.setattr(campaign, "STORIES", {"s": story})
    return heard


def test_what_is_kept_as_good_is_not_played_again(tmp_path: Path, plays: list[str]) -> None:
    """Parts add up: the second one plays what the first has left, the third one nothing."""
    argv = ["--record", str(tmp_path / "kills.json"), "--at-once", "1"]
    assert campaign.main([*argv, "--kill", "s:run:1"]) == 0
    assert campaign.main(argv) == 1
    assert campaign.main(argv) == 0
    assert campaign.main(argv) == 0
    assert plays == [*("nobody:0", "run:1"), *("nobody:0", "run:2"), *("nobody:0", "run:2")]
    rows = json.loads((tmp_path / "kills.json").read_text())["agents"]
    assert rows["run"] == {"points": 2, "killed": 2, "beyond": 0, "wrong": [], "again": 1}


def test_the_injected_file_stands_alone() -> None:
    """It is loaded by every Python process of a machine under test, before anything of ours can be found."""
    text = (Path(__file__).with_name("sitecustomize.py")).read_text()
    assert "import spoteval" not in text
    assert "from spoteval" not in text
