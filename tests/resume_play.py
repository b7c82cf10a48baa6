"""boot-resume's cycles in a world of real files, with its children and the service manager played by a few lines."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

from guest_world import NOW, RECORD, Guest, guest
from spoteval.clock import Now
from spoteval.control.children import Reply
from spoteval.control.eventlog import DecisionLog, log_event
from spoteval.control.runcontrol import RUN_UNIT, Stopped
from spoteval.control.settling import settle_run
from spoteval.control.worker import Work
from spoteval.decision import Decision
from spoteval.event import Event
from spoteval.files import read_lines, write_new_record
from spoteval.harness.contract import Survey
from spoteval.line import parse
from spoteval.loop import Wake
from spoteval.shape import Reading, Table, Unreadable
from spoteval_agents.boot_resume.agent import Agent, policy_of
from spoteval_agents.boot_resume.hands import Hands
from spoteval_agents.boot_resume.stages import AGENT
from spoteval_agents.boot_resume.work import Tools
from spoteval_agents.boot_resume.world import World

SERVERS = (
    '[[server]]\nunit = "vllm.service"\nurl = "http://127.0.0.1:1"\nmodel = "m"\n'
    'ready_within = "60s"\n'
)


class AtOnce:
    """A worker whose work is done when `start` returns."""

    def __init__(self) -> None:
        self._said: dict[str, Reading[str]] = {}

    def start(self, name: str, work: Work) -> bool:
        """Do it."""
        self._said[name] = work()
        return True

    def busy(self) -> str | None:
        """Never."""
        return None

    def take(self, name: str) -> Reading[str] | None:
        """What it said, once."""
        return self._said.pop(name, None)


class Heard(DecisionLog):
    """The decision log, whose lines are kept for the test too."""

    def __init__(self, lines: list[dict[str, str]]) -> None:
        super().__init__(None)
        self._lines = lines

    def write(self, decision: Decision, now: Now) -> str:
        """Log one decision."""
        line = super().write(decision, now)
        self._lines.append(parse(line))
        return line


@dataclass
class Play:
    """One machine: its guest on disk, what its children answer, what its units run."""

    made: Guest
    session: str = "s1"
    survey: Survey = field(default_factory=Survey)
    pids: dict[str, frozenset[int]] = field(default_factory=dict)
    answers: dict[str, Callable[[list[str]], Reading[Reply]]] = field(default_factory=dict)
    asked: list[list[str]] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=lambda: {"gpu": "H200", "gpus": "8"})
    starts: int = 0
    stops: int = 0
    stop_fails: bool = False
    blind: bool = False
    """Whether nobody can tell who belongs to the model server's unit."""
    now: Now = NOW
    lines: list[dict[str, str]] = field(default_factory=list)

    def members(self, unit: str) -> Reading[frozenset[int]]:
        """The unit's processes, as the play has them."""
        if self.blind and unit == "vllm.service":
            return Unreadable("cgroup: gone")
        return self.pids.get(unit, frozenset())

    def ask(self, verb: list[str], _: float) -> Reading[Reply]:
        """One child."""
        self.asked.append(verb)
        if (answer := self.answers.get(" ".join(verb[:2]))) is not None:
            return answer(verb)
        match verb[0]:
            case "fact":
                return self._epoch() if verb[1] == "epoch" else said(key=verb[2])
            case "server":
                return probed(ready=True, saw="all well")
            case "settle":
                return self._settle()
            case "run":
                return said(values=dict(self.facts), unknown={})
            case _:
                return said(id="x", strength="proved")

    def stop(self, *_: object) -> Reading[Stopped]:
        """The run's own stop path: it is gone after its first step."""
        if self.stop_fails:
            return Unreadable("cgroup: gone")
        self.stops += 1
        self.pids.pop(RUN_UNIT, None)
        return Stopped(("SIGTERM",), 0, empty=True)

    def agent(self) -> Agent:
        """A fresh process of the agent."""
        config, paths, disk = self.made.config, self.made.paths, self.made.disk
        world = World(config, paths, self, self.session, policy_of(config))
        hands = Hands(
            config,
            paths,
            disk,
            self.session,
            AtOnce(),
            Tools(disk, self, self.ask, self.stop, paths.remove_containers),
        )
        return Agent(world, hands, AtOnce(), Heard(self.lines))

    def run(self, agent: Agent, until: str, cycles: int = 60) -> list[str]:
        """Cycles until a decision's stage is `until`; the stages on the way, each once."""
        stages: list[str] = []
        for _ in range(cycles):
            before = len(self.lines)
            self.cycle(agent)
            if len(self.lines) == before:  # an event was written, and nothing decided
                continue
            stage = self.lines[-1]["stage"]
            stages += [] if stages and stages[-1] == stage else [stage]
            if stage == until:
                return stages
        raise AssertionError(f"{until} is not reached: {stages}")

    def cycle(self, agent: Agent) -> None:
        """One cycle, then what the service manager does, then its pause."""
        pause_s = agent.cycle(self.now)
        if self.made.paths.start_run.exists():
            self.made.paths.start_run.unlink()
            self.starts += 1
            self.pids[RUN_UNIT] = frozenset([4_000_000 + self.starts])
        self.pass_s(max(0.01, pause_s))

    def pass_s(self, seconds: float) -> None:
        """Time goes by."""
        wall = self.now.wall + timedelta(seconds=seconds)
        self.now = replace(self.now, wall=wall, mono_s=self.now.mono_s + seconds)

    def kinds(self) -> list[str]:
        """The kinds of the run's events, in order."""
        return [str(record["kind"]) for record in read_lines(self.made.run.events).records]

    def reboot(self, session: str) -> None:
        """The machine goes without a word, and comes up again."""
        self.session, self.pids = session, {}
        self.pass_s(30.0)

    def _epoch(self) -> Reading[Reply]:
        epochs = self.made.run.epochs
        number = 1 + len(list(epochs.glob("*.json")))
        write_new_record(epochs / f"{number}.json", {"epoch": number, "session": self.session})
        return said(epoch=number)

    def _settle(self) -> Reading[Reply]:
        done = settle_run(RECORD, self.made.run, self.survey, self.session, self.now)
        detail = done.record()
        event = Event(self.now.wall, "settled", AGENT, "gpu-1", session=self.session, detail=detail)
        log_event(self.made.run.events, event)
        return Reply(Table(detail))


class Waits:
    """A waker that says what a test wants, and counts."""

    def __init__(self, *wakes: Wake) -> None:
        self.wakes = list(wakes)
        self.waited: list[float] = []

    def wait(self, timeout_s: float) -> Wake:
        """The next answer."""
        self.waited.append(timeout_s)
        return self.wakes.pop(0) if self.wakes else Wake("time")


def play(root: Path, servers: str = SERVERS) -> Play:
    """A guest with an active run, its server's unit alive."""
    made = guest(root, servers)
    made.activate()
    return Play(made, pids={"vllm.service": frozenset([3_999_999])})


def said(**body: object) -> Reply:
    """A child's answer."""
    return Reply(Table(body))


def probed(**changes: object) -> Reply:
    """The answer of one look at a server."""
    plain: dict[str, object] = {"ready": False, "refused": False, "saw": "connection refused"}
    rest = dict.fromkeys(("stage", "version", "restarts", "gave_up"))
    return said(**{**plain, **rest, **changes})


def away(_: list[str]) -> Reading[Reply]:
    """The store does not answer."""
    return Unreadable("timeout:20s")
