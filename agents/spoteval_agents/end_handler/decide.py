"""The end of a run, as stages: the first that is not yet true is what is done next."""

from dataclasses import dataclass, replace

from spoteval.clock import Now, elapsed_s, left_s
from spoteval.control.enders import HOLD_WITHIN_S, ROUNDS, Ender, rounds
from spoteval.control.ending import COMPLETE, DEADLINE, FINISHED, End
from spoteval.decision import Decision
from spoteval.line import Value
from spoteval.shape import Reading, Unreadable
from spoteval_agents.end_handler.seen import AGENT, Policy, RunSeen, Seen, State

BY_ITSELF_S = 30.0
"""How long the processes of a complete run have to end by themselves."""
STOP_WITHIN_S = 600.0
"""How long the stop of a run that is over is tried: a process that a hung driver keeps from dying must not keep the
machine on, whose power-off ends it."""
END_PASS_WITHIN_S = 120.0
TRIES = 3

INTENT, STOP, SETTLE, FINAL, END = "intent", "stop-run", "settle", "final", "end-record"
PASS, GUEST_HOLD, HOLD, FACT, LAST = "pass", "guest-hold", "hold", "fact", "last-pass"
POWER, WITHDRAW = "power", "withdraw"
"""Acts, in their order."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A decision, the one act that follows from it, and what a person must know of it."""

    decision: Decision
    act: str | None = None
    needs_you: str | None = None


@dataclass(frozen=True, slots=True)
class _Case:
    """One run that has to end."""

    seen: Seen
    run: RunSeen
    reason: str
    state: State
    policy: Policy
    now: Now


def decide(seen: Seen, state: State, policy: Policy, now: Now) -> Plan:
    """The first row that fits."""
    if seen.disk is not None:
        return _wait("disk", {}, seen.disk)
    if isinstance(seen.run, Unreadable):
        return _wait("run", {}, seen.run.why)
    if seen.run is None:
        return _wait("run", {}, "no run is active")
    if seen.kill_switch is not None:
        return _switched(seen.kill_switch, policy)
    if (stale := stale_intent(seen, seen.run.name)) is not None:
        return _overtaken(stale, seen.run.name)
    if isinstance(seen.run.end, Unreadable):
        return Plan(_wait("end", {}, seen.run.end.why).decision, needs_you=seen.run.end.why)
    reason = why_over(seen.run, now)
    if isinstance(reason, Unreadable):
        return _not_over(seen.run, now, reason.why)
    if reason is None:
        return _not_over(seen.run, now, None)
    if isinstance(seen.intents, Unreadable):
        return _wait("intent", {"reason": reason}, seen.intents.why)
    return _ending(_Case(seen, seen.run, reason, state, policy, now))


def why_over(run: RunSeen, now: Now) -> Reading[str | None]:
    """Why the run is over: its end record, else complete, declared over, past its deadline; None while it is not."""
    if isinstance(run.end, End):
        return run.end.reason
    if not isinstance(run.count, Unreadable) and run.count.complete:
        return COMPLETE
    if run.finishing:
        return FINISHED
    if isinstance(run.deadline, Unreadable):
        return run.deadline
    left = left_s(run.deadline, now) if run.deadline is not None else None
    if left is not None and left <= 0:
        return DEADLINE
    if run.deadline is not None and left is None:
        return _by_uptime(run)
    return run.count if isinstance(run.count, Unreadable) else None


def _by_uptime(run: RunSeen) -> Reading[str]:
    """Without a clock that is right, the deadline is a longest time of being up, over all boots."""
    why = "the clock is not synchronised"
    if run.limit_s is None or run.up_s is None or run.limit_s <= 0:
        return Unreadable(f"{why}: nobody knows whether the deadline is past")
    if run.up_s >= run.limit_s:
        return DEADLINE
    left_s = run.limit_s - run.up_s
    return Unreadable(f"{why}: the deadline counts as {left_s:.0f} s more of being up")


def own_intent(seen: Seen, run: str) -> Ender | None:
    """This session's intent to end this run, where it stands."""
    own = [item for item in _of(seen, run) if item.session == seen.session]
    return own[-1] if own else None


def stale_intent(seen: Seen, run: str) -> Ender | None:
    """This session's intent to end another run than the active one, where it stands."""
    found = () if isinstance(seen.intents, Unreadable) else seen.intents
    own = (item for item in found if item.agent == AGENT and item.session == seen.session)
    return next((item for item in own if item.run != run and not item.withdrawn), None)


def owed_hold(seen: Seen, run: str) -> str | None:
    """The hold that an earlier session owes for the same end: it is placed under the same name."""
    owed = [item for item in _of(seen, run) if item.unfinished and item.session != seen.session]
    return owed[-1].hold_id if owed else None


def _of(seen: Seen, run: str) -> list[Ender]:
    found = () if isinstance(seen.intents, Unreadable) else seen.intents
    return [
        item for item in found if item.agent == AGENT and item.run == run and not item.withdrawn
    ]


def _switched(kill_switch: Reading[str | None], policy: Policy) -> Plan:
    text = kill_switch.why if isinstance(kill_switch, Unreadable) else kill_switch
    why = f"nothing is ended while it is there: rm {policy.kill_switch}"
    return Plan(Decision("kill-switch", {"text": text or "yes"}, why, AGENT))


def _overtaken(stale: Ender, run: str) -> Plan:
    """A run was begun while an earlier one was being ended: whoever began it needs the machine."""
    pairs: dict[str, Value] = {"stage": "withdraw", "reason": stale.reason}
    return Plan(Decision("wait", pairs, f"run {run} is active now", AGENT), WITHDRAW)


def _not_over(run: RunSeen, now: Now, unknown: str | None) -> Plan:
    known = None if isinstance(run.count, Unreadable) else run.count
    deadline = None if isinstance(run.deadline, Unreadable) else run.deadline
    left = left_s(deadline, now) if deadline is not None else None
    pairs: dict[str, Value] = {
        "run": run.name,
        "finished": known.finished if known is not None else None,
        "intended": known.intended if known is not None else None,
        "deadline_left_s": None if left is None else round(left),
    }
    return _wait("complete", pairs, unknown)


def _ending(case: _Case) -> Plan:
    """The run is over."""
    intent = own_intent(case.seen, case.run.name)
    if intent is None and case.run.rehearsal and case.run.end is not None:
        return _ended(case, "a drill's own run: the machine stays on while anybody needs it")
    if intent is None and _ended_before(case):
        return _ended(case, "it was ended in an earlier session; spoteval run new … begins another")
    if intent is None:
        return _act(case, "intent", INTENT, {}, "written down before anything is done")
    if case.run.end is None:
        return _before_record(case, intent)
    return _after_record(case, intent)


def _ended_before(case: _Case) -> bool:
    """An earlier session came to the end of all this: that the machine is on again is a person's will."""
    earlier = [item for item in _of(case.seen, case.run.name) if item.session != case.seen.session]
    return case.run.end is not None and any(item.proved_by == AGENT for item in earlier)


def _before_record(case: _Case, intent: Ender) -> Plan:
    """Stopped, settled, published: each within its time."""
    for_s = _since_s(intent, case.now)
    stops_s = 0.0 if for_s is None else for_s
    if case.run.members and stops_s < STOP_WITHIN_S:
        return _stopping(case, case.run.members, stops_s)
    plan = _published(case, for_s)
    return replace(plan, needs_you=_deathless(case.run)) if case.run.members else plan


def _stopping(case: _Case, members: Unreadable | int, for_s: float) -> Plan:
    if isinstance(members, Unreadable):
        return _wait("stop", {"reason": case.reason}, members.why)
    processes: dict[str, Value] = {"processes": members, "elapsed_s": round(for_s)}
    if case.reason == COMPLETE and for_s < BY_ITSELF_S:
        return _wait("stop", {"reason": case.reason, **processes}, "it may end by itself")
    return _act(case, "stop", STOP, processes)


def _deathless(run: RunSeen) -> str:
    gone = run.members.why if isinstance(run.members, Unreadable) else f"{run.members} processes"
    return f"run {run.name} did not stop within {STOP_WITHIN_S:.0f} s ({gone}): ended all the same"


def _published(case: _Case, for_s: float | None) -> Plan:
    if case.reason != COMPLETE and not case.state.settled and _tries_left(case, SETTLE):
        return _act(case, "settle", SETTLE)
    if case.state.pending != 0 and (for_s is None or for_s < case.policy.publish_within_s):
        pairs: dict[str, Value] = {
            "pending": case.state.pending,
            "elapsed_s": _shown(for_s),
            "limit_s": case.policy.publish_within_s,
        }
        return _act(case, "publish", FINAL, pairs)
    return _act(case, "record", END, {"pending": _pending(case)})


def _after_record(case: _Case, intent: Ender) -> Plan:
    """Its end published, held twice, told, the last lines published, off."""
    for_s = _ending_since_s(case, intent)
    if not case.state.end_passed and for_s < END_PASS_WITHIN_S:
        return _act(case, "publish-end", PASS, {"elapsed_s": round(for_s)})
    if case.run.rehearsal:
        return _after_drill(case)
    if case.seen.guest_hold is None:
        return _act(case, "guest-hold", GUEST_HOLD)
    proved = any(item.proved for item in _of(case.seen, case.run.name))
    if not proved and for_s < HOLD_WITHIN_S:
        return _act(case, "hold", HOLD, {"hold": intent.hold_id, "elapsed_s": round(for_s)})
    if not case.state.fact and _tries_left(case, FACT):
        return _act(case, "fact", FACT)
    return _off(case, proved)


def _after_drill(case: _Case) -> Plan:
    """No hold and no power-off: whoever drills goes on with this machine, and idle-guard is the ender."""
    if not case.state.fact and _tries_left(case, FACT):
        return _act(case, "fact", FACT)
    return _act(case, "withdraw", WITHDRAW, why="a drill's own run: the machine stays on")


def _off(case: _Case, proved: bool) -> Plan:
    assert not isinstance(case.seen.intents, Unreadable)
    held = "proved" if proved else "unproved"
    pairs: dict[str, Value] = {
        "reason": case.reason,
        "pending": _pending(case),
        "guest_hold": "placed",
        "restarter_hold": held,
    }
    before = rounds(case.seen.intents, case.seen.session, AGENT)
    if not proved and before >= ROUNDS:
        circle = f"switched off {before} times without a hold, and started again each time"
        pairs["power"] = "on"
        decision = Decision("gave-up", pairs, f"{circle}; a person must look", AGENT)
        return Plan(decision, needs_you=circle)
    if not case.policy.power_off:
        return Plan(Decision("end", {**pairs, "power": "on"}, "on_complete is hold-only", AGENT))
    if not case.state.last_passed:
        return _act(case, "publish-last", LAST, {}, "what was told since, before the power goes")
    why = None if proved else "the hold could not be proved; the next boot places it first"
    return Plan(Decision("end", {**pairs, "power": "off"}, why, AGENT), POWER)


def _ended(case: _Case, why: str) -> Plan:
    return Plan(Decision("ended", {"run": case.run.name, "reason": case.reason}, why, AGENT))


def _act(
    case: _Case, stage: str, act: str, more: dict[str, Value] | None = None, why: str | None = None
) -> Plan:
    pairs: dict[str, Value] = {"stage": stage, "reason": case.reason, **(more or {})}
    return Plan(Decision("wait", pairs, why or case.state.failed, AGENT), act)


def _wait(stage: str, pairs: dict[str, Value], why: str | None) -> Plan:
    return Plan(Decision("wait", {"stage": stage, **pairs}, why, AGENT))


def _tries_left(case: _Case, act: str) -> bool:
    return case.state.failures.get(act, 0) < TRIES


def _pending(case: _Case) -> Value:
    """As the end record says it; what the follower said last before there is one."""
    found = case.run.end.pending if isinstance(case.run.end, End) else case.state.pending
    return "unknown" if found is None else found


def _since_s(intent: Ender, now: Now) -> float | None:
    return elapsed_s(intent.at, now) if intent.at is not None else None


def _ending_since_s(case: _Case, intent: Ender) -> float:
    """Since the end record or this session's intent, whichever is later: each session has its time."""
    ages = [_since_s(intent, case.now)]
    if isinstance(case.run.end, End):
        ages.append(elapsed_s(case.run.end.at, case.now))
    return min([age for age in ages if age is not None], default=0.0)


def _shown(seconds: float | None) -> Value:
    return None if seconds is None else round(seconds)
