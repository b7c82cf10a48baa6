"""The process `spoteval-idle-guard`: looks, decides, and ends a machine that nobody uses."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from spoteval.clock import Now, read_now
from spoteval.config.guest import GuestConfig
from spoteval.control import children, stopping
from spoteval.control.children import Ask
from spoteval.control.enders import Ender
from spoteval.control.eventlog import DecisionLog, log_event, tell
from spoteval.control.guest import decisions_of, events_of, serve
from spoteval.control.keeping import Keeping
from spoteval.control.poweroff import PowerOff
from spoteval.control.worker import Worker, Working
from spoteval.decision import Decision
from spoteval.event import NEEDS_YOU, Event
from spoteval.loop import Waiting, Waker
from spoteval.machine.cgroup import members_here
from spoteval.machine.session import this_session
from spoteval.machine.systemd import Notifier
from spoteval.paths import DurablePaths, HostPaths
from spoteval.shape import Reading, Unreadable
from spoteval_agents.idle_guard.decide import SOON_S, decide, observe, own_intent
from spoteval_agents.idle_guard.eyes import AGAIN_S, Eyes, eyes_of
from spoteval_agents.idle_guard.reports import reports
from spoteval_agents.idle_guard.samples import OVER_S
from spoteval_agents.idle_guard.seen import AGENT, Policy, Seen, State
from spoteval_agents.idle_guard.uses import found
from spoteval_agents.idle_guard.world import Probes

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
    eyes: Eyes
    log: DecisionLog
    prove: Prove = stopping.prove_hold
    random: Callable[[int], bytes] = os.urandom
    ask: Ask = children.ask
    state: State = field(default_factory=State)
    keeping: Keeping = field(init=False)
    failed: str | None = field(default=None, init=False)
    power: PowerOff = field(init=False)
    _told: set[str] = field(default_factory=set, init=False)
    _reported: set[str] = field(default_factory=set, init=False)
    _unread: frozenset[str] = field(default=frozenset(), init=False)
    _full: str | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.keeping = Keeping(AGENT, self.worker, self.ask)
        self.power = PowerOff(self.config.provider, self.host.poweroff)

    def cycle(self, now: Now) -> float:
        """Look, decide, act once; returns the seconds until the next look."""
        said = self.worker.take(HOLD)
        if said is not None:
            self.failed = said.why if isinstance(said, Unreadable) else None
        disk = self.probes.disk()
        seen = self._look(disk, now)
        self.keeping.cycle(seen.keep_alive is not None, now)
        self.state = observe(self.state, seen, self.policy, now)
        decision = decide(self.state, seen, self.policy, now)
        self.log.path = None if isinstance(disk, Unreadable) else decisions_of(disk, AGENT)
        self._logged(decision, now)
        self._warn(seen)
        self._report(disk, seen, now)
        try:
            self._act(decision, disk, own_intent(seen), now)
        except OSError as error:
            self._kept(f"{decision.word} not written: {error.strerror}")
            return RETRY_S
        self._kept(None)
        return self._pause_s(decision)

    def _kept(self, error: str | None) -> None:
        """A disk that takes nothing is said once, and once that it takes something again."""
        if error != self._full:
            tell(error or "what is decided is written again", warning=bool(error))
        self._full = error

    def _look(self, disk: Reading[DurablePaths], now: Now) -> Seen:
        """The cheap probes, the newest word of those that block, and the dearest where nothing else is in use."""
        seen = self.probes.look(disk, now, self.worker.busy(), self.failed)
        every_s = self.policy.every_s if own_intent(seen) is None else AGAIN_S
        seen = self.eyes.look(seen, every_s, now)
        return seen if found(seen, self.policy) else replace(seen, logs=self.probes.logs(disk))

    def _warn(self, seen: Seen) -> None:
        """Each probe that cannot be read once in the journal, and once that it can be again."""
        blind = {use.probe: use.text for use in found(seen, self.policy) if use.blind}
        for probe in blind.keys() - self._unread:
            tell(f"{blind[probe]}; counted as use", warning=True)
        for probe in self._unread - blind.keys():
            tell(f"{probe} can be read again")
        self._unread = frozenset(blind)

    def _report(self, disk: Reading[DurablePaths], seen: Seen, now: Now) -> None:
        """Each report once, and again when it comes back after it was over."""
        current = {one.name: one.text for one in reports(self.state, seen, self.policy, now)}
        for name in current.keys() - self._reported:
            self._keep(disk, NEEDS_YOU, current[name], {}, now)
        self._reported = set(current)

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
            self.power.ask(f"{AGENT}: {intent.reason}")
        elif decision.word == "gave-up":
            self._event(disk, NEEDS_YOU, decision.why, "", now)

    def _event(
        self, disk: Reading[DurablePaths], kind: str, reason: str | None, hold: str, now: Now
    ) -> None:
        """Once each."""
        if f"{kind} {hold}" not in self._told:
            self._told.add(f"{kind} {hold}")
            self._keep(disk, kind, reason, {"hold": hold}, now)

    def _keep(
        self,
        disk: Reading[DurablePaths],
        kind: str,
        reason: str | None,
        detail: dict[str, object],
        now: Now,
    ) -> None:
        """A full or absent disk costs the event, not the end of the machine."""
        if isinstance(disk, Unreadable):
            tell(f"{kind}: {reason} (no disk: only the journal has it)", warning=True)
            return
        event = Event(
            at=now.wall,
            kind=kind,
            source=AGENT,
            instance=self.config.instance,
            session=self.probes.session,
            reason=reason,
            detail=detail,
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
            near = "hold" in decision.pairs or self.eyes.worker.busy() is not None
            return SOON_S if near else min(OVER_S, self.policy.every_s)
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
    guard = Guard(
        config=config,
        host=host,
        policy=policy_of(config),
        probes=Probes(config, host, session, members_here()),
        worker=Worker(),
        eyes=eyes_of(config, Worker()),
        log=DecisionLog(None),
    )
    notifier = Notifier()
    with Waker() as waker:
        notifier.ready()
        loop(guard, waker, notifier)


def policy_of(config: GuestConfig) -> Policy:
    """What the host file says about idleness."""
    idle = config.idle
    return Policy(
        after_s=idle.after_s,
        cpu_above=idle.cpu_above,
        every_s=idle.every_s,
        gpu_above=idle.gpu_above,
        io_above=idle.io_above_bytes_s,
        keep_alive_warn_s=idle.keep_alive_warn_s,
    )


def loop(guard: Guard, waker: Waiting, notifier: Notifier) -> None:
    """Cycle after cycle, until a signal; never longer apart than the watchdog allows."""
    while True:
        notifier.watchdog()
        pause_s = guard.cycle(read_now())
        if waker.wait(min(pause_s, notifier.watchdog_s or pause_s)).reason == "signal":
            return
