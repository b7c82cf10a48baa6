"""What end-handler does, one act a cycle: each can be done again."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from spoteval.clock import Now, elapsed_s
from spoteval.config.guest import GuestConfig
from spoteval.control import children, requests, runstop, stopping
from spoteval.control.children import Ask
from spoteval.control.enders import Ender, write_intent
from spoteval.control.ending import COMPLETE, end_now, write_end
from spoteval.control.eventlog import log_event
from spoteval.control.facts import ended_fact
from spoteval.control.poweroff import PowerOff
from spoteval.control.requests import SOON
from spoteval.control.runcontrol import Stopped, stop_run
from spoteval.control.runfiles import read_run
from spoteval.control.uptime import counted, is_due, keep_uptime, read_uptime
from spoteval.control.worker import Working
from spoteval.event import Event
from spoteval.files import read_lines, touch
from spoteval.harness.plans import stop_steps
from spoteval.machine.cgroup import Members
from spoteval.paths import DurablePaths, HostPaths
from spoteval.run import RunRecord
from spoteval.shape import Reading, Unreadable
from spoteval_agents.end_handler.decide import (
    END,
    FACT,
    FINAL,
    GUEST_HOLD,
    HOLD,
    INTENT,
    LAST,
    PASS,
    POWER,
    SETTLE,
    STOP,
    WITHDRAW,
    owed_hold,
    own_intent,
    stale_intent,
    why_over,
)
from spoteval_agents.end_handler.seen import AGENT, Asked, RunSeen, Seen, State

ENDED = "end"
OWN_S, KILL_S = 30.0, 10.0
AGAIN_S = 5.0
SETTLE_CHILD_S, FACT_CHILD_S, PASS_S, FINAL_S = 120.0, 60.0, 30.0, 60.0
LAST_S = 20.0
"""A follower that was killed is back after 5 s; without a store it leaves over what it cannot send."""
BESIDE = (STOP, SETTLE, HOLD, FACT)


@dataclass(slots=True)
class Hands:
    """Through what it acts."""

    config: GuestConfig
    host: HostPaths
    session: str
    members: Members
    worker: Working
    ask: Ask = children.ask
    random: Callable[[int], bytes] = os.urandom
    power: PowerOff = field(init=False)
    _told: set[str] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        self.power = PowerOff(self.config.provider, self.host.poweroff)

    def act(self, name: str, disk: DurablePaths, seen: Seen, state: State, now: Now) -> State:
        """Do one act. Raises OSError where the disk does not take it."""
        run, intent = seen.run, None
        if not isinstance(run, RunSeen):
            return state
        if name == WITHDRAW:
            self._withdraw(disk, seen, run, now)
            return state
        intent, reason = own_intent(seen, run.name), str(why_over(run, now))
        if intent is None:
            if name == INTENT:
                self._intend(disk, seen, run, reason, now)
        elif name in BESIDE:
            self.worker.start(name, self._beside(name, disk, run, intent, reason))
        elif name in (FINAL, PASS):
            return self._request(name, disk, intent, state, now)
        elif name == END:
            self._end(disk, run.name, reason, state.pending, now)
            return replace(state, answered=None)  # the next request is about something new
        elif name == GUEST_HOLD:
            touch(disk.guest_hold, f"run {run.name} is over: {reason}")
        elif name == LAST:
            self.tell(disk, run.name, "end-stop", reason, {"hold": intent.hold_id}, now)
            return self._request_last(disk, state, now)
        elif name == POWER:
            self.power.ask(f"{AGENT}: {intent.reason}")
        return state

    def count_up(self, disk: DurablePaths, run: RunSeen, now: Now) -> None:
        """Keep how long the machine is up with a run that has a deadline. Raises OSError."""
        if run.up_s is None:
            return
        path = disk.uptime(run.name)
        kept = read_uptime(path)
        if is_due(kept, up := counted(kept, self.session, now)):
            keep_uptime(path, up)

    def tell(
        self,
        disk: DurablePaths,
        run: str,
        kind: str,
        reason: str | None,
        detail: dict[str, object],
        now: Now,
    ) -> None:
        """An event of the run, once in the life of this process."""
        if f"{run} {kind} {reason}" in self._told:
            return
        self._told.add(f"{run} {kind} {reason}")
        event = Event(
            at=now.wall,
            kind=kind,
            source=AGENT,
            instance=self.config.instance,
            session=self.session,
            reason=reason,
            detail=detail,
        )
        log_event(disk.run(run).events, event)

    def _withdraw(self, disk: DurablePaths, seen: Seen, run: RunSeen, now: Now) -> None:
        stale, own = stale_intent(seen, run.name), own_intent(seen, run.name)
        if stale is not None:
            stopping.withdraw([disk.enders], stale, f"run {run.name} is active now", now)
        elif own is not None:
            stopping.withdraw([disk.enders], own, "a drill's own run is over", now)

    def _end(
        self, disk: DurablePaths, run: str, reason: str, pending: int | None, now: Now
    ) -> None:
        """The event first: who is killed between the two finds it there, the other way round it would never come."""
        paths = disk.run(run)
        end = end_now(paths, run, reason, pending, now.mark)
        if not any(line.get("kind") == ENDED for line in read_lines(paths.events).records):
            self.tell(disk, run, ENDED, reason, end.record(), now)
        write_end(paths, end)

    def _intend(self, disk: DurablePaths, seen: Seen, run: RunSeen, reason: str, now: Now) -> None:
        hold = owed_hold(seen, run.name) or stopping.hold_id("end", now, self.random(2))
        text = f"run {run.name} is over: {reason}"
        intent = Ender("", self.session, AGENT, text, hold, now.mark, run.name)
        write_intent(disk.enders, intent)

    def _request(
        self, name: str, disk: DurablePaths, intent: Ender, state: State, now: Now
    ) -> State:
        """Ask the follower, unless it is at it or has just left something over; a final pass has what is left of
        its bound."""
        rested_s = elapsed_s(state.answered, now) if state.answered is not None else None
        left_over = rested_s is not None and rested_s < AGAIN_S
        if state.asked is not None or left_over:
            return state
        for_s = elapsed_s(intent.at, now) if intent.at is not None else None
        left_s = self.config.end.publish_within_s - (for_s or 0.0)
        deadline_s = PASS_S if name == PASS else max(1.0, min(FINAL_S, left_s))
        kind = SOON if name == PASS else requests.FINAL
        asked = requests.ask(disk, kind, AGENT, deadline_s, now)
        return replace(state, asked=Asked(asked, kind, now.mark, deadline_s))

    def _request_last(self, disk: DurablePaths, state: State, now: Now) -> State:
        """Once: a follower that is dead as the power goes would leave the last lines on the disk alone."""
        if state.asked is not None:
            return state
        asked = requests.ask(disk, SOON, AGENT, LAST_S, now)
        return replace(state, asked=Asked(asked, SOON, now.mark, LAST_S, last=True))

    def _beside(
        self, name: str, disk: DurablePaths, run: RunSeen, intent: Ender, reason: str
    ) -> Callable[[], Reading[str]]:
        if name == STOP:
            return partial(self._stop, disk, run.name, reason)
        if name == HOLD:
            return partial(stopping.prove_hold, (disk.enders,), intent, self.ask)
        verb = ["settle", "--by", AGENT]
        if name == FACT:
            return partial(self._child, ["fact", "put", ended_fact(run.name)], FACT_CHILD_S)
        return partial(self._child, verb, SETTLE_CHILD_S)

    def _child(self, verb: Sequence[str], within_s: float) -> Reading[str]:
        return children.done(self.ask(verb, within_s))

    def _stop(self, disk: DurablePaths, run: str, reason: str) -> Reading[str]:
        """By its own stop path. Of a complete run nothing is cut; else it is marked, as a person's stop is."""
        record = read_run(disk.run(run))
        if isinstance(record, Unreadable):
            return record
        done = self._stopped(disk, record, reason)
        if isinstance(done, Unreadable):
            return done
        if done is not None and not done.empty:
            return Unreadable("some of its processes are still there after KILL")
        return "stopped"

    def _stopped(
        self, disk: DurablePaths, record: RunRecord, reason: str
    ) -> Reading[Stopped | None]:
        steps = stop_steps(record.plan.harness)
        if reason == COMPLETE:
            return stop_run(self.members, steps, OWN_S, KILL_S)
        asked = runstop.Asked(AGENT, reason, self.session)
        return runstop.stop_marked(record, disk.run(record.name), asked, self.members, steps)
