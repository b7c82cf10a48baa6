"""What an interruption would interrupt: the active run of a disk that has proved itself."""

from contextlib import suppress
from dataclasses import dataclass

from spoteval.config.guest import GuestConfig
from spoteval.control.containers import filters_of
from spoteval.control.disk import prove
from spoteval.control.interrupting import prepare
from spoteval.control.runfiles import active_run, interruptions, read_run
from spoteval.interruption import Interruption
from spoteval.paths import DurablePaths, RunPaths
from spoteval.run import RunRecord
from spoteval.shape import Reading, Unreadable
from spoteval_agents.shutdown_hook.decide import NOTICE, SHUTDOWN, Current, State


@dataclass(frozen=True, slots=True)
class Target:
    """The active run that has not ended, and where its files lie."""

    durable: DurablePaths
    run: str
    harness: str
    containers: tuple[str, ...] = ()
    """Docker filters of what is part of it."""
    rehearsal: bool = False
    """It is a drill's own run."""

    @property
    def paths(self) -> RunPaths:
        """The run's own directory."""
        return self.durable.run(self.run)


def resolve(config: GuestConfig) -> Reading[Target | None]:
    """The target now; None where no run is active, or it has its end. Takes the space for its next marker."""
    proof = prove(config)
    if isinstance(proof, Unreadable):
        return proof
    name = active_run(proof.paths)
    if not isinstance(name, str):
        return name
    paths = proof.paths.run(name)
    if paths.end.exists():
        return None
    record = read_run(paths)
    harness = record.plan.harness if isinstance(record, RunRecord) else _configured(config)
    with suppress(OSError):  # a full disk: the marker is then tried without its space
        prepare(proof.paths, paths)
    drilled = isinstance(record, RunRecord) and record.rehearsal
    return Target(proof.paths, name, harness, _containers(record), drilled)


def unfinished(target: Target, session: str) -> Interruption | None:
    """The newest interruption that a hook of this session opened and did not close: it died over it."""
    own = _own(target, session)
    return own[-1] if own and own[-1].closed is None else None


def recalled(target: Target, session: str, draining: bool) -> State:
    """What a hook that was started again in one session knows of the notices it has met.

    Closed and still draining: the machine's end is waited for. Closed and not draining: it came to nothing.
    """
    own = [item for item in _own(target, session) if item.opened.notice is not None]
    met = frozenset(item.opened.notice for item in own if item.opened.notice is not None)
    if not own or (own[-1].closed is not None and not draining):
        return State(None, met)
    opened = own[-1].opened
    done = own[-1].closed is not None
    current = Current(opened.at, opened.window_s or 0.0, opened.notice, opened.id, done)
    return State(current, met - {opened.notice})


def _own(target: Target, session: str) -> list[Interruption]:
    """What hooks of this session opened, oldest first."""
    found = interruptions(target.paths)
    items = [found[key] for key in sorted(found)]
    return [
        item
        for item in items
        if item.opened.session == session and item.opened.source in (NOTICE, SHUTDOWN)
    ]


def _containers(record: Reading[RunRecord]) -> tuple[str, ...]:
    """Of a run whose record cannot be read nobody knows them."""
    try:
        return filters_of(record) if isinstance(record, RunRecord) else ()
    except KeyError:
        return ()


def _configured(config: GuestConfig) -> str:
    return config.run.harness if config.run is not None else ""
