"""Policies, the engine that plays them, and the bound that none may beat."""

import json
import math
from functools import partial
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from spoteval.cli.errors import line_of
from spoteval.cli.place import place
from spoteval.placement.policies import (
    LONGEST_FIRST,
    POLICIES,
    View,
    dual,
    greedy,
    on_demand_only,
    place_in,
    slack_h,
    spot_only,
)
from spoteval.placement.simulation.bound import bound, clairvoyant
from spoteval.placement.simulation.engine import Job, play
from spoteval.placement.simulation.market import Weather, Zone, next_h, offered, read_zone
from spoteval.placement.simulation.table import Task, drawn, over_cells, rows, sampled
from spoteval.placement.spot_math import rerun_fresh

IDLE = View(
    left_h=20.0,
    work_h=12.0,
    mean_h=0.5,
    p90_h=0.9,
    longest_h=1.5,
    restart_h=1 / 3,
    offered=True,
    spot=False,
    spot_ready=False,
    on_demand=False,
    on_demand_ready=False,
    waiting=100,
)
TASK = Task(0.5, 0.6, 12.0, 16, 18.0, 1 / 3, 0.33)
ALWAYS, NEVER = Zone(((0.0, 99.0),), 0.0, 99.0), Zone((), 0.0, 99.0)


def left(view: View, slack: float) -> View:
    """The same view with so much slack."""
    return view._replace(left_h=view.left_h + slack - slack_h(view, LONGEST_FIRST))


def test_greedy_at_its_net_and_before_it() -> None:
    """On demand at a slack of nothing; before it spot, and a look when the slack is gone."""
    assert greedy(left(IDLE, -1e-9)) == (False, True, math.inf, True)
    before = greedy(left(IDLE, 0.25))
    assert (before.spot, before.on_demand) == (True, False)
    assert before.again_h == pytest.approx(0.25)
    assert greedy(left(IDLE._replace(offered=False), 0.25)).spot is False
    assert greedy(IDLE._replace(on_demand=True)).on_demand


def test_a_ready_spot_node_needs_less() -> None:
    """1.5 restarts less: it need not be started."""
    ready = IDLE._replace(spot=True, spot_ready=True)
    assert slack_h(ready, LONGEST_FIRST) - slack_h(IDLE, LONGEST_FIRST) == pytest.approx(0.5)


def test_the_longest_episode_counts_beside_the_sum() -> None:
    """From where 1.25 of it are more than the work and its margin."""
    view = IDLE._replace(work_h=1.0)
    tail_h = 0.25 * view.p90_h + 0.25 * view.mean_h
    equal = view._replace(longest_h=(1.0 + tail_h) / 1.25)
    past = view._replace(longest_h=equal.longest_h + 0.4)
    assert slack_h(equal, LONGEST_FIRST) == pytest.approx(
        slack_h(view._replace(longest_h=0.0), LONGEST_FIRST)
    )
    assert slack_h(equal, LONGEST_FIRST) - slack_h(past, LONGEST_FIRST) == pytest.approx(0.5)


def test_dual_keeps_spot_beside_and_lets_go_with_slack() -> None:
    """Six restarts of it, and not at six."""
    both = IDLE._replace(spot=True, spot_ready=True, on_demand=True, on_demand_ready=True)
    alone = both._replace(on_demand=False, on_demand_ready=False)
    assert dual(left(alone, -1e-9))[:2] == (True, True)
    far = left(alone, 1.999)
    assert dual(far._replace(on_demand=True, on_demand_ready=True))[:2] == (True, True)
    further = left(alone, 2.001)
    assert dual(further._replace(on_demand=True, on_demand_ready=True))[:2] == (True, False)
    little = left(IDLE._replace(work_h=2 / 3), -1.0)
    assert dual(little).spot is False


def test_which_episode_is_next() -> None:
    """The last of the queue; for a young node its middle, while the longest has time."""
    queue = [(0.1 * n, n) for n in range(1, 6)]
    assert place_in(queue, 9.0, young=True, order="longest-first") == 4
    assert place_in(queue, 0.75, young=True, order="middle-first") == 2
    assert place_in(queue, 0.749, young=True, order="middle-first") == 4
    assert place_in(queue, 9.0, young=False, order="middle-first") == 4


def job(*durations: float, slots: int = 1) -> Job:
    """Episodes whose durations are known."""
    return Job(durations, durations, slots, 0.25, 10.0, 0.33)


def test_a_node_that_is_never_taken() -> None:
    """One start, the work, and nothing else."""
    done = play(job(1.0, 2.0, 3.0), [ALWAYS], spot_only)
    assert (done.over_h, done.spot_h, done.cut, done.missed) == (6.25, 6.25, 0, False)
    assert done.cost == pytest.approx(0.33 * 6.25)
    assert bound(job(1.0, 2.0, 3.0), [ALWAYS]) == pytest.approx(done.cost)


def test_what_a_preemption_cuts_starts_over() -> None:
    """The longest first: it is cut after 0.75 h, and begins again with the next spell."""
    zone = Zone(((0.0, 1.0), (2.0, 9.0)), 0.0, 10.0)
    done = play(job(1.0, 0.5), [zone], spot_only)
    assert (done.cut, done.over_h, done.spot_h) == (1, 3.75, 2.75)


def test_a_deadline_is_met_at_its_moment_and_missed_after_it() -> None:
    """Equal, and one past."""
    assert play(job(9.75), [NEVER], on_demand_only).missed is False
    assert play(job(9.76), [NEVER], on_demand_only).missed is True
    never = play(job(1.0), [NEVER], spot_only)
    assert (never.missed, never.finished, never.cost) == (True, 0, 0.0)


def test_the_engine_agrees_with_the_formula() -> None:
    """Spot alone on memoryless lives, one slot after the other: billed hours as in closed form."""
    weather = Weather(1.0, 2.0)
    found = []
    for seed in range(25):
        zone = weather.zone(Random(seed), 400.0)
        work = Job([0.5] * 40, [0.5] * 40, 1, 1 / 3, 400.0, 1.0)
        found.append(play(work, [zone.window(0, 400.0)], spot_only).spot_h / 40)
    mean = math.fsum(found) / len(found)
    assert mean == pytest.approx(rerun_fresh(0.5, 1 / 3, 2.0).billed_h, rel=0.08)


def test_a_plan_that_fits_only_when_packed_tightly() -> None:
    """Two slots of 6 h: 3 + 3 and 2 + 2 + 2; even filling leaves one over."""
    work = job(3.0, 3.0, 2.0, 2.0, 2.0, slots=2)
    market = [Zone(((0.0, 6.25),), 0.0, 10.0)]
    assert clairvoyant(work, market) == pytest.approx(0.33 * 6.25)
    assert clairvoyant(work, market) == pytest.approx(bound(work, market))


@settings(max_examples=8)
@given(st.integers(0, 10**6), st.sampled_from([0.3, 0.6, 1.0]), st.sampled_from([18.0, 30.0]))
def test_nobody_beats_the_bound(seed: int, shape: float, deadline_h: float) -> None:
    """Nor does the plan that knows all; every episode ends once; on demand is never late."""
    random = Random(seed)
    task = Task(0.5, 0.6, 12.0, 16, deadline_h, 1 / 3, 0.33)
    market = next(drawn(Weather(shape, 2.0), task, 1, seed))
    work = task.job(random)
    least = bound(work, market)
    assert clairvoyant(work, market) >= least - 1e-9
    for name, (policy, order) in POLICIES.items():
        done = play(work, market, policy, order)
        if done.finished == len(work.durations):
            assert done.cost >= least - 1e-9, name
        assert name.startswith("spot") or done.finished == len(work.durations)
    assert not play(work, market, on_demand_only).missed


def test_a_window_and_the_zone_that_is_up_longest() -> None:
    """Spells are cut to the window; of two zones the older one is taken."""
    zone = Zone(((0.0, 4.0), (6.0, 8.0)), 0.0, 10.0)
    assert zone.window(3.0, 4.0).spells == ((0.0, 1.0), (3.0, 4.0))
    other = Zone(((2.0, 3.0),), 0.0, 10.0)
    assert offered([zone, other], 2.5) == (0.0, 4.0)
    assert offered([zone, other], 4.0) is None
    assert next_h([zone, other], 4.0) == 6.0


def test_the_weather_has_the_moments_it_is_named_for() -> None:
    """Mean of lives, median and p90 of waits."""
    zone = Weather(0.6, 3.4).zone(Random(1), 30_000.0)
    lives = [high - low for low, high in zone.spells]
    waits = sorted(
        later[0] - one[1] for one, later in zip(zone.spells, zone.spells[1:], strict=False)
    )
    assert math.fsum(lives) / len(lives) == pytest.approx(3.4, rel=0.08)
    assert waits[len(waits) // 2] == pytest.approx(0.45, rel=0.1)
    assert waits[int(0.9 * len(waits))] == pytest.approx(3.5, rel=0.1)


def test_the_same_seed_gives_the_same_table() -> None:
    """And another one another."""
    market = [Weather(0.5, 2.0).zone(Random(2), 300.0)]
    one, again, other = (rows(sampled(market, TASK, 3, seed)) for seed in (1, 1, 2))
    assert one == again != other
    assert over_cells([one, one])["greedy, longest-first"].mean == one["greedy, longest-first"].mean


def trace(path: Path) -> Path:
    """A recorded zone of 400 hours."""
    zone = Weather(0.5, 2.0).zone(Random(3), 400.0)
    ups = [f"{low * 3600:.0f},{(high - low) * 3600:.0f},1\n" for low, high in zone.spells]
    path.write_text("start_s,duration_s,available\n" + "".join(ups))
    return path


SIMULATED = (
    *("--episode-median", "30min", "--episode-sigma", "0.6", "--work", "12h", "--slots", "16"),
    *("--deadline", "18h", "--restart", "20min", "--price", "0.33", "--on-demand", "1"),
    *("--samples", "4", "--seed", "1", "--json"),
)


def test_the_command_plays_traces(tmp_path: Path) -> None:
    """One file a zone; mean, least and most for each policy."""
    path = trace(tmp_path / "a.csv")
    done = CliRunner().invoke(place, ["--trace", str(path), "--trace", str(path), *SIMULATED])
    found = json.loads(done.output)
    assert set(found["policies"]) == set(POLICIES)
    for row in found["policies"].values():
        ratio = row["cost_over_bound"]
        assert ratio["min"] <= ratio["mean"] <= ratio["max"]
    assert found["policies"]["on-demand, first come"]["cost_over_on_demand"] == 1.0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("start_s,up\n", 'columns "start_s,up" must be start_s,duration_s,available'),
        ("start_s,duration_s,available\n", "no lines"),
        ("start_s,duration_s,available\n0,x,1\n", "must be seconds"),
        ("start_s,duration_s,available\n0,5,up\n", 'available "up" must be 0 | 1'),
        ("start_s,duration_s,available\n0,3600,1\n", "shorter than the deadline"),
    ],
)
def test_traces_that_are_wrong(tmp_path: Path, text: str, said: str) -> None:
    """One line, with file and line."""
    (tmp_path / "t.csv").write_text(text)
    done = CliRunner().invoke(place, ["--trace", str(tmp_path / "t.csv"), *SIMULATED])
    assert done.exception is not None
    assert said in line_of(done.exception, "place")[1]


def test_lines_that_touch_are_two_lives(tmp_path: Path) -> None:
    """And lines that overlap are one."""
    path = tmp_path / "t.csv"
    path.write_text("start_s,duration_s,available\n0,3600,1\n3600,3600,1\n5400,3600,1\n")
    assert read_zone(path).spells == ((0.0, 1.0), (1.0, 2.5))


def test_margins_are_partial_policies() -> None:
    """What the table plays is what the functions are."""
    policy, order = POLICIES["greedy, first come"]
    assert isinstance(policy, partial)
    assert order == "fifo"
