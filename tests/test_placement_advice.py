"""The decision table: each row, at its bound and one past it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from event_story import at, told
from spoteval.cli.errors import line_of
from spoteval.cli.place import place
from spoteval.event import Event
from spoteval.placement.advice import (
    FEW_HOURS_H,
    LONG_H,
    MINUTES_H,
    Verdict,
    Workload,
    advice,
    prices,
    settlements,
    spot_ratio,
)

WORK = Workload(episode_h=0.5, restart_h=1 / 3, slots=16, tau_h=2.0, scored=True)
PRICED = replace(WORK, spot=3.5, on_demand=10.0)


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({"tau_h": 0.83}, Verdict.FIXED),
        ({"tau_h": 0.84}, Verdict.SPOT),
        ({"episode_h": LONG_H, "tau_h": None}, Verdict.FIXED),
        ({"episode_h": LONG_H, "tau_h": FEW_HOURS_H}, Verdict.FIXED),
        ({"episode_h": LONG_H, "tau_h": FEW_HOURS_H + 0.01}, Verdict.SPOT),
        ({"episode_h": LONG_H - 0.01, "tau_h": None}, Verdict.SPOT),
        ({"scored": False, "episode_h": LONG_H}, Verdict.EXPLORATORY),
        ({"episode_h": MINUTES_H}, Verdict.EXPLORATORY),
        ({"episode_h": MINUTES_H + 0.01}, Verdict.SPOT),
        ({"deadline_h": 18.0}, Verdict.HYBRID),
    ],
)
def test_rows(change: dict[str, object], verdict: Verdict) -> None:
    """What decides, and nothing else."""
    found = advice(replace(WORK, **change))  # type: ignore[arg-type]
    assert found.verdict is verdict
    assert found.reasons


def test_spot_pays_below_the_break_even_alone() -> None:
    """At it, on demand is as good and safer."""
    most = spot_ratio(PRICED)
    assert most == pytest.approx(0.745076, abs=1e-6)
    assert advice(replace(PRICED, spot=10 * most)).verdict is Verdict.FIXED
    assert advice(replace(PRICED, spot=9.99 * most)).verdict is Verdict.SPOT


def test_what_comes_first() -> None:
    """Probe what the node must have; compare the API; measure tau."""
    needy = replace(PRICED, needs=("kvm", "docker"), api_episode=0.05, tau_h=None)
    rows = [one.row for one in advice(needy).first]
    assert rows == [
        "it needs kvm, docker",
        "a hosted API serves the same weights",
        "tau is unknown",
    ]
    assert "cheaper than on demand" in advice(needy).first[1].so
    assert "dearer than spot" in advice(replace(PRICED, api_episode=1.0)).first[0].so
    assert advice(WORK).first == ()


@given(st.floats(0.05, 1), st.floats(0.05, 0.5), st.floats(1.6, 50), st.integers(1, 64))
def test_what_always_holds(episode_h: float, restart_h: float, tau_h: float, slots: int) -> None:
    """Spot at the break-even costs what on demand does; more attempts complete more."""
    work = Workload(episode_h, restart_h, slots, tau_h, scored=True, on_demand=10.0)
    spot, fixed = prices(replace(work, spot=10.0 * spot_ratio(work)), tau_h)
    assert spot.each == pytest.approx(fixed.each)
    done = [limited.completed for _, limited in settlements(work, tau_h)]
    assert done[0] == 1.0
    assert done[4] <= min(done[1:4])
    assert done[2] <= done[3] + 1e-12


FLAGS = ["--episode", "70min", "--restart", "25min", "--slots", "16", "--label", "scored"]


def test_the_command(tmp_path: Path) -> None:
    """As the screens have it; every assumption printed; the decision kept."""
    words = [*FLAGS, "--lifetime", "unknown", "--price", "11.60", "--on-demand", "24.00"]
    screen = CliRunner().invoke(place, [*words, "--save", str(tmp_path / "p.json")]).output
    assert screen.startswith("decision    on-demand, reserved or owned\nbecause     scored")
    assert "assumed" in screen
    kept = json.loads((tmp_path / "p.json").read_text())
    assert (kept["format"], kept["decision"]) == (1, "on-demand, reserved or owned")
    assert [row["tau_h"] for row in kept["at_tau"]] == [1.0, 2.0, 4.0, 8.0, 24.0]


def test_tau_from_a_log(tmp_path: Path) -> None:
    """The user's own event log instead of a guess."""
    stop = Event(at(7200), "stopped", "restarter", "gpu-1", reason="preempted")
    lines = [json.dumps(event.record()) + "\n" for event in (told(0, "running"), stop)]
    (tmp_path / "events.jsonl").write_text("".join(lines))
    done = CliRunner().invoke(place, [*FLAGS, "--log", str(tmp_path), "--json"])
    assert json.loads(done.output)["tau_h"] == 2.0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "--episode is missing"),
        (("--episode", "5", *FLAGS[2:], "--lifetime", "2h"), '--episode "5" is not a duration'),
        ((*FLAGS, "--lifetime", "0h"), '--lifetime "0h" must be above 0'),
        ((*FLAGS[:5], "0", *FLAGS[6:], "--lifetime", "2h"), '--slots "0" must be a whole number'),
        (("--simulate",), "--simulate needs --log"),
    ],
)
def test_what_is_wrong(words: tuple[str, ...], said: str) -> None:
    """One line, exit 2."""
    done = CliRunner().invoke(place, [*words, "--deadline", "18h"], standalone_mode=False)
    assert done.exception is not None
    code, line = line_of(done.exception, "place")
    assert code == 2
    assert said in line


def test_five_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal; an empty answer takes what stands in brackets."""
    monkeypatch.setattr("spoteval.cli.place.is_asked", lambda: True)
    done = CliRunner().invoke(place, ["--json"], input="30min\n\n\n\n\n")
    kept = json.loads(done.output[done.output.index("{") :])
    assert (kept["episode_h"], kept["tau_h"], kept["slots"], kept["scored"]) == (
        0.5,
        None,
        16,
        True,
    )
    assert done.output.count("?") >= 5
