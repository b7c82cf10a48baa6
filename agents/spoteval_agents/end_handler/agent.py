"""The process `spoteval-end-handler`: waits until the run is over, then ends it stage by stage."""

import sys
from dataclasses import dataclass, field, replace

from spoteval.clock import Now, read_now
from spoteval.config.guest import GuestConfig
from spoteval.control import requests
from spoteval.control.busy import show_work
from spoteval.control.eventlog import DecisionLog, tell
from spoteval.control.guest import decisions_of, serve
from spoteval.control.keeping import Keeping
from spoteval.control.requests import Answer
from spoteval.control.worker import Worker
from spoteval.decision import Decision
from spoteval.event import NEEDS_YOU
from spoteval.loop import Waiting, Waker
from spoteval.machine.cgroup import members_here
from spoteval.machine.session import this_session
from spoteval.machine.systemd import Notifier
from spoteval.paths import DurablePaths, HostPaths
from spoteval.shape import Reading, Unreadable
from spoteval_agents.end_handler.act import AGAIN_S, BESIDE, Hands
from spoteval_agents.end_handler.decide import Plan, decide
from spoteval_agents.end_handler.observe import observe, of_run
from spoteval_agents.end_handler.seen import AGENT, Policy, RunSeen, Seen, State
from spoteval_agents.end_handler.world import Probes

SOON_S = 0.5


@dataclass(slots=True)
class Handler:
    """What a cycle works with, and what it remembers."""

    policy: Policy
    probes: Probes
    hands: Hands
    log: DecisionLog
    state: State = field(default_factory=State)
    keeping: Keeping = field(init=False)

    def __post_init__(self) -> None:
        self.keeping = Keeping(AGENT, self.hands.worker, self.hands.ask)

    def cycle(self, now: Now) -> float:
        """Look, decide, act once; returns the seconds until the next look."""
        disk = self.probes.disk()
        self.state = observe(self.state, self._replies(), self._answer(disk), now)
        seen = self.probes.look(disk, self.hands.worker.busy(), now)
        self.state = of_run(self.state, seen)
        self.keeping.cycle(seen.kill_switch is not None, now)
        plan = decide(seen, self.state, self.policy, now)
        if isinstance(disk, Unreadable):
            self.log.path = None
            self._logged(plan.decision, now)
            return self._pause_s(plan)
        self.log.path = decisions_of(disk, AGENT)
        self._logged(plan.decision, now)
        try:
            self._carry_out(plan, disk, seen, now)
        except OSError as error:
            # Not busy then: idle-guard ends a machine whose disk takes nothing any more.
            why = f"{error.filename}: {error.strerror}"
            if why != self.state.failed:
                tell(f"{plan.act or 'event'} failed: {why}", warning=True)
            self.state = replace(self.state, failed=why)
            return AGAIN_S
        return self._pause_s(plan)

    def _carry_out(self, plan: Plan, disk: DurablePaths, seen: Seen, now: Now) -> None:
        if isinstance(seen.run, RunSeen):
            self.hands.count_up(disk, seen.run, now)
        if plan.needs_you is not None and isinstance(seen.run, RunSeen):
            self.hands.tell(disk, seen.run.name, NEEDS_YOU, plan.needs_you, {}, now)
        if plan.act is not None:
            self.state = self.hands.act(plan.act, disk, seen, self.state, now)
            show_work(disk, AGENT, self.probes.session)

    def _replies(self) -> dict[str, Reading[str]]:
        said = {name: self.hands.worker.take(name) for name in BESIDE}
        return {name: reply for name, reply in said.items() if reply is not None}

    def _answer(self, disk: Reading[DurablePaths]) -> Reading[Answer | None]:
        if self.state.asked is None or isinstance(disk, Unreadable):
            return None
        return requests.answer(disk, self.state.asked.id)

    def _logged(self, decision: Decision, now: Now) -> None:
        try:
            self.log.write(decision, now)
        except OSError as error:
            tell(f"line not kept: {error.strerror}", warning=True)

    def _pause_s(self, plan: Plan) -> float:
        if plan.act is None:
            return min(self.policy.every_s, AGAIN_S)
        return SOON_S if self.state.failed is None else AGAIN_S


def main() -> None:
    """The entry point. Exit 0 at TERM, 1 where another one runs, 2 for a wrong host file."""
    sys.exit(serve(AGENT, run))


def run(config: GuestConfig, host: HostPaths) -> None:
    """Look until the process is told to end."""
    session = this_session(host.session, read_now().boot).id
    members = members_here()
    handler = Handler(
        policy=policy_of(config),
        probes=Probes(config, session, members),
        hands=Hands(config, host, session, members, Worker()),
        log=DecisionLog(None),
    )
    notifier = Notifier()
    with Waker() as waker:
        notifier.ready()
        loop(handler, waker, notifier)


def policy_of(config: GuestConfig) -> Policy:
    """What the host file says about the end."""
    return Policy(
        power_off=config.end.on_complete == "power-off",
        publish_within_s=config.end.publish_within_s,
        every_s=config.idle.every_s,
        kill_switch=str(DurablePaths(config.disk.path).kill_switch),
    )


def loop(handler: Handler, waker: Waiting, notifier: Notifier) -> None:
    """Cycle after cycle, until a signal."""
    while True:
        notifier.watchdog()
        if waker.wait(handler.cycle(read_now())).reason == "signal":
            return
