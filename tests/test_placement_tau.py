"""Lives from events, and what is made of them."""

import json
import math
from datetime import timedelta
from functools import partial
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from event_story import at, told
from spoteval.cli.errors import line_of
from spoteval.cli.tau import tau
from spoteval.event import Event
from spoteval.placement.lifetime import Exposure, Life, exposure, life, widened
from spoteval.placement.survival import kaplan_meier, median_h
from spoteval.placement.tau import by_age, estimate, of_uptimes, starts_assumed
from spoteval.placement.uptimes import LEFT_OUT, Uptime, tally, uptimes
from spoteval.placement.waits import capacity_waits, tail
from spoteval.placement.weibull import FEWEST_EVENTS, SHORTEST_H, fit

HOUR = 3600
died, lived = partial(life, preempted=True), partial(life, preempted=False)


def stopped(seconds: float, cause: str, **detail: object) -> Event:
    """A stop with its cause, as the restarter writes it."""
    return Event(at(seconds), "stopped", "restarter", "gpu-1", reason=cause, detail=detail)


def hours(found: tuple[Uptime, ...]) -> list[float]:
    """Of each life."""
    return [round(one.life.middle_h, 6) for one in found]


@pytest.mark.parametrize(
    ("cause", "counted"),
    [
        *(("preempted", True), ("platform", True), ("unknown", True)),
        *(("user", False), ("guest", False), ("restarter", False), ("something new", False)),
    ],
)
def test_only_what_the_pool_did_is_a_preemption(cause: str, counted: bool) -> None:
    """Stops on purpose are censored: the machine would have lived on."""
    found = uptimes((told(0, "running"), stopped(2 * HOUR, cause)))
    assert (hours(found), found[0].life.preempted) == ([2.0], counted)


def test_the_restarters_own_measure_of_an_uptime_counts() -> None:
    """By one monotonic clock; a wall clock that jumped in between does not."""
    found = uptimes((told(0, "running"), stopped(9 * HOUR, "preempted", up_s=HOUR)))
    assert hours(found) == [1.0]


def test_a_machine_that_is_still_up_is_censored() -> None:
    """At the last thing that any event says."""
    found = uptimes((told(0, "running"), told(HOUR, "healthy")), at(3 * HOUR))
    assert (hours(found), found[0].life.preempted) == ([3.0], False)
    assert uptimes(()) == ()


def test_a_drill_is_left_out() -> None:
    """Whether the stop says so or the start."""
    real = (told(0, "running"), stopped(HOUR, "preempted"))
    drilled = (told(2 * HOUR, "running"), stopped(3 * HOUR, "preempted", rehearsal=True))
    begun = (told(4 * HOUR, "running", rehearsal=True), stopped(5 * HOUR, "preempted"))
    found = uptimes((*real, *drilled, *begun))
    assert [one.counted == LEFT_OUT for one in found] == [False, True, True]
    known = of_uptimes(found)
    assert (known.lives, known.seen.preemptions, known.seen.hours) == (1, 1, 1.0)


def test_a_stop_that_nobody_saw_lies_between_two_events() -> None:
    """An interval, for the fit; its middle for tau."""
    found = uptimes((told(0, "running"), told(HOUR, "healthy"), told(3 * HOUR, "running")))
    first = found[0].life
    assert (first.low_h, first.high_h, first.preempted) == (1.0, 3.0, True)


def test_a_pulled_run_alone_tells_of_its_boots() -> None:
    """Markers end them; a cut without one lies between its last event and the next boot."""
    marked = Event(at(HOUR), "interrupted", "shutdown-hook", "gpu-1", "s1", reason="preempted")
    events = (
        *(told(0, "booted", "s1"), told(600, "healthy", "s1"), marked),
        *(told(2 * HOUR, "booted", "s2"), told(3 * HOUR, "first-episode", "s2")),
        *(told(5 * HOUR, "booted", "s3"), told(6 * HOUR, "idle-stop", "s3")),
    )
    found = uptimes(events)
    assert hours(found) == [1.0, 2.0, 1.0]
    assert [one.life.preempted for one in found] == [True, True, False]
    assert [one.ready_h for one in found] == [pytest.approx(1 / 6), 1.0, None]


def test_starts_that_die_before_ready() -> None:
    """Counted among those that said anything; the useful time runs from ready."""
    events: list[Event] = []
    for index, (ready, lasted) in enumerate(
        [(600, HOUR), (None, 300), (600, 2 * HOUR), (None, 60)]
    ):
        begin = index * 10 * HOUR
        events += [told(begin, "running"), told(begin + 30, "booted", f"s{index}")]
        events += [told(begin + ready, "healthy", f"s{index}")] if ready else []
        events += [stopped(begin + lasted, "preempted")]
    starts = of_uptimes(uptimes(events)).starts
    assert starts is not None
    assert (starts.count, starts.dead, starts.dead_share) == (4, 2, 0.5)
    assert starts.useful.tau_h == pytest.approx((3 * HOUR - 1200) / 2 / HOUR)
    assert starts.dead_h == pytest.approx(180 / HOUR)


def test_starts_assumed_at_and_below_the_restart() -> None:
    """A life as long as the restart got there."""
    starts = starts_assumed([died(1.0), died(0.99), lived(0.5)], 1.0)
    assert (starts.count, starts.dead, starts.useful.hours) == (2, 1, 0.0)


def test_waits_are_told_apart() -> None:
    """From the first start call, with its refusals; the last one is still open."""
    events = (
        *(told(0, "start-asked"), told(900, "capacity-failure"), told(1000, "start-asked")),
        *(told(HOUR, "running"), stopped(2 * HOUR, "preempted"), told(3 * HOUR, "start-asked")),
    )
    found = capacity_waits(events)
    assert (found.hours, found.refusals, found.open) == ((1.0,), 1, True)
    assert exposure(one.life for one in uptimes(events)).hours == 1.0


def test_a_tail_is_median_and_p90() -> None:
    """By nearest rank: nine of ten are not above it."""
    found = tail([float(number) for number in range(1, 11)])
    assert found is not None
    assert (found.median, found.p90, found.worst) == (5.5, 9.0, 10.0)
    assert tail([]) is None


def test_no_preemption_gives_a_bound() -> None:
    """T/2.9957, and no tau."""
    known = estimate([lived(24.0)])
    assert math.isinf(known.seen.tau_h)
    assert known.seen.lower_h() == pytest.approx(24 / 2.995732)
    assert known.interval_h[0] == pytest.approx(24 / 3.688879)
    assert (known.median_h, known.clustered, known.law) == (None, None, None)
    with pytest.raises(ValueError, match="no uptime"):
        estimate([died(0.0)])


def test_clustering_is_judged_from_ten_events() -> None:
    """One fewer is too few to say, whatever the shape."""
    random = Random(3)
    many = [died(random.weibullvariate(1.0, 0.3)) for _ in range(FEWEST_EVENTS)]
    assert estimate(many).clustered is True
    assert estimate(many[:-1]).clustered is None


def test_an_interval_is_widened_only_by_clusters() -> None:
    """And never narrowed."""
    assert widened(2.0, (1.0, 4.0), 0.5) == (1.0, 4.0)
    assert widened(2.0, (1.0, 4.0), 2.0) == (0.5, 8.0)
    assert widened(math.inf, (1.0, math.inf), 2.0) == (1.0, math.inf)
    random = Random(4)
    memoryless = estimate([died(random.expovariate(0.5)) for _ in range(40)])
    assert memoryless.widened_h == memoryless.interval_h


@pytest.mark.parametrize("shape", [0.35, 0.8, 1.5])
def test_shape_from_exact_and_from_intervals(shape: float) -> None:
    """Both find the shape that the lives were drawn with, also where they were only looked at now and then."""
    random = Random(5)
    drawn = [random.weibullvariate(2.0, shape) for _ in range(400)]
    looked = [Life(low, low + 0.25, preempted=True) for low in (0.25 * int(4 * t) for t in drawn)]
    for sample in ([died(hours_) for hours_ in drawn], looked):
        found = fit(sample)
        assert found is not None
        assert found.shape == pytest.approx(shape, rel=0.13)
        assert found.scale_h == pytest.approx(2.0, rel=0.35)


def test_a_hair_of_an_interval_is_as_good_as_exact() -> None:
    """The two likelihoods are one in the limit; zero is clamped to half a poll."""
    exact = [life(hours_, hours_ < 9) for hours_ in (0.1, 0.4, 0.5, 1.0, 2.5, 6.0, 9.0)]
    narrow = [Life(one.low_h, one.low_h * (1 + 1e-7), one.preempted) for one in exact]
    one, other = fit(exact), fit(narrow)
    assert one is not None
    assert other is not None
    assert other.shape == pytest.approx(one.shape, rel=1e-4)
    assert fit([died(0.0), died(1.0)]) == fit([died(SHORTEST_H), died(1.0)])
    assert fit([died(1.0), died(1.0)]) is None


LIVES = st.lists(st.tuples(st.floats(0.01, 100), st.booleans()), min_size=1, max_size=30)


@given(LIVES)
def test_what_always_holds(pairs: list[tuple[float, bool]]) -> None:
    """Tau lies in its interval, survival falls from 1 and stays above 0, ages add up to the whole."""
    sample = [life(hours_, cut) for hours_, cut in pairs]
    known = estimate(sample)
    low, high = known.interval_h
    assert low <= known.seen.tau_h <= high
    assert known.widened_h[0] <= low * (1 + 1e-9)
    shares = [1.0, *(step.share for step in kaplan_meier(sample))]
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] >= 0
    ages = by_age(sample)
    assert sum(one.seen.preemptions for one in ages) == known.seen.preemptions
    assert math.fsum(one.seen.hours for one in ages) == pytest.approx(known.seen.hours)


def test_censored_at_the_moment_of_a_death_were_still_at_risk() -> None:
    """Ties: events before censorings."""
    steps = kaplan_meier([lived(1.0), died(1.0)])
    assert (steps[0].share, steps[0].at_risk) == (0.5, 2)
    assert median_h(steps) == 1.0
    assert median_h(kaplan_meier([died(1.0), lived(2.0), lived(3.0)])) is None


def test_the_exact_interval_covers() -> None:
    """Of 300 watches of a memoryless pool at least 94 in 100 hold the truth."""
    random = Random(6)
    held = 0
    for _ in range(300):
        count, left = 0, 24.0
        while (left := left - random.expovariate(1 / 3.0)) > 0:
            count += 1
        low, high = Exposure(24.0, count).interval_h()
        held += low <= 3.0 <= high
    assert held >= 282


def test_what_each_stop_was_counted_as() -> None:
    """With its reason, preemptions first."""
    events = [
        event
        for n, cause in enumerate(("user", "preempted", "preempted"))
        for event in (told(n * HOUR, "running"), stopped(n * HOUR + 60, cause))
    ]
    assert list(tally(uptimes(events)).values()) == [2, 1]


def spells(path: Path, text: str) -> tuple[int, str]:
    """Exit code and output of the command for such a file."""
    path.write_text(text)
    done = CliRunner().invoke(tau, ["--spells", str(path), "--json"])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        return line_of(done.exception, "tau")
    return done.exit_code, done.output


def test_spells_by_duration_and_by_interval(tmp_path: Path) -> None:
    """The two layouts; of a censored one the lower bound."""
    exact = "duration_s,ended\n3600,preempted\n7200,preempted\n10800,censored\n"
    code, text = spells(tmp_path / "a.csv", exact)
    found = json.loads(text)
    assert (code, found["tau_h"], found["censored"]) == (0, 3.0, 1)
    assert found["tau_ci95_h"][0] < 3.0 < found["tau_ci95_h"][1]
    assert found["clustered"] is None
    within = "lower_s,upper_s,ended\n0,7200,preempted\n3600,10800,preempted\n10800,,censored\n"
    assert json.loads(spells(tmp_path / "b.csv", within)[1])["tau_h"] == 3.0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("duration_s\n3\n", 'columns "duration_s" must be duration_s,ended'),
        ("duration_s,ended\n", "no lines"),
        ("duration_s,ended\n-3,preempted\n", 'line 2: duration_s "-3" must be seconds from 0'),
        ("duration_s,ended\nnan,preempted\n", 'duration_s "nan" must be seconds'),
        ("duration_s,ended\n3,gone\n", 'ended "gone" must be preempted | censored'),
        ("lower_s,upper_s,ended\n5,3,preempted\n", 'upper_s "3" must be at least lower_s'),
        ("", "must be duration_s,ended"),
    ],
)
def test_spells_that_are_wrong(tmp_path: Path, text: str, said: str) -> None:
    """File, line, value and what is allowed; exit 2."""
    code, line = spells(tmp_path / "a.csv", text)
    assert code == 2
    assert said in line


def log(path: Path, events: list[Event]) -> None:
    """An event log."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(event.record()) + "\n" for event in events))


def test_the_command_over_a_directory_of_logs(tmp_path: Path) -> None:
    """Both hosts' logs of one machine, the same one twice, a torn line: nothing counts twice."""
    events = [
        told(0, "start-asked"),
        told(60, "running"),
        stopped(2 * HOUR + 60, "preempted", up_s=2 * HOUR),
    ]
    log(tmp_path / "one" / "events.jsonl", events)
    log(tmp_path / "copy" / "events.jsonl", [*events, told(9 * HOUR, "price-read")])
    with (tmp_path / "copy" / "events.jsonl").open("a") as file:
        file.write('{"at": "2026-12-01T20')
    done = CliRunner().invoke(tau, [str(tmp_path), "--json", "--svg", str(tmp_path / "t.svg")])
    found = json.loads(done.output)
    assert (found["lives"], found["tau_h"], found["waits"]["median_h"]) == (1, 2.0, 60 / HOUR)
    assert found["counted"][0]["why"] == "the provider took it"
    assert (tmp_path / "t.svg").read_text().startswith("<svg ")
    screen = CliRunner().invoke(tau, [str(tmp_path), "--duration", "30min"]).output
    assert "not enough events to judge clustering: 1 preemptions, 10 needed" in screen
    assert "only 1 preemptions: the interval is the result" in screen
    assert "1 damaged lines" in screen


def test_events_of_one_instant_keep_their_story() -> None:
    """A log whose clock has whole seconds: a stop and the next start at once."""
    same = at(HOUR) + timedelta(0)
    events = (
        told(0, "running"),
        stopped(HOUR, "preempted"),
        Event(same, "running", "restarter", "gpu-1"),
    )
    assert len(uptimes(events)) == 2


def test_a_place_without_logs_is_named(tmp_path: Path) -> None:
    """One line."""
    done = CliRunner().invoke(tau, [str(tmp_path)])
    assert done.exception is not None
    assert line_of(done.exception, "tau") == (1, f"tau: {tmp_path}: no events.jsonl there")


def test_this_hosts_own_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a place: below the state directory, and what is up has lived until now."""
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path))
    monkeypatch.setenv("SPOTEVAL_CONFIG", "")
    monkeypatch.delenv("SPOTEVAL_CONFIG")
    paths = tmp_path / "instances" / "gpu-1" / "events.jsonl"
    log(paths, [told(0, "running"), stopped(HOUR, "preempted"), told(2 * HOUR, "running")])
    done = CliRunner().invoke(tau, ["--json"])
    found = json.loads(done.output)
    assert (found["lives"], found["preemptions"]) == (2, 1)
    assert sorted(one["why"] for one in found["counted"])[0] == "still up at the end of the log"
