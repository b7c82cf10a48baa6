"""What changed since the last look: events to write, and what slow work had to say. Pure, and always done."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace

from spoteval.clock import Now, elapsed_s
from spoteval.control.markers import RUN_STARTED
from spoteval.shape import Reading, Unreadable
from spoteval_agents.boot_resume import rows_gate, rows_run
from spoteval_agents.boot_resume.news_server import missing, news_of_servers
from spoteval_agents.boot_resume.rows_after import STOP_RUN, dead, watching
from spoteval_agents.boot_resume.rows_server import FACTS, probing, setting_aside, verifying
from spoteval_agents.boot_resume.seen import (
    Facts,
    Health,
    News,
    Policy,
    Probe,
    RunSeen,
    Seen,
    State,
)
from spoteval_agents.boot_resume.stages import (
    BOOTED,
    FIRST_EPISODE,
    MARK,
    PREFLIGHT,
    RUN_GONE,
)
from spoteval_agents.boot_resume.stages_server import CACHE_MOVED, HELD, WEIGHTS

FORKED = "forked"
"""How the word of a claim begins that was refused for good."""
_EVENTS: Mapping[str, str] = {
    rows_gate.EPOCH: "epoch",
    rows_gate.ORPHANS: "orphans-removed",
    STOP_RUN: "run-stopped-for-server",
    setting_aside("").strip(): CACHE_MOVED,
    verifying("").strip(): WEIGHTS,
}
"""Kinds of events by work; of work that names a server, by its first word."""


def observe(
    state: State, seen: Seen, said: Mapping[str, Reading[str]], policy: Policy, now: Now
) -> tuple[State, tuple[News, ...]]:
    """The next state, and the events that the change is worth."""
    state = _heard(_forgotten(state, seen), said, seen.took_s, now)
    news = [*_boot(seen), *_ended_work(said, seen.took_s)]
    if seen.active is not None:
        news += [*_held(seen, seen.active), *news_of_servers(state, seen, seen.active, now)]
        news += _process(seen, seen.active, policy, now)
    return replace(state, missing=missing(seen)), tuple(news)


def _forgotten(state: State, seen: Seen) -> State:
    """Before the gate no look at a server counts, and under a hold a failed preflight is a person's to mend.

    A hold that came and went leaves a run that works without a gate: its servers are watched on.
    """
    stages = seen.active.stages if seen.active is not None else None
    if stages is None or stages.gate is not None or stages.started is not None:
        return state
    failed = {key: value for key, value in state.failed.items() if not _is_mended(key)}
    return replace(state, probes={}, failed=failed, facts=None, health={})


def _is_mended(work: str) -> bool:
    return work == rows_run.PREFLIGHT or work.startswith((verifying(""), setting_aside("")))


def _heard(
    state: State, said: Mapping[str, Reading[str]], took_s: Mapping[str, float], now: Now
) -> State:
    """Remember what work said: failures with their time, looks at servers, facts that are in the store."""
    for work, word in said.items():
        if work.startswith(probing("")):
            server = work.removeprefix(probing(""))
            probes = {**state.probes, server: _probe(state.probes.get(server, Probe()), word, now)}
            state = replace(state, probes=probes)
        elif work.startswith(watching("")):
            state = replace(
                state, health=_health(state, work.removeprefix(watching("")), word, now)
            )
        elif isinstance(word, Unreadable):
            tries = {**state.tries, work: state.tries.get(work, 0) + 1}
            failed = {**state.failed, work: (word.why, now.mark)}
            state = replace(state, failed=failed, tries=tries)
        else:
            failed = {key: value for key, value in state.failed.items() if key != work}
            tries = {key: value for key, value in state.tries.items() if key != work}
            state = (
                replace(state, facts=_facts(word, took_s.get(work, 0.0)))
                if work == FACTS
                else state
            )
            forked = word if word.startswith(FORKED) else state.forked
            posted = state.posted | {work}
            state = replace(state, failed=failed, tries=tries, forked=forked, posted=posted)
        state = replace(state, epoch_tried=state.epoch_tried or work == rows_gate.EPOCH)
    return state


def _probe(before: Probe, word: Reading[str], now: Now) -> Probe:
    if isinstance(word, Unreadable):
        return Probe(saw=word.why, at=now.mark)
    said = json.loads(word)
    return Probe(
        ready=before.ready + 1 if said["ready"] else 0,
        refused=said["refused"],
        saw=said["saw"],
        at=now.mark,
        stage=said["stage"],
        version=said["version"],
        restarts=said["restarts"],
        gave_up=said["gave_up"],
    )


def _health(state: State, server: str, word: Reading[str], now: Now) -> Mapping[str, Health]:
    """A look that failed says nothing; only what a server shows of itself makes it sick."""
    saw = "" if isinstance(word, Unreadable) else word
    before = state.health.get(server)
    sick = (before.sick if before is not None else 0) + 1 if saw else 0
    return {**state.health, server: Health(sick, saw, now.mark)}


def _facts(word: str, took_s: float) -> Facts:
    said = json.loads(word)
    return Facts(said["values"], said["unknown"], took_s)


def _boot(seen: Seen) -> Iterable[News]:
    if seen.disk is None and seen.numbered and not seen.booted:
        yield News(BOOTED)


def _ended_work(said: Mapping[str, Reading[str]], took_s: Mapping[str, float]) -> Iterable[News]:
    """An event of each kind of work that is a stage, with its seconds."""
    for work, word in said.items():
        if isinstance(word, Unreadable) or word.startswith(FORKED):
            continue
        took = {"took_s": round(took_s.get(work, 0.0), 3)}
        if work == rows_run.PREFLIGHT:
            yield News(PREFLIGHT, detail={"took_s": float(word)})
        elif (kind := _EVENTS.get(work)) is not None:
            yield News(kind, word, took)
        elif work.startswith(rows_gate.OWED):
            yield News("hold-placed", word, took)
        elif (kind := _EVENTS.get(work.partition(" ")[0])) is not None:
            yield News(kind, word, {"server": work.partition(" ")[2], **took})


def _held(seen: Seen, run: RunSeen) -> Iterable[News]:
    if seen.hold is not None and run.stages.resumed:
        reason = seen.hold.why if isinstance(seen.hold, Unreadable) else seen.hold
        yield News(HELD, reason=reason)


def _process(seen: Seen, run: RunSeen, policy: Policy, now: Now) -> Iterable[News]:
    """The run's processes came, began an episode, went; or never came."""
    stages, members = run.stages, run.members
    if isinstance(members, Unreadable) or stages.asked is None:
        return
    asked_s = elapsed_s(stages.asked, now) or 0.0
    if members and stages.started is None:
        detail: dict[str, object] = {MARK: now.record(), "took_s": round(asked_s, 3)}
        yield News(RUN_STARTED, detail=detail)
    if members and run.begun and not stages.first_episode:
        yield News(FIRST_EPISODE, detail={"took_s": round(asked_s, 3)})
    if not members and stages.started is not None:
        yield _gone(seen, None, now)
    if not members and stages.started is None and asked_s > policy.start_within_s:
        yield _gone(seen, f"no process of it within {policy.start_within_s:.0f} s", now)


def _gone(seen: Seen, reason: str | None, now: Now) -> News:
    run = seen.active
    unserved = run is not None and bool(run.stages.servers.died or dead(seen, run.stages))
    # A hold comes before whatever a person stops; a run without its server has not failed by itself.
    wanted = seen.draining or seen.hold is not None or unserved
    return News(RUN_GONE, reason, {MARK: now.record(), "wanted": wanted})
