"""The process `spoteval-boot-resume`: resident, one look a second, the first stage that is not yet true."""

import sys
from dataclasses import dataclass, field, replace

from spoteval.clock import Mark, Now, elapsed_s, read_now
from spoteval.config.guest import GuestConfig
from spoteval.config.server import ServerSettings
from spoteval.control.children import ask
from spoteval.control.eventlog import DecisionLog, tell
from spoteval.control.guest import decisions_of, serve
from spoteval.control.worker import Worker, Working
from spoteval.loop import Waiting, Waker
from spoteval.machine.cgroup import members_here
from spoteval.machine.session import this_session
from spoteval.machine.systemd import Notifier
from spoteval.paths import DurablePaths, HostPaths
from spoteval.shape import Reading, Unreadable
from spoteval_agents.boot_resume import posts
from spoteval_agents.boot_resume.decide import decide
from spoteval_agents.boot_resume.hands import Hands
from spoteval_agents.boot_resume.observe import observe
from spoteval_agents.boot_resume.seen import Plan, Policy, Seen, Server, State
from spoteval_agents.boot_resume.stages import AGENT
from spoteval_agents.boot_resume.work import Tools, post
from spoteval_agents.boot_resume.world import World

PROBE_S = 60.0  # longer than the steps of a look together
TOLD_EVERY_S = 10.0  # how often the journal hears of a stage that goes on
_LISTEN_S = 0.1  # how soon the end of slow work is noticed


@dataclass
class Agent:
    """The loop's body. Two workers: what resuming waits for, and what the store is told beside it."""

    world: World
    hands: Hands
    poster: Working
    log: DecisionLog
    state: State = field(default_factory=State)
    _begun: dict[str, tuple[Working, Mark]] = field(default_factory=dict)
    _silent: set[str] = field(default_factory=set)
    _full: str | None = None

    def cycle(self, now: Now) -> float:
        """One look and what follows from it; seconds until the next. What a disk does not take is done later.

        Where the look is worth an event, that is written and nothing else is done: what was seen is old by it, and
        to decide on it would do again what has just ended.
        """
        work = (
            self.hands.worker.busy()
        )  # before its word is taken: else it could end between, and be done twice
        said, took_s = self._taken(now)
        seen = replace(self.world.look(now, work), took_s=took_s)
        self.state, news = observe(self.state, seen, said, self.world.policy, now)
        self._note(said)
        try:
            self.hands.log(news, seen, now)
            pause_s = 0.0 if news else self._decided(seen, now)
        except OSError as error:
            self._kept(f"{error.filename}: {error.strerror}")
            return 1.0
        self._kept(None)
        return pause_s

    @property
    def working(self) -> str | None:
        """What is under way beside the loop."""
        return self.hands.worker.busy() or self.poster.busy()

    def _decided(self, seen: Seen, now: Now) -> float:
        """Decide, say so, and do it; without a disk nothing is done."""
        plan = decide(self.state, seen, self.world.policy, now)
        if seen.disk is not None:
            self.log.path = None
            self.log.write(plan.decision, now)
            return plan.next_s
        self.log.path = decisions_of(self.hands.disk, AGENT)
        self.log.write(plan.decision, now)
        self._do(plan, seen, now)
        return plan.next_s

    def _do(self, plan: Plan, seen: Seen, now: Now) -> None:
        begun = self.hands.carry_out(plan, seen, now)
        if begun is not None:
            self._begun[begun] = (self.hands.worker, now.mark)
        item = posts.due(self.state, seen, self.world.policy, now)
        if item is not None and self.poster.start(item, post(item, self.hands.tools)):
            self._begun[item] = (self.poster, now.mark)

    def _taken(self, now: Now) -> tuple[dict[str, Reading[str]], dict[str, float]]:
        """What ended work said, each once, and how long it took."""
        found = {name: worker.take(name) for name, (worker, _) in self._begun.items()}
        said = {name: word for name, word in found.items() if word is not None}
        began = {name: self._begun.pop(name)[1] for name in said}
        return said, {name: elapsed_s(mark, now) or 0.0 for name, mark in began.items()}

    def _kept(self, error: str | None) -> None:
        """A disk that takes nothing is said once, and once that it takes something again."""
        if error != self._full:
            tell(
                error or f"{self.hands.disk.root}: takes what is written again", warning=bool(error)
            )
        self._full = error

    def _note(self, said: dict[str, Reading[str]]) -> None:
        """Each repeated failure of a post once in the journal, and its recovery once."""
        for name, word in said.items():
            if isinstance(word, Unreadable) and name not in self._silent:
                tell(f"{name}: {word.why}", warning=True)
                self._silent.add(name)
            elif not isinstance(word, Unreadable) and name in self._silent:
                tell(f"{name}: works again")
                self._silent.discard(name)


def policy_of(config: GuestConfig) -> Policy:
    """What the host file says to this agent."""
    servers = map(_server, config.servers)
    return Policy(str(DurablePaths(config.disk.path).guest_hold), tuple(servers))


def _server(item: ServerSettings) -> Server:
    loads = item.kind == "ollama"  # at the first request, and not for who hangs up
    return Server(
        name=item.name,
        unit=item.unit,
        limit_s=item.ready_within_s,
        kind=item.kind,
        restarts=item.restarts,
        cache=item.compile_cache,
        weights=item.weights is not None,
        probe_s=PROBE_S + (item.ready_within_s if loads else 0.0),
    )


def build(config: GuestConfig, host: HostPaths, session: str) -> Agent:
    """The agent of this host."""
    disk, members = DurablePaths(config.disk.path), members_here()
    tools = Tools(disk, members, ask, containers=host.remove_containers)
    return Agent(
        world=World(config, host, members, session, policy_of(config)),
        hands=Hands(config, host, disk, session, Worker(), tools),
        poster=Worker(),
        log=DecisionLog(None, told_every_s=TOLD_EVERY_S),
    )


def run(config: GuestConfig, host: HostPaths) -> None:
    """Go on until TERM, which is obeyed at once whatever is under way."""
    agent = build(config, host, this_session(host.session, read_now().boot).id)
    disk, notifier = agent.hands.disk, Notifier()
    with Waker([disk.guest_hold, disk.active, host.draining]) as waker:
        notifier.ready()
        while not told_to_go(waker, agent, agent.cycle(read_now())):
            notifier.watchdog()


def told_to_go(waker: Waiting, agent: Agent, pause_s: float) -> bool:
    """Wait for the next cycle; True at a signal. Work that ends, or a file that changes, ends the wait."""
    working, left_s = agent.working, pause_s
    while True:
        wake = waker.wait(min(_LISTEN_S, left_s) if working else left_s)
        left_s -= _LISTEN_S
        if wake.reason == "signal":
            return True
        if wake.reason == "file" or not working or left_s <= 0 or agent.working != working:
            return False


def main() -> None:
    """The entry point. Exit 0 at TERM, 1 where another one runs, 2 for a wrong host file."""
    sys.exit(serve(AGENT, run))
