"""A line about the numbers says ok only for what was really computed."""

from pathlib import Path
from typing import Any

import pytest

from show.lines import Line, Missing
from show.number_lines import alone, examples, rows, values
from show.policy_table_lines import STARTS, judged_table, policies
from show.stage import Stage
from spoteval.placement.policies import POLICIES

ROOT = Path(__file__).resolve().parent.parent.parent
PLAYS = "starts interpreters, isolated"


def stage(root: Path, tmp: Path) -> Stage:
    """A stage for the quick lines."""
    return Stage(root, tmp, full=False, ci=False)


def table(missed: float = 0.0, mean: float = 1.2, tight: float = 1.02) -> dict[str, Any]:
    """A whole table in which every policy did as well."""
    row = {"sums": mean, "mean": mean, "missed": missed}
    known = {name: dict(row) for name in POLICIES}
    return {"policies": known, "clairvoyant": tight, "plays": 32 * STARTS * 60}


def words(lines: list[Line]) -> list[str]:
    """Their verdicts, without the rows that only tell."""
    return [line.word for line in lines if not line.what.startswith("played")]


def test_all_values_are_ok() -> None:
    """As they are here."""
    assert words(list(values())) == ["ok"]


@pytest.mark.parametrize(
    ("change", "shorts"),
    [
        ({}, 0),
        ({"mean": 1.28}, 0),
        ({"mean": 1.281}, 1),
        ({"mean": 1.331}, 2),
        ({"missed": 0.01}, 0),
        ({"missed": 0.011}, 2),
        ({"tight": 1.051}, 1),
    ],
)
def test_the_goals_at_their_bounds(change: dict[str, float], shorts: int) -> None:
    """Equal is met, one past is short; a policy that misses deadlines shows nothing."""
    assert words(list(judged_table(table(**change)))).count("short") == shorts


def test_half_a_table_is_short() -> None:
    """Fewer windows, or a policy left out."""
    half = {**table(), "plays": 10}
    assert words(list(judged_table(half))).count("short") == 1
    with pytest.raises(Missing):
        list(judged_table({**table(), "policies": {}}))


def test_what_is_not_there_is_not_ok(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Traces, docs; and what is long is not run."""
    monkeypatch.setenv("SPOTEVAL_SHARED", str(tmp_path))
    monkeypatch.delenv("SPOTEVAL_POLICIES", raising=False)
    with pytest.raises(Missing):
        list(rows(stage(tmp_path, tmp_path)))
    with pytest.raises(Missing):
        list(examples(stage(tmp_path, tmp_path)))
    assert words(list(policies(stage(tmp_path, tmp_path)))) == ["not run"]


@pytest.mark.runs(PLAYS)
def test_without_interpreters_every_version_is_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four of them."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert words(list(alone(stage(ROOT, tmp_path)))) == ["short"] * 4
