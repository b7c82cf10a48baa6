"""local.market: same seed, same weather; the demo keeps its promises whatever the seed."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spoteval.local import market as m
from spoteval.local.market import NEW, Event, History, Market, Phase, PhaseName, Strike
from spoteval.local.weather import Calm, Demo, Weibull, demo_plan, weather

UNTIMED = settings(deadline=None)  # other work on the machine is not a failure
SEEDS = st.integers(0, 2**32)
PHASES = st.builds(
    Phase,
    st.sampled_from(["stopped", "refused", "starting", "running", "resuming", "serving"]),
    st.floats(0, 1000),
    st.sampled_from([None, "preempted", "guest", "user"]),
)
WEATHERS = st.sampled_from([Demo(), Calm(), Weibull(0.8, 600.0)])
NEXT_UP: dict[PhaseName, PhaseName] = {"running": "resuming", "resuming": "serving"}


def after(history: History, phase: Phase, length_s: float) -> History:
    """The history when its last phase has ended."""
    return (*history[:-1], replace(history[-1], length_s=length_s), phase)


def asked(market: Market, history: History) -> History:
    """The history once a stopped instance has been asked to start."""
    if m.answer_to_start(market, history).begins:
        return after(history, Phase("starting"), 1.0)
    return after(after(history, Phase("refused"), 1.0), Phase("stopped"), 0.0)


def lived(market: Market, lengths: dict[PhaseName, float]) -> History:
    """A whole demo: started again whenever it is stopped, until a life ends by the guest's own doing."""
    history = NEW
    while history[-1].cause != "guest":
        history = stepped(market, history, lengths)
    return history


def stepped(market: Market, history: History, lengths: dict[PhaseName, float]) -> History:
    """One phase on. A phase of an undisturbed life lasts as `lengths` says."""
    name, event = history[-1].name, m.coming_event(market, history)
    if name == "stopped":
        return asked(market, history)
    if event is not None and event.at_s <= lengths.get(name, float("inf")):
        return after(history, came(event), event.at_s)
    if name == "serving":
        return after(history, Phase("stopped", cause="guest"), lengths[name])
    return after(history, Phase(NEXT_UP[name]), lengths[name])


def came(event: Event) -> Phase:
    """The phase that an event brings."""
    return {
        "running": Phase("running"),
        "no-capacity": Phase("stopped"),
        "notice": Phase("noticed"),
        "power-button": Phase("stopping", cause="preempted"),
        "plug": Phase("stopped", cause="preempted"),
    }[event.kind]


@UNTIMED
@given(SEEDS, st.lists(PHASES, min_size=1), WEATHERS, st.floats(0, 1e4))
def test_same_inputs_same_outputs(
    seed: int, phases: list[Phase], sky: Demo | Calm | Weibull, in_phase_s: float
) -> None:
    """A second market with the same seed answers every question alike."""
    history = tuple(phases)
    one, other = Market(seed, sky), Market(seed, replace(sky))
    assert m.next_event(one, history, in_phase_s) == m.next_event(other, history, in_phase_s)
    assert m.answer_to_start(one, history) == m.answer_to_start(other, history)
    assert m.price(one, history) == m.price(other, history)
    assert 3.10 <= m.price(one, history) <= 3.60


@UNTIMED
@given(SEEDS, st.lists(PHASES, min_size=1), WEATHERS, st.floats(0, 100))
def test_the_length_of_the_phase_going_on_says_nothing(
    seed: int, phases: list[Phase], sky: Demo | Calm | Weibull, length_s: float
) -> None:
    """What comes is asked during the phase and again after it; the answer is the same."""
    history = tuple(phases)
    ended = (*history[:-1], replace(history[-1], length_s=length_s))
    assert m.coming_event(Market(seed, sky), history) == m.coming_event(Market(seed, sky), ended)


def promises(history: History, market: Market) -> None:
    """What the demo says of every seed."""
    struck = m.preemptions(history)
    names = [phase.name for phase in history]
    withdrawn = sum(a.name == "starting" and b.name == "stopped" for a, b in pairwise(history))
    answers = [market.weather.start(market.seed, number) for number in range(m.attempts(history))]
    assert 3 <= len(struck) <= 4
    assert struck.count("resuming") == 1
    assert set(struck) <= {"resuming", "serving"}
    assert 1 <= names.count("noticed") < len(struck)
    assert names.count("refused") + withdrawn >= 1
    assert any(answer.status == 500 and answer.runs for answer in answers)
    assert names.count("running") == len(struck) + 1


def test_the_demo_keeps_its_promises() -> None:
    """For the seeds that people type, as long as a life resumes for 4 s and serves for 8."""
    for seed in range(301):
        market = Market(seed, Demo())
        promises(lived(market, {"running": 2.0, "resuming": 4.0, "serving": 8.0}), market)


@settings(max_examples=200, deadline=None)
@given(SEEDS, st.floats(0, 60), st.floats(4.0, 60), st.floats(8.0, 600))
def test_the_demo_keeps_its_promises_at_any_speed(
    seed: int, boot_s: float, resume_s: float, serve_s: float
) -> None:
    """A slow machine resumes longer and meets the same number of strikes."""
    market = Market(seed, Demo())
    promises(lived(market, {"running": boot_s, "resuming": resume_s, "serving": serve_s}), market)


def test_a_life_too_quick_to_be_struck_while_resuming_leaves_it_to_the_next() -> None:
    """The strike is not lost with the life that it was meant for."""
    market = Market(7, Demo())
    plan = demo_plan(7)
    history = lived(market, {"running": 1.0, "resuming": plan.resuming.at_s / 2, "serving": 8.0})
    assert "resuming" not in m.preemptions(history)
    again = (*history[:-1], Phase("running"), Phase("resuming"))
    event = m.coming_event(market, again)
    assert event is not None
    assert event.at_s == plan.resuming.at_s


def test_seeds_differ() -> None:
    """No two of the first 301 plans are the same, and both sorts of capacity failure occur."""
    plans = [demo_plan(seed) for seed in range(301)]
    assert len({repr(plan) for plan in plans}) == 301
    kinds = {kind for plan in plans for kind in plan.starts}
    assert kinds == {"plain", "error", "refused", "withdrawn"}
    assert {len(plan.serving) for plan in plans} == {2, 3}


def test_the_same_seed_is_the_same_on_every_machine() -> None:
    """Figures of one seed, written down: a change of the generator changes every demo ever quoted."""
    plan = demo_plan(7)
    market = Market(7, Demo())
    assert plan.starts == SEVEN_STARTS
    assert [round(strike.at_s, 3) for strike in plan.serving] == SEVEN_SERVING
    assert round(plan.resuming.at_s, 3) == SEVEN_RESUMING
    assert m.price(market, NEW) == SEVEN_PRICE


SEVEN_STARTS = ("plain", "withdrawn", "plain", "error", "withdrawn", "plain", "error")
SEVEN_SERVING = [7.512, 6.245, 5.37]
SEVEN_RESUMING = 2.66
SEVEN_PRICE = 3.52


@pytest.mark.parametrize(("before_s", "due"), [(0.0, True), (-0.001, False), (0.001, True)])
def test_an_event_is_due_at_its_time_and_not_before(before_s: float, due: bool) -> None:
    """At equal it comes, a millisecond earlier it does not, later it still does."""
    market = Market(7, Demo())
    history = (Phase("starting"), Phase("running"), Phase("resuming"), Phase("serving"))
    event = m.coming_event(market, history)
    assert event is not None
    assert (m.next_event(market, history, event.at_s + before_s) == event) is due


@pytest.mark.parametrize(
    ("button", "kind"), [(True, "power-button"), (False, "plug")], ids=["button", "plug"]
)
def test_a_notice_ends_with_its_window(button: bool, kind: str) -> None:
    """The window's end is the power button or the plug, as the strike says, even if it came by surprise."""

    class Struck(Calm):
        def strike(self, seed: int, history: History) -> Strike | None:
            return Strike(5.0, noticed=True, button=button)

    market = Market(1, Struck())
    history = (Phase("starting"), Phase("running"))
    assert m.coming_event(market, history) == Event("notice", 5.0, 8.0)
    noticed = after(history, Phase("noticed"), 5.0)
    event = m.coming_event(market, noticed)
    assert event is not None
    assert (event.kind, event.at_s) == (kind, 8.0)


def test_the_rest_after_the_button_is_short_and_only_the_markets() -> None:
    """A guest that powers itself off has no plug pulled under it."""
    market = Market(1, Demo())
    stopping = Phase("stopping", cause="preempted")
    assert m.coming_event(market, (stopping,)) == Event("plug", market.button_s)
    assert m.coming_event(market, (Phase("stopping", cause="guest"),)) is None
    assert m.coming_event(market, NEW) is None


@UNTIMED
@given(SEEDS, st.integers(0, 50))
def test_calm_weather_only_ever_starts(seed: int, tries: int) -> None:
    """Nothing is refused and nothing is taken."""
    market = Market(seed, Calm())
    history: History = (Phase("starting"),) * (tries + 1)
    event = m.coming_event(market, history)
    assert event is not None
    assert event.kind == "running"
    for name in m.UP:
        assert m.coming_event(market, (*history, Phase(name))) is None


@UNTIMED
@given(SEEDS, st.floats(0, 100), st.floats(0, 100))
def test_a_weibull_life_is_one_life_over_its_phases(
    seed: int, boot_s: float, resume_s: float
) -> None:
    """Time spent before counts: the strike comes at the same instant whichever phase sees it."""
    market = Market(seed, Weibull(1.5, 1e5))
    start = (Phase("starting", 2.0),)
    running = m.coming_event(market, (*start, Phase("running")))
    later = (*start, Phase("running", boot_s), Phase("resuming", resume_s), Phase("serving"))
    serving = m.coming_event(market, later)
    assert running is not None
    assert serving is not None
    assert serving.at_s == pytest.approx(max(0.0, running.at_s - boot_s - resume_s), abs=1e-6)


def test_weibull_lives_have_the_mean_they_should() -> None:
    """Shape 1 is the exponential: the mean of many lives is the scale, within four standard errors."""
    lives = []
    for seed in range(2000):
        event = m.coming_event(Market(seed, Weibull(1.0, 100.0)), (Phase("running"),))
        assert event is not None
        lives.append(event.at_s)
    assert abs(sum(lives) / len(lives) - 100.0) < 4 * 100.0 / 2000**0.5


def test_the_price_stands_for_a_life_and_is_drawn_again_for_the_next() -> None:
    """What is read before a start is what the life then costs."""
    market = Market(7, Demo())
    stopped: History = (Phase("starting"), Phase("running"), Phase("stopped"))
    before = m.price(market, stopped)
    assert m.price(market, (*stopped, Phase("starting"))) == before
    assert m.price(market, (*stopped, Phase("starting"), Phase("running"))) == before
    refused: History = (*stopped, Phase("refused"), Phase("stopped"))
    draws = {m.price(market, (*refused, *[Phase("refused")] * n)) for n in range(20)}
    assert len(draws) > 5


@pytest.mark.parametrize("name", ["demo", "calm", "weibull", "weibull:0.5:60"])
def test_profiles_have_names(name: str) -> None:
    """Each is a weather of its own class."""
    assert type(weather(name)).__name__.lower() == name.partition(":")[0]


def test_an_unknown_profile_says_what_is_known() -> None:
    """The value as typed, and what is allowed."""
    with pytest.raises(ValueError, match='profile "storm": must be demo'):
        weather("storm")
