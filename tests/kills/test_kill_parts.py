"""What the kills compare, and what they call the same end."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from kills.campaign import Fate, Kill, kills, table
from kills.end import End
from kills.story import Played
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
    whole = {
        "one": Played(END, {"boot-resume": 2, "run": 1}, was_killed=False),
        "two": Played(END, {"boot-resume": 1}, was_killed=False),
    }
    found = [str(kill) for kill in kills(whole, ["boot-resume"])]
    assert found == ["one:boot-resume:1", "one:boot-resume:2", "two:boot-resume:1"]


@pytest.mark.parametrize(
    ("fate", "word"),
    [
        (Fate(Kill("s", "idle-guard", 1), reached=True), "ok"),
        (Fate(Kill("s", "idle-guard", 1), reached=False), "short"),
        (Fate(Kill("s", "idle-guard", 1), reached=True, wrong=("x",)), "short"),
    ],
)
def test_the_table_is_what_the_show_reads(
    fate: Fate, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A point that was not reached was not killed at."""
    other = Fate(Kill("s", "idle-guard", 2), reached=True)
    agents = table([fate, other], AGENTS, 1.0)["agents"]
    assert killed("idle-guard", agents).word == word  # type: ignore[arg-type]
    assert killed("boot-resume", agents).word == "short"  # type: ignore[arg-type]
    assert "idle-guard" in capsys.readouterr().out


def test_the_injected_file_stands_alone() -> None:
    """It is loaded by every Python process of a machine under test, before anything of ours can be found."""
    text = (Path(__file__).with_name("sitecustomize.py")).read_text()
    assert "import spoteval" not in text
    assert "from spoteval" not in text
