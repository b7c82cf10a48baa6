"""The process `spoteval-idle-guard`: looks, decides, and ends a machine that nobody uses."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from spoteval.clock import Now, read_now
from spoteval.config.guest import GuestConfig
from spoteval.control import children, stopping
from spoteval.control.children import Ask
from spoteval.control.enders import Ender
from spoteval.control.eventlog import DecisionLog, log_event, tell
from spoteval.control.guest import decisions_of, events_of, serve
from spoteval.control.keeping import Keeping
from spoteval.control.worker import Worker, Working
from spoteval.decision import Decision
from spoteval.event import NEEDS_YOU, Event
from spoteval.files import touch
from spoteval.loop import Waiting, Waker
from spoteval.machine.cgroup import members_here
from spoteval.machine.session import this_session
from spoteval.machine.systemd import Notifier
from spoteval.paths import DurablePaths, HostPaths
from spoteval.shape import Reading, Unreadable
from spoteval_agents.idle_guard.decide import (
    AGENT,
    SOON_S,
    Policy,
    State,
    decide,
    observe,
    own_intent,
)
from spoteval_agents.idle_guard.world import CPU_OVER_S, Probes

HOLD, RETRY_S = "hold", 5.0
Prove = Callable[[tuple[Path, ...], Ender], Reading[str]]


@dataclass(slots=True)
class Guard:
    """What a cycle works with, and what it remembers."""

    config: GuestConfig
    host: HostPaths
    policy: Policy
    probes: Probes
    worker: Working
    log: DecisionLog
    prove: Prove = stopping.prove_hold
    random: Callable[[int], bytes] = os.urandom
    ask: Ask = children.ask
    state: State = field(default_factory=State)
    keeping: Keeping = field(init=False)
    failed: str | None = field(default=None, init=False)
    _told: set[str] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        self.keeping = Keeping(AGENT, self.worker, self.ask)

    def cycle(self, now: Now) -> float:
        """Look, decide, act once; returns the seconds until the next look."""
        said = self.worker.take(HOLD)
        if said is not None:
            self.failed = said.why if isinstance(said, Unreadable) else None
        disk = self.probes.disk()
        seen = self.probes.look(disk, now, self.worker.busy(), self.failed)
        self.keeping.cycle(seen.keep_alive is not None, now)
        self.state = observe(self.state, seen, self.policy, now)
        decision = decide(self.state, seen, self.policy, now)
        self.log.path = None if isinstance(disk, Unreadable) else decisions_of(disk, AGENT)
        self._logged(decision, now)
        self._act(decision, disk, own_intent(seen), now)
        return self._pause_s(decision)

    def _act(
        self, decision: Decision, disk: Reading[DurablePaths], intent: Ender | None, now: Now
    ) -> None:
        places = self.probes.places(disk)
        if decision.word == "intent":
            idle = f"idle for {decision.pairs['idle_s']} s"
            fresh = Ender("", self.probes.session, AGENT, idle, self._hold_id(now), now.mark)
            stopping.write_intent(places, fresh)
            self._event(disk, "idle-intent", idle, fresh.hold_id, now)
        elif decision.word == "hold" and intent is not None:
            held = intent
            self.worker.start(HOLD, lambda: self.prove(places, held))
        elif decision.word == "withdraw" and intent is not None:
            stopping.withdraw(places, intent, str(decision.pairs["because"]), now)
            if intent.proved:
                why = f"in use again while the hold {intent.hold_id} stands: {decision.why}"
                self._event(disk, NEEDS_YOU, why, intent.hold_id, now)
        elif decision.word == "stop" and intent is not None:
            self._event(disk, "idle-stop", decision.why, intent.hold_id, now)
            touch(self.host.poweroff, f"{AGENT}: {intent.reason}")
        elif decision.word == "gave-up":
            self._event(disk, NEEDS_YOU, decision.why, "", now)

    def _event(
        self, disk: Reading[DurablePaths], kind: str, reason: str | None, hold: str, now: Now
    ) -> None:
        """Once each; a full or absent disk costs the event, not the end of the machine."""
        if isinstance(disk, Unreadable) or f"{kind} {hold}" in self._told:
            return
        self._told.add(f"{kind} {hold}")
        event = Event(
            at=now.wall,
            kind=kind,
            source=AGENT,
            instance=self.config.instance,
            session=self.probes.session,
            reason=reason,
            detail={"hold": hold},
        )
        try:
            log_event(events_of(disk), event)
        except OSError as error:
            tell(f"event {kind} not kept: {error.strerror}", warning=True)

    def _logged(self, decision: Decision, now: Now) -> None:
        try:
            self.log.write(decision, now)
        except OSError as error:
            tell(f"line not kept: {error.strerror}", warning=True)

    def _hold_id(self, now: Now) -> str:
        return stopping.hold_id("idle", now, self.random(2))

    def _pause_s(self, decision: Decision) -> float:
        if decision.word in ("intent", "withdraw"):
            return 0.0
        if decision.word == "look":
            return min(CPU_OVER_S, self.policy.every_s)
        if decision.word == HOLD:
            return SOON_S if self.failed is None else RETRY_S
        if decision.word != "idle":
            return self.policy.every_s
        left_s = float(str(decision.pairs["after_s"])) - float(str(decision.pairs["idle_s"]))
        return min(self.policy.every_s, max(SOON_S, left_s))


def main() -> None:
    """The entry point. Exit 0 at TERM, 1 where another guard runs, 2 for a wrong host file."""
    sys.exit(serve(AGENT, run))


def run(config: GuestConfig, host: HostPaths) -> None:
    """Look until the process is told to end."""
    session = this_session(host.session, read_now().boot).id
    idle = config.idle
    guard = Guard(
        config=config,
        host=host,
        policy=Policy(idle.after_s, idle.cpu_above, idle.every_s),
        probes=Probes(config, host, session, members_here()),
        worker=Worker(),
        log=DecisionLog(None),
    )
    notifier = Notifier()
    with Waker() as waker:
        notifier.ready()
        loop(guard, waker, notifier)


def loop(guard: Guard, waker: Waiting, notifier: Notifier) -> None:
    """Cycle after cycle, until a signal; never longer apart than the watchdog allows."""
    while True:
        notifier.watchdog()
        pause_s = guard.cycle(read_now())
        if waker.wait(min(pause_s, notifier.watchdog_s or pause_s)).reason == "signal":
            return
