"""boot-resume's memory: what is read from events, what is heard from work, which events a change is worth."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from guest_world import NOW
from resume_play import probed
from resume_world import JUDGE, POLICY, RESUMED, SERVER, later, mark, planned, seen
from spoteval.control.markers import RUN_ASKED, RUN_STARTED
from spoteval.event import NEEDS_YOU, Event
from spoteval.shape import Reading, Unreadable
from spoteval_agents.boot_resume import posts
from spoteval_agents.boot_resume.observe import observe
from spoteval_agents.boot_resume.seen import News, Probe, Seen, State
from spoteval_agents.boot_resume.stages import (
    AGENT,
    BOOTED,
    FIRST_EPISODE,
    GATE,
    PREFLIGHT,
    RUN_GONE,
    SETTLED,
    Stages,
    stages_of,
)
from spoteval_agents.boot_resume.stages import (
    RESUMED as BEGAN,
)
from spoteval_agents.boot_resume.stages_server import HEALTHY, HELD

ALL_THE_WAY = (BOOTED, BEGAN, SETTLED, GATE, HEALTHY, RUN_ASKED, RUN_STARTED, FIRST_EPISODE)
RUNS = Stages(booted=True, resumed=True, ours=True, asked=mark(9), started=mark(8))


def event(
    kind: str, source: str = AGENT, session: str = "s1", **detail: object
) -> dict[str, object]:
    """One record of events.jsonl."""
    made = Event(NOW.wall, kind, source, "gpu-1", session, reason=f"why {kind}", detail=detail)
    return made.record()


def told(kinds: tuple[str, ...]) -> Stages:
    """The stages after these events, each with its mark."""
    return stages_of([event(kind, mark=NOW.record()) for kind in kinds], "s1")


def heard(
    said: Mapping[str, Reading[str]], state: State | None = None, look: Seen | None = None
) -> tuple[State, list[str]]:
    """The state and the kinds of events after work said something."""
    after, news = observe(state or State(), look or seen(), said, POLICY, NOW)
    return after, [item.kind for item in news]


def looked_at(**changes: object) -> str:
    """The word of one look at a server."""
    return json.dumps(dict(probed(**changes).body.values))


def ready() -> str:
    """The word of a good look."""
    return looked_at(ready=True, saw="all well")


def news_of(look: Seen) -> list[News]:
    """The events that a look alone is worth."""
    return list(observe(State(), look, {}, POLICY, NOW)[1])


def test_stages_are_this_sessions_and_ours() -> None:
    """Another life's events and another agent's say nothing about this life."""
    stages = told(ALL_THE_WAY)
    assert (stages.resumed, stages.settled, stages.healthy, stages.first_episode) == (True,) * 4
    assert (stages.asked, stages.started) == (NOW.mark, NOW.mark)
    others = [event(kind, session="s0") for kind in ALL_THE_WAY]
    others += [event(kind, source="shutdown-hook") for kind in ALL_THE_WAY]
    assert stages_of([*others, {"kind": 1}, {}], "s1") == Stages()


def test_a_hold_brings_the_way_back_to_its_begin_and_forgives() -> None:
    """Servers and preflight are looked at anew, failures count from there, a person may be told again."""
    before = stages_of([event(RUN_GONE), event(NEEDS_YOU)], "s1")
    assert (before.fails, before.told) == (1, frozenset(["why needs_you"]))
    stages = told((*ALL_THE_WAY, RUN_GONE, NEEDS_YOU, HELD))
    assert (stages.resumed, stages.healthy, stages.gate, stages.preflight) == (
        False,
        False,
        None,
        False,
    )
    assert (stages.fails, stages.told, stages.ours, stages.first_episode) == (
        0,
        frozenset(),
        True,
        True,
    )


def test_a_run_that_went_is_settled_and_gated_anew() -> None:
    """One that somebody ended has not failed."""
    stages = told((*ALL_THE_WAY, RUN_GONE))
    assert (stages.settled, stages.healthy, stages.gate) == (False, False, None)
    assert (stages.asked, stages.started, stages.gone, stages.fails) == (None, None, NOW.mark, 1)
    cut = stages_of([event(RUN_GONE, wanted=True), event(RUN_GONE, wanted=False)], "s1")
    assert cut.fails == 1


@pytest.mark.parametrize(("detail", "left"), [({"unfinished": 3}, 3), ({"unfinished": None}, None)])
def test_a_settlement_says_what_is_left(detail: dict[str, Any], left: int | None) -> None:
    """None while nobody knows what was intended."""
    assert stages_of([event(SETTLED, **detail)], "s1").unfinished == left


def test_the_boot_is_put_on_record_once() -> None:
    """With a run or without; not before it has its number."""
    fresh = replace(RESUMED, booted=False)
    assert [item.kind for item in news_of(seen(fresh))] == [BOOTED]
    assert [item.kind for item in news_of(Seen("s1"))] == [BOOTED]
    assert news_of(seen(fresh, guest=Stages(booted=True))) == []
    assert news_of(Seen("s1", numbered=False)) == []


def test_a_hold_is_an_event_where_it_stops_a_resume() -> None:
    """Not at each look, and not where nothing was resumed."""
    assert news_of(seen(hold="tp 4 -> 8")) == [News(HELD, "tp 4 -> 8")]
    assert news_of(seen(Stages(booted=True), hold="tp 4 -> 8")) == []


def test_healthy_is_every_server_twice_in_a_row() -> None:
    """One good look is none; a bad one in between starts the count again."""
    gated = seen(replace(RESUMED, gate=mark(3)))
    once, kinds = heard({"probe policy": ready()}, look=gated)
    assert kinds == []
    between, _ = heard({"probe policy": looked_at(saw="health 503")}, once, gated)
    assert between.probes["policy"] == Probe(saw="health 503", at=NOW.mark)
    again, kinds = heard({"probe policy": ready()}, between, gated)
    assert kinds == []
    _, kinds = heard({"probe policy": ready()}, again, gated)
    assert kinds == [HEALTHY]


def test_one_server_that_is_ready_does_not_speak_for_the_other() -> None:
    """All of them; none configured is all of them."""
    gated = seen(replace(RESUMED, gate=mark(3)), servers=(SERVER, JUDGE))
    both = State(probes={"policy": Probe(2), "judge": Probe(1)})
    assert heard({}, both, gated)[1] == []
    assert heard({"probe judge": ready()}, both, gated)[1] == [HEALTHY]
    assert heard({}, look=replace(gated, servers=()))[1] == [HEALTHY]


def test_looks_before_a_gate_do_not_count_in_it() -> None:
    """After a hold or a failure every server shows itself anew; a failed preflight is tried again."""
    old = State(probes={"policy": Probe(2)}, failed={"preflight": ("exit 1", mark(1))})
    state, kinds = heard({}, old, seen())
    assert (state.probes, state.failed, kinds) == ({}, {}, [])
    kept, _ = heard({}, old, seen(replace(RESUMED, gate=mark(3))))
    assert (kept.probes, kept.failed) == (old.probes, old.failed)


@pytest.mark.parametrize(
    ("word", "probe"),
    [
        (
            looked_at(saw="models 401", refused=True),
            Probe(saw="models 401", refused=True, at=NOW.mark),
        ),
        (Unreadable("timeout:45s"), Probe(saw="timeout:45s", at=NOW.mark)),
    ],
)
def test_a_refusal_and_a_look_that_failed(word: Reading[str], probe: Probe) -> None:
    """Neither is ready; only the refusal is for a person."""
    gated = seen(replace(RESUMED, gate=mark(3)))
    state, _ = heard({"probe policy": word}, State(probes={"policy": Probe(1)}), gated)
    assert state.probes == {"policy": probe}


def test_a_run_that_a_hold_passed_by_is_watched_on() -> None:
    """Its way back has no gate any more; what its servers said is kept, or each look would be followed by a next."""
    stages = told((*ALL_THE_WAY, HELD))
    assert stages.gate is None
    look = seen(stages, members=3)
    state, _ = heard({"health policy": "health 503"}, look=look)
    state, _ = heard({}, state, look)
    assert state.health["policy"].sick == 1
    assert planned(look, state).act is None


def test_failed_work_is_remembered_until_it_works() -> None:
    """With its time, for the pause before the next try."""
    state, kinds = heard({"settle": Unreadable("exit 1")})
    assert (state.failed, kinds) == ({"settle": ("exit 1", NOW.mark)}, [])
    assert heard({"settle": "3"}, state)[0].failed == {}


def test_a_claim_in_vain_is_a_claim_tried_and_a_fork_is_kept() -> None:
    """The store away: go on. A copy: stop, whatever comes after."""
    away, kinds = heard({"epoch": Unreadable("timeout:20s")})
    assert (away.epoch_tried, away.forked, kinds) == (True, None, [])
    claimed, kinds = heard({"epoch": "epoch 3"})
    assert (claimed.epoch_tried, kinds) == (True, ["epoch"])
    forked, kinds = heard({"epoch": "forked: epoch 3 is another's"})
    assert (forked.forked, kinds) == ("forked: epoch 3 is another's", [])
    assert heard({"booted": "put"}, forked)[0].forked is not None


def test_work_that_ended_well_is_an_event() -> None:
    """Preflight with its seconds, strangers removed, a hold placed again."""
    words = {"preflight": "1.500", "orphans": "gone after SIGTERM", "owed old": "idle-1 proved"}
    assert heard(words)[1] == [PREFLIGHT, "orphans-removed", "hold-placed"]
    assert heard({name: Unreadable("no") for name in words})[1] == []


def test_the_runs_processes_come_begin_an_episode_and_go() -> None:
    """Each once, with the time that it took."""
    asked = replace(RUNS, started=None)
    (started,) = news_of(seen(asked, members=2))
    assert (started.kind, started.detail["took_s"]) == (RUN_STARTED, 9.0)
    (first,) = news_of(seen(RUNS, members=2, begun=True))
    assert (first.kind, first.detail["took_s"]) == (FIRST_EPISODE, 9.0)
    assert news_of(seen(replace(RUNS, first_episode=True), members=2, begun=True)) == []
    (gone,) = news_of(seen(RUNS, members=0))
    assert (gone.kind, gone.reason, gone.detail["wanted"]) == (RUN_GONE, None, False)
    (cut,) = news_of(seen(RUNS, members=0, draining=True))
    assert cut.detail["wanted"] is True
    (stopped,) = news_of(seen(replace(RUNS, resumed=False), members=0, hold="run stop"))
    assert stopped.detail["wanted"] is True
    assert news_of(seen(RUNS, members=Unreadable("no"))) == []
    assert news_of(seen(members=2)) == []


@pytest.mark.parametrize(("asked_s", "kinds"), [(30, []), (31, [RUN_GONE])])
def test_a_start_that_brings_no_process_has_failed(asked_s: float, kinds: list[str]) -> None:
    """At its limit it may still come, past it the way begins again."""
    look = seen(replace(RUNS, asked=mark(asked_s), started=None), members=0)
    assert [item.kind for item in news_of(look)] == kinds


def posted(state: State, look: Seen, seconds: float = 0.0) -> str | None:
    """What is posted next."""
    return posts.due(state, look, POLICY, later(seconds))


def test_the_store_is_told_in_order_and_once() -> None:
    """The claim, the boot, the run; healthy and the first episode when they are true."""
    look = seen(replace(RESUMED, healthy=True, first_episode=True), claimed=False)
    order: list[str] = []
    state = State()
    while (item := posted(state, look)) is not None and len(order) < 9:
        order.append(item)
        look = seen(look.active.stages, claimed=True) if item == "epoch" and look.active else look
        state, _ = heard({item: "put"}, state, look)
    assert order == ["epoch", "booted", "run-swe-2", "healthy", "first-episode"]
    assert posted(State(), Seen("s1")) == "booted"
    assert posted(State(), seen(numbered=False)) is None
    assert posted(State(forked="x"), seen(claimed=False)) == "booted"


def test_a_boot_whose_episodes_began_was_healthy() -> None:
    """A hold that comes before the store was told takes nothing back of it; else rules would count this boot as one
    that never was."""
    look = seen(replace(RESUMED, healthy=False, first_episode=True))
    told = State(posted=frozenset(["booted", "run-swe-2"]))
    assert posted(told, look) == "healthy"
    early = seen(replace(RESUMED, healthy=False))
    assert posted(told, early) is None


def test_what_fails_waits_and_the_others_go_on() -> None:
    """A claim in vain is asked for again after its pause, twice as long each time up to the limit."""
    look, state = seen(claimed=False), State()
    for pause_s in (1.0, 2.0, 4.0, 8.0, 10.0, 10.0):
        state, _ = heard({"epoch": Unreadable("timeout:20s")}, state, look)
        assert posted(state, look) == "booted"
        assert posted(state, look, pause_s - 0.1) == "booted"
        assert posted(state, look, pause_s) == "epoch"
    state, _ = heard({"epoch": "put"}, state, look)
    state, _ = heard({"epoch": Unreadable("timeout:20s")}, state, look)
    assert posted(state, look, 1.0) == "epoch"
