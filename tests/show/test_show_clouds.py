"""The lines of the clouds: a gap, a failure and a figure that was not measured are short."""

from pathlib import Path
from typing import Any

import pytest

from cloud_scenarios import CloudScenarios
from show import cloud_bench_lines
from show.cloud_bench_lines import CPU_S, RSS_MB, WALL_S, polls, polls_s3
from show.cloud_lines import calls, details, rights, scenarios
from show.stage import Stage

NAMES = [name for name in vars(CloudScenarios) if name.startswith("test_")]
RIGHT, WITHOUT = ("", "test_a_missing_right_is_named"), ("TestAwsWithoutDetails", "test_deletion")
EVERYTHING = [*(("TestAws", name) for name in NAMES), RIGHT, WITHOUT]
Case = tuple[str, str]


def stage(
    root: Path, cases: list[Case], failed: Case | None = None, *, full: bool = False
) -> Stage:
    """A checkout whose tests of AWS have been run, with these cases."""
    (root / "tests").mkdir()
    (root / "tests" / "test_clouds_aws.py").touch()
    rows = [
        f'<testcase classname="tests.test_clouds_aws.{owner}" name="{name}[one]">'
        f"{'<failure/>' if (owner, name) == failed else ''}</testcase>"
        for owner, name in cases
    ]
    (root / "clouds-aws.xml").write_text(f"<testsuite>{''.join(rows)}</testsuite>")
    return Stage(root, root, full=full, ci=False)


def test_all_that_passes_is_ok(tmp_path: Path) -> None:
    """The table first."""
    found = stage(tmp_path, EVERYTHING)
    for line in (scenarios, calls, rights, details):
        assert [one.word for one in line(found, ["aws"])] == ["ok"]


@pytest.mark.parametrize("name", NAMES)
def test_a_scenario_that_is_missing_or_fails_is_short(tmp_path: Path, name: str) -> None:
    """And named."""
    (tmp_path / "gap").mkdir()
    gap = stage(tmp_path / "gap", [("TestAws", one) for one in NAMES if one != name])
    assert [(one.word, one.figure) for one in scenarios(gap, ["aws"])] == [
        ("short", f"gap: {name}")
    ]
    (tmp_path / "failed").mkdir()
    bad = stage(tmp_path / "failed", EVERYTHING, ("TestAws", name))
    assert [(one.word, one.figure) for one in scenarios(bad, ["aws"])] == [
        ("short", f"failed: {name}")
    ]


def test_a_provider_without_tests_is_short(tmp_path: Path) -> None:
    """In each of its lines."""
    found = stage(tmp_path, EVERYTHING)
    for line in (scenarios, calls, rights, details):
        assert [one.word for one in line(found, ["gcp"])] == ["short"]


def test_what_fails_of_all_there_is_is_named(tmp_path: Path) -> None:
    """It is no missing test."""
    (line,) = rights(stage(tmp_path, EVERYTHING, RIGHT), ["aws"])
    assert (line.word, line.figure) == ("short", "test_a_missing_right_is_named")


@pytest.mark.parametrize(
    ("factor", "word"), [(0.0, "short"), (0.5, "ok"), (1.0, "ok"), (1.01, "short")]
)
def test_a_figure_is_held_against_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, factor: float, word: str
) -> None:
    """At equal and one past; none at all is not a good one."""
    found: dict[str, Any] = {
        "wall_s": WALL_S * factor,
        "cpu_s": CPU_S * factor,
        "rss_mb": RSS_MB * factor,
    }
    monkeypatch.setattr(cloud_bench_lines, "_bench", lambda *_: found)
    assert {line.word for line in polls(stage(tmp_path, []))} == {word}


def test_over_s3_there_is_no_goal_but_a_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only under --full."""
    found = {"wall_s": 60.0, "cpu_s": 20.0, "rss_mb": 300.0}
    monkeypatch.setattr(cloud_bench_lines, "_bench", lambda *_: found)
    monkeypatch.setattr(Stage, "program", lambda *_: "weed")
    full = stage(tmp_path, [], full=True)
    assert [line.word for line in polls_s3(full)] == ["ok"]
    found["cpu_s"] = 0.0
    assert [line.word for line in polls_s3(full)] == ["short"]
    full.full = False
    assert [line.word for line in polls_s3(full)] == ["not run"]
