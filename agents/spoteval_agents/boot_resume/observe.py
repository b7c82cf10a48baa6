"""What changed since the last look: events to write, and what slow work had to say. Pure, and always done."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from spoteval.clock import Now, elapsed_s
from spoteval.control.markers import RUN_STARTED
from spoteval.shape import Reading, Unreadable
from spoteval_agents.boot_resume import rows_gate, rows_run
from spoteval_agents.boot_resume.rows_server import READY_LOOKS, probing
from spoteval_agents.boot_resume.seen import News, Policy, Probe, RunSeen, Seen, State
from spoteval_agents.boot_resume.stages import (
    BOOTED,
    FIRST_EPISODE,
    HEALTHY,
    HELD,
    MARK,
    PREFLIGHT,
    RUN_GONE,
)

READY, REFUSED, FORKED = "ready", "refused", "forked"
"""How the word of a probe and of a claim begins."""


def observe(
    state: State, seen: Seen, said: Mapping[str, Reading[str]], policy: Policy, now: Now
) -> tuple[State, tuple[News, ...]]:
    """The next state, and the events that the change is worth."""
    state = _heard(_forgotten(state, seen), said, now)
    news = [*_boot(seen), *_ended_work(said)]
    if seen.active is not None:
        news += [*_held(seen, seen.active), *_servers(state, seen, seen.active, now)]
        news += _process(seen, seen.active, policy, now)
    return state, tuple(news)


def _forgotten(state: State, seen: Seen) -> State:
    """Before the gate no look at a server counts, and under a hold a failed preflight is a person's to mend."""
    stages = seen.active.stages if seen.active is not None else None
    if stages is None or stages.gate is not None:
        return state
    failed = {key: value for key, value in state.failed.items() if key != rows_run.PREFLIGHT}
    return replace(state, probes={}, failed=failed)


def _heard(state: State, said: Mapping[str, Reading[str]], now: Now) -> State:
    """Remember what work said: failures with their time, looks at servers, facts that are in the store."""
    for work, word in said.items():
        if work.startswith(probing("")):
            server = work.removeprefix(probing(""))
            probes = {**state.probes, server: _probe(state.probes.get(server, Probe()), word, now)}
            state = replace(state, probes=probes)
        elif isinstance(word, Unreadable):
            state = replace(state, failed={**state.failed, work: (word.why, now.mark)})
        else:
            failed = {key: value for key, value in state.failed.items() if key != work}
            forked = word if word.startswith(FORKED) else state.forked
            posted = state.posted | {work}
            state = replace(state, failed=failed, forked=forked, posted=posted)
        state = replace(state, epoch_tried=state.epoch_tried or work == rows_gate.EPOCH)
    return state


def _probe(before: Probe, word: Reading[str], now: Now) -> Probe:
    if isinstance(word, Unreadable):
        return Probe(saw=word.why, at=now.mark)
    verdict, _, saw = word.partition(" ")
    ready = before.ready + 1 if verdict == READY else 0
    return Probe(ready, verdict == REFUSED, saw, now.mark)


def _boot(seen: Seen) -> Iterable[News]:
    if seen.disk is None and seen.numbered and not seen.booted:
        yield News(BOOTED)


def _ended_work(said: Mapping[str, Reading[str]]) -> Iterable[News]:
    for work, word in said.items():
        if isinstance(word, Unreadable):
            continue
        if work == rows_run.PREFLIGHT:
            yield News(PREFLIGHT, detail={"took_s": float(word)})
        elif work == rows_gate.EPOCH and not word.startswith(FORKED):
            yield News("epoch", reason=word)
        elif work == rows_gate.ORPHANS:
            yield News("orphans-removed", reason=word)
        elif work.startswith(rows_gate.OWED):
            yield News("hold-placed", reason=word)


def _held(seen: Seen, run: RunSeen) -> Iterable[News]:
    if seen.hold is not None and run.stages.resumed:
        reason = seen.hold.why if isinstance(seen.hold, Unreadable) else seen.hold
        yield News(HELD, reason=reason)


def _servers(state: State, seen: Seen, run: RunSeen, now: Now) -> Iterable[News]:
    """All ready at once, in the same gate."""
    stages = run.stages
    if stages.gate is None or stages.healthy:
        return
    looks = [state.probes.get(server.name, Probe()).ready for server in seen.servers]
    if all(look >= READY_LOOKS for look in looks):
        took_s = round(elapsed_s(stages.gate, now) or 0.0, 3)
        yield News(HEALTHY, detail={"took_s": took_s})


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
    wanted = seen.draining or seen.hold is not None  # a hold comes before whatever a person stops
    return News(RUN_GONE, reason, {MARK: now.record(), "wanted": wanted})
