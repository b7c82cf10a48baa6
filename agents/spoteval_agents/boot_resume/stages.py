"""Which stages of this life are behind us, read from the run's own events. Pure."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from spoteval.clock import Mark
from spoteval.control.environment import ENVIRONMENT
from spoteval.control.markers import RUN_ASKED, RUN_STARTED
from spoteval.event import NEEDS_YOU, Event, event_from
from spoteval_agents.boot_resume.stages_server import (
    HEALTHY,
    HELD,
    Servers,
    mark_in,
    servers_after,
)

AGENT = "boot-resume"
BOOTED, RESUMED, SETTLED = "booted", "resume-began", "settled"
GATE, PREFLIGHT = "server-start", "preflight"
RUN_GONE, FIRST_EPISODE = "run-gone", "first-episode"
MARK = "mark"
"""In `detail`: when it was on the monotonic clock, which the wall clock of the event may not tell."""


@dataclass(frozen=True, slots=True)
class Stages:
    """What this life of the machine has behind it, for one run."""

    booted: bool = False
    resumed: bool = False
    settled: bool = False
    """Since the run's processes last ended; `unfinished` is what that settlement counted."""
    unfinished: int | None = None
    gate: Mark | None = None
    """When waiting for the servers began."""
    healthy: bool = False
    environment: bool = False
    """Whether this gate's environment is on record."""
    preflight: bool = False
    asked: Mark | None = None
    """When the run was last asked to start; None once that start is over."""
    started: Mark | None = None
    """When its processes were first seen; None once they are gone."""
    gone: Mark | None = None
    """When its processes were last seen to have gone."""
    ours: bool = False
    """Whether this life started the run at all: else its processes are strangers."""
    fails: int = 0
    """How often it ended without being complete, since a person last looked."""
    first_episode: bool = False
    servers: Servers = field(default_factory=Servers)
    told: frozenset[str] = frozenset()
    """The gist of what a person was told, since one last looked or the run last started."""


def gist(text: str) -> str:
    """A report without its figures: one that only counts on, by tries or seconds, is the same and told once."""
    return " ".join(word for word in text.split() if not any(map(str.isdigit, word)))


def stages_of(records: Iterable[Mapping[str, object]], session: str) -> Stages:
    """Fold this session's events of ours, in the order of the file."""
    stages = Stages()
    for record in records:
        if record.get("session") != session or record.get("source") != AGENT:
            continue
        event = event_from(record)
        if isinstance(event, Event):
            step = _STEPS.get(event.kind)
            stages = stages if step is None else step(stages, event)
            stages = replace(stages, servers=servers_after(stages.servers, event))
    return stages


def _booted(stages: Stages, _: Event) -> Stages:
    return replace(stages, booted=True)


def _resumed(stages: Stages, _: Event) -> Stages:
    return replace(stages, resumed=True)


def _held(stages: Stages, _: Event) -> Stages:
    """A person has a hand in it: what waited for one is looked at anew, and failures are forgiven."""
    return replace(
        stages,
        resumed=False,
        gate=None,
        healthy=False,
        environment=False,
        preflight=False,
        fails=0,
        told=frozenset[str](),
    )


def _settled(stages: Stages, event: Event) -> Stages:
    left = event.detail.get("unfinished")
    return replace(stages, settled=True, unfinished=left if isinstance(left, int) else None)


def _gate(stages: Stages, event: Event) -> Stages:
    return replace(stages, gate=mark_in(event))


def _healthy(stages: Stages, _: Event) -> Stages:
    return replace(stages, healthy=True)


def _environment(stages: Stages, _: Event) -> Stages:
    return replace(stages, environment=True)


def _preflight(stages: Stages, _: Event) -> Stages:
    return replace(stages, preflight=True)


def _asked(stages: Stages, event: Event) -> Stages:
    return replace(stages, asked=mark_in(event), started=None, ours=True)


def _started(stages: Stages, event: Event) -> Stages:
    """What a person was told kept the run from this, and is over: should it come again, it is told again."""
    return replace(stages, started=mark_in(event), told=frozenset[str]())


def _gone(stages: Stages, event: Event) -> Stages:
    """The way to the next start begins again at the settlement; a run that somebody ended has not failed."""
    failed = 0 if event.detail.get("wanted") is True else 1
    return replace(
        stages,
        asked=None,
        started=None,
        gone=mark_in(event),
        settled=False,
        gate=None,
        healthy=False,
        environment=False,
        preflight=False,
        fails=stages.fails + failed,
    )


def _first_episode(stages: Stages, _: Event) -> Stages:
    return replace(stages, first_episode=True)


def _told(stages: Stages, event: Event) -> Stages:
    return replace(stages, told=stages.told | {gist(event.reason or "")})


_STEPS: Mapping[str, Callable[[Stages, Event], Stages]] = {
    BOOTED: _booted,
    RESUMED: _resumed,
    HELD: _held,
    SETTLED: _settled,
    GATE: _gate,
    HEALTHY: _healthy,
    ENVIRONMENT: _environment,
    PREFLIGHT: _preflight,
    RUN_ASKED: _asked,
    RUN_STARTED: _started,
    RUN_GONE: _gone,
    FIRST_EPISODE: _first_episode,
    NEEDS_YOU: _told,
}
