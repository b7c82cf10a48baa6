"""docs/journal-lines.md says what each line means: every word that an agent can decide is there."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "journal-lines.md").read_text()
SOURCES = {
    "restarter": ("agents/spoteval_agents/restarter",),
    "shutdown-hook": ("agents/spoteval_agents/shutdown_hook",),
    "boot-resume": ("agents/spoteval_agents/boot_resume",),
    "publication-follower": ("agents/spoteval_agents/publication_follower",),
    "idle-guard": ("agents/spoteval_agents/idle_guard/decide.py",),
    "end-handler": ("agents/spoteval_agents/end_handler",),
    "helpers": ("common/spoteval/control/remove_containers.py", "common/spoteval/cli/tunnel.py"),
}
SAYING = ("Decision", "said", "_said", "holds_now", "_about", "nothing")
STAGES = ("waits", "begins", "does")


def calls(place: Path, names: tuple[str, ...]) -> Iterator[str]:
    """The first words of all calls of these names, where they are typed out."""
    for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and _name(node.func) in names:
                typed = (arg.value for arg in node.args if isinstance(arg, ast.Constant))
                yield from (word for word in [*typed][:1] if isinstance(word, str))


def returned(place: Path, function: str) -> Iterator[str]:
    """What a function that only chooses a word may return."""
    for node in ast.walk(ast.parse(place.read_text())):
        if isinstance(node, ast.FunctionDef) and node.name == function:
            found = (n.value for n in ast.walk(node) if isinstance(n, ast.Constant))
            yield from (word for word in found if isinstance(word, str) and word.isascii())


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def section(agent: str) -> str:
    """What the page says of one agent."""
    match = re.search(rf"(?ms)^## {agent}$(.*?)(?=^## |\Z)", PAGE)
    assert match is not None, f"docs/journal-lines.md has no section {agent}"
    return match[1]


@pytest.mark.parametrize("agent", SOURCES)
def test_every_decision_is_explained(agent: str) -> None:
    """In the section of its agent, as a word of its own."""
    words = {word for place in SOURCES[agent] for word in calls(ROOT / place, SAYING)}
    if agent == "publication-follower":
        words |= set(returned(ROOT / SOURCES[agent][0] / "decide.py", "_word"))
    assert words, agent
    text = section(agent)
    assert sorted(word for word in words if f"`{word}`" not in text) == []


def test_every_stage_of_a_resume_is_explained() -> None:
    """The first that is not true yet stands in the line."""
    stages = set(calls(ROOT / SOURCES["boot-resume"][0], STAGES))
    assert {"disk", "server"} <= stages
    text = section("boot-resume")
    assert sorted(stage for stage in stages if f"`{stage}`" not in text) == []
