"""The process `spoteval-publication-follower`."""

import math
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import spoteval
from spoteval.clock import Now, monotonic_s, read_now
from spoteval.config.guest import GuestConfig, read_guest
from spoteval.config.shared import ConfigError
from spoteval.control.guest import warn_of
from spoteval.control.stores import store_from
from spoteval.decision import Decision
from spoteval.files import Taken, held
from spoteval.harness.parts import PartReader, members
from spoteval.harness.registry import adapter
from spoteval.loop import Waiting, Waker
from spoteval.machine.session import this_session
from spoteval.machine.systemd import Notifier
from spoteval.paths import DurablePaths, HostPaths, host_paths
from spoteval.run import HARNESSES
from spoteval.store.pace import Pace
from spoteval_agents.publication_follower.auditing import audit
from spoteval_agents.publication_follower.cycle import cycle, last_cycle
from spoteval_agents.publication_follower.decide import nothing
from spoteval_agents.publication_follower.job import World
from spoteval_agents.publication_follower.memory import Memory
from spoteval_agents.publication_follower.screen import screen_of

NAME = "publication-follower"


def main() -> None:
    """The entry point. Exit 0 on TERM, 1 where another follower runs, 2 for a wrong host file."""
    if "--version" in sys.argv[1:]:
        sys.stdout.write(f"spoteval-{NAME} {spoteval.__version__}\n")
        return
    paths = host_paths()
    try:
        config = read_guest(paths.config, NAME)
        warn_of(config)
        with (
            held(paths.run / f"{NAME}.lock"),
            Waker((DurablePaths(config.disk.path).requests,)) as waker,
        ):
            memory, notifier = Memory(), Notifier()
            alive = _seldom(notifier.watchdog, monotonic_s)
            world = world_of(config, paths, read_now, _interrupted(waker, memory), alive)
            notifier.ready()
            run(world, memory, waker, notifier)
    except ConfigError as error:
        _fail(2, str(error))
    except Taken as error:
        _fail(1, str(error))
    except OSError as error:
        _fail(1, f"{error.filename}: {error.strerror}")


def world_of(
    config: GuestConfig,
    paths: HostPaths,
    clock: Callable[[], Now],
    interrupted: Callable[[], bool],
    alive: Callable[[], None] = lambda: None,
) -> World:
    """The real world. All adapters are loaded here, since nothing is once the service is ready."""
    for harness in HARNESSES:
        with suppress(
            ImportError
        ):  # an extra that is not installed is said by each pass of such a run
            adapter(harness)
    session = this_session(paths.session, clock().boot).id
    store = store_from(config.store, paths.credentials)
    screen = partial(screen_of, config, credentials=paths.credentials, members=members)
    limit = config.bandwidth_limit_bytes_s
    return World(
        config,
        store,
        session,
        clock,
        adapter,
        PartReader().read,
        interrupted,
        screen,
        Pace(limit) if limit else None,
        alive,
    )


def run(world: World, memory: Memory, waiting: Waiting, notifier: Notifier) -> None:
    """Cycles until a signal comes; then, at once and within seconds, what the others wrote while they stopped."""
    longest_s = notifier.watchdog_s if notifier.watchdog_s is not None else math.inf
    while not memory.stopping:
        memory.woken = False
        guarded(cycle, world, memory)
        notifier.watchdog()
        if not (memory.stopping or memory.woken):
            guarded(audit, world, memory)
        if not (memory.stopping or memory.woken):
            left_s = memory.due_s - world.clock().mono_s
            wake = waiting.wait(min(longest_s, max(0.0, left_s)))
            memory.stopping = wake.reason == "signal"
    notifier.stopping()
    guarded(last_cycle, world, memory)


def guarded(act: Callable[[World, Memory], None], world: World, memory: Memory) -> None:
    """A cycle whose own files cannot be read or written is said, and tried again when the next one is due."""
    try:
        act(world, memory)
    except OSError as error:
        now = world.clock()
        memory.due_s = now.mono_s + world.config.publish_every_s
        memory.log.path = None  # to the journal alone: the disk takes nothing
        memory.say(_unsaved(error), now)


def _unsaved(error: OSError) -> Decision:
    return nothing("failed", f"{error.filename}: {error.strerror}")


def _interrupted(waiting: Waiting, memory: Memory) -> Callable[[], bool]:
    """Looks up between two works of a slice; what it sees is remembered for the loop, to which it comes only once."""

    def interrupted() -> bool:
        reason = waiting.wait(0.0).reason
        memory.stopping = memory.stopping or reason == "signal"
        memory.woken = memory.woken or reason == "file"
        return memory.stopping

    return interrupted


def _seldom(act: Callable[[], None], clock: Callable[[], float]) -> Callable[[], None]:
    """The same, at most once a second: a pass of thousands of puts is no reason to keep PID 1 busy."""
    last_s = -math.inf

    def seldom() -> None:
        nonlocal last_s
        if clock() - last_s >= 1.0:
            last_s = clock()
            act()

    return seldom


def _fail(code: int, text: str) -> None:
    sys.stderr.write(f"spoteval-{NAME}: {text}\n")
    raise SystemExit(code)
