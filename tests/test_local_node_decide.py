"""local.node_decide: each row of what the driver does, from values alone."""

from dataclasses import replace

import pytest

from spoteval.local.cloud import Request
from spoteval.local.market import NEW, Event, History, Market, Phase, PhaseName, coming_event
from spoteval.local.node_decide import STATES, Seen, Step, decide
from spoteval.local.weather import Calm, Demo, demo_plan

CALM = Market(1, Calm())
DEMO = Market(7, Demo())
START, STOP = Request("r", "start"), Request("r", "stop")
QUIET = Seen(in_phase_s=0.0)


def in_phase(name: PhaseName, cause: str | None = None) -> History:
    """A first life that has got to this phase."""
    return (Phase("stopped", 1.0), Phase("starting", 2.0), Phase(name, cause=cause))


@pytest.mark.parametrize("name", list(STATES))
def test_nothing_happens_by_itself(name: PhaseName) -> None:
    """In calm weather, with nothing seen, every phase stays what it is."""
    assert decide(CALM, (*NEW, Phase(name)), QUIET) is None


def test_a_start_of_a_stopped_instance_begins() -> None:
    """Answered 200; the phase begins before the answer."""
    step = decide(CALM, NEW, replace(QUIET, request=START))
    assert step == Step("start-asked", (Phase("starting"),), answer=(200, None))


def before_start(kind: str) -> tuple[Market, History]:
    """A market, and a stopped instance whose next start call will be answered that way."""
    seed = next(seed for seed in range(100) if kind in demo_plan(seed).starts)
    attempt = demo_plan(seed).starts.index(kind)
    history: History = (*[Phase("starting"), Phase("stopped")] * attempt, Phase("stopped"))
    return Market(seed, Demo()), history


def test_a_start_may_be_answered_with_an_error_and_begin() -> None:
    """What the caller hears is not what happens."""
    step = decide(*before_start("error"), replace(QUIET, request=START))
    assert step is not None
    assert step.answer is not None
    assert step.answer[0] == 500
    assert step.phases == (Phase("starting"),)


def test_a_start_without_capacity_is_refused_and_remembered() -> None:
    """Two phases: the refusal, which counts as an attempt, and the old rest."""
    market, history = before_start("refused")
    step = decide(market, history, replace(QUIET, request=START))
    assert step is not None
    assert step.answer is not None
    assert step.answer[0] == 503
    assert step.phases == (Phase("refused"), Phase("stopped"))
    again = decide(market, (*history, *step.phases), replace(QUIET, request=START))
    assert again is not None
    assert again.phases == (Phase("starting"),)


@pytest.mark.parametrize(
    "name", ["starting", "running", "resuming", "serving", "noticed", "stopping"]
)
def test_a_start_of_what_is_not_stopped_is_a_conflict(name: PhaseName) -> None:
    """Nothing begins, and the answer says why."""
    step = decide(CALM, in_phase(name), replace(QUIET, request=START))
    assert step == Step("start-conflict", answer=(409, f"the instance is {STATES[name]}"))


@pytest.mark.parametrize("name", ["running", "resuming", "serving", "noticed"])
def test_a_stop_presses_the_button(name: PhaseName) -> None:
    """The units get their time, and the reason is the caller."""
    step = decide(CALM, in_phase(name), replace(QUIET, request=STOP))
    assert step == Step(
        "stop-asked", (Phase("stopping", cause="user"),), "button", answer=(200, None)
    )


def test_a_stop_while_starting_is_at_once() -> None:
    """There is nothing yet that needs time."""
    step = decide(CALM, in_phase("starting"), replace(QUIET, request=STOP))
    assert step is not None
    assert (step.phases, step.deed) == ((Phase("stopped", cause="user"),), "off")


@pytest.mark.parametrize("name", ["stopped", "stopping"])
def test_a_stop_of_what_stops_changes_nothing(name: PhaseName) -> None:
    """Answered all the same."""
    step = decide(CALM, in_phase(name), replace(QUIET, request=STOP))
    assert step == Step("stop-asked", answer=(200, None))


def test_a_call_that_cannot_be_read_is_answered() -> None:
    """Whoever waits for the answer gets one."""
    step = decide(CALM, NEW, replace(QUIET, request=Request("r", "")))
    assert step is not None
    assert step.answer is not None
    assert step.answer[0] == 400


@pytest.mark.parametrize(("early_s", "comes"), [(0.001, False), (0.0, True), (-0.001, True)])
def test_the_machine_runs_when_the_market_says(early_s: float, comes: bool) -> None:
    """At equal, not before, and later still."""
    history = in_phase("starting")
    due = coming_event(CALM, history)
    assert due is not None
    step = decide(CALM, history, Seen(due.at_s - early_s))
    assert (step == Step("running", (Phase("running"),), "boot")) is comes


def test_a_start_without_capacity_is_over_again() -> None:
    """It never ran: the units were never booted."""
    market, history = before_start("withdrawn")
    step = decide(market, (*history, Phase("starting")), Seen(10.0))
    assert step == Step("capacity", (Phase("stopped"),), "off")


def test_notice_button_and_plug_follow_each_other() -> None:
    """One preemption with everything, from the market's own plan."""
    plan = demo_plan(7)
    number = next(n for n, strike in enumerate(plan.serving) if strike.noticed and strike.button)
    lost = (Phase("serving"), Phase("stopped", cause="preempted"))
    history: History = (*lost * number, Phase("running"), Phase("serving"))
    notice = decide(DEMO, history, Seen(plan.serving[number].at_s))
    assert notice == Step("notice", (Phase("noticed"),), "notice", 8.0)
    button = decide(DEMO, (*history, Phase("noticed")), Seen(8.0))
    stopping = Phase("stopping", cause="preempted")
    assert button == Step("power-button", (stopping,), "button")
    plug = decide(DEMO, (*history, Phase("noticed"), stopping), Seen(DEMO.button_s))
    assert plug == Step("plug", (Phase("stopped", cause="preempted"),), "plug")


@pytest.mark.parametrize("cause", ["preempted", "guest", "user"])
def test_a_stop_is_over_when_all_units_are_down(cause: str) -> None:
    """Before the market's plug, if they are quick; the cause stays."""
    step = decide(CALM, in_phase("stopping", cause), replace(QUIET, units_down=True))
    assert step == Step("stopped", (Phase("stopped", cause=cause),), "off")


@pytest.mark.parametrize("name", ["running", "resuming", "serving", "noticed"])
def test_the_guest_may_power_itself_off(name: PhaseName) -> None:
    """Also while a notice stands."""
    step = decide(CALM, in_phase(name), replace(QUIET, poweroff_asked=True))
    assert step == Step("power-off", (Phase("stopping", cause="guest"),), "button")


@pytest.mark.parametrize(
    ("name", "resume_began", "first_episode", "then"),
    [
        ("running", True, False, "resuming"),
        ("running", True, True, "resuming"),
        ("running", False, True, None),
        ("resuming", True, False, None),
        ("resuming", True, True, "serving"),
        ("serving", True, True, None),
        ("noticed", True, True, None),
    ],
)
def test_a_life_gets_on_by_what_the_guest_wrote(
    name: PhaseName, resume_began: bool, first_episode: bool, then: PhaseName | None
) -> None:
    """One phase at a time, and not at all once a notice stands."""
    seen = replace(QUIET, resume_began=resume_began, first_episode=first_episode)
    step = decide(CALM, in_phase(name), seen)
    assert (step.phases if step is not None else None) == ((Phase(then),) if then else None)


def test_the_market_goes_before_the_guest() -> None:
    """A strike that is due is not outrun by an event of the same moment."""
    plan = demo_plan(7)
    lost = (Phase("serving"), Phase("stopped", cause="preempted"))
    history = (*lost, *[Phase("running")] * plan.resuming_boot, Phase("resuming"))
    seen = Seen(plan.resuming.at_s, resume_began=True, first_episode=True, poweroff_asked=True)
    step = decide(DEMO, history, seen)
    assert step is not None
    assert step.what == ("notice" if plan.resuming.noticed else "plug")
    assert isinstance(coming_event(DEMO, history), Event)
