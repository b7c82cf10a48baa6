"""The process `spoteval-restarter`: its instances, each at its own pace, for ever."""

import math
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import spoteval
from spoteval.clock import Now, read_now
from spoteval.config.restarter import LOCAL, InstanceSettings, RestarterConfig, read_restarter
from spoteval.config.shared import ConfigError
from spoteval.control.eventlog import DecisionLog, tell
from spoteval.control.owner import identity
from spoteval.control.providers import shared_of
from spoteval.control.stores import store_from
from spoteval.files import Taken, held
from spoteval.loop import LOOK_EVERY_S, Waiting, Waker
from spoteval.machine.systemd import Notifier
from spoteval.paths import HostPaths, InstancePaths, host_paths
from spoteval.provider.contract import Provider
from spoteval.provider.open import open_provider
from spoteval.provider.shared import Shared
from spoteval.shape import Reading, ShapeError, Unreadable
from spoteval_agents.restarter.book import Book
from spoteval_agents.restarter.crew import Alone, Crew, Threads
from spoteval_agents.restarter.policy import Policy
from spoteval_agents.restarter.served import Served
from spoteval_agents.restarter.strays import Strays
from spoteval_agents.restarter.world import World

WEDGED_S = 600.0
"""A look that takes longer than all its deadlines together: then systemd is told nothing more, and restarts us."""


def main() -> None:
    """The entry point. Exit 0 on TERM, 1 where another restarter runs, 2 for a wrong host file."""
    if "--version" in sys.argv[1:]:
        sys.stdout.write(f"spoteval-restarter {spoteval.__version__}\n")
        return
    paths = host_paths()
    try:
        config = read_restarter(paths.config, "restarter")
        for warning in config.warnings:
            tell(warning, warning=True)
        with ExitStack() as stack:
            stack.enter_context(held(paths.state / "restarter.lock"))
            served = served_by(config, paths, read_now)
            waker = stack.enter_context(Waker(watched(served)))
            notifier = Notifier()
            crew = Threads(served)
            notifier.ready(f"{len(served)} instances")
            run(served, waker, read_now, notifier, crew)
            _leave(served)
    except ConfigError as error:
        _fail(2, str(error))
    except Taken as error:
        _fail(1, str(error))
    except OSError as error:
        _fail(1, f"{error.filename}: {error.strerror}")


def run(
    served: Sequence[Served],
    waiting: Waiting,
    clock: Callable[[], Now],
    notifier: Notifier,
    crew: Crew | None = None,
) -> None:
    """Hand out whatever is due until a signal comes; a touched holds file makes everything due.

    Raises what a member of the crew could not get over: it is said, and systemd begins anew.
    """
    crew = crew if crew is not None else Alone()
    longest_s = notifier.watchdog_s if notifier.watchdog_s is not None else math.inf
    while True:
        _hand_out(served, crew, clock)
        crew.tend()
        if crew.failed is not None:
            raise crew.failed
        wake = waiting.wait(min(longest_s, _next_s(served, clock().mono_s)))
        if not _is_wedged(served, clock().mono_s):
            notifier.watchdog()
        if wake.reason == "signal":
            return
        if wake.reason == "file":
            for one in served:
                one.due_s = 0.0


def served_by(
    config: RestarterConfig, paths: HostPaths, clock: Callable[[], Now]
) -> tuple[Served, ...]:
    """All instances of the host file; raises ConfigError where one's own settings are wrong."""
    names = tuple(item.name for item in config.instances)
    strays = Strays(paths.state / "holds", names)
    shared = config.shared_store
    store = store_from(shared, paths.credentials) if shared is not None else None
    own = _identity(paths.state) if store is not None else None
    common = shared_of(paths.credentials)
    found = []
    for settings in config.instances:
        at = InstancePaths(paths.state, settings.name)
        provider = _provider(config, settings, common)
        world = World(settings.name, provider, store, at, strays, clock)
        policy = _policy(config, settings, at, own, cancels=provider.cancels)
        served = Served(world, Book(at, clock()), DecisionLog(at.decisions), policy)
        served.lane = settings.provider
        found.append(served)
    return tuple(found)


def watched(served: Sequence[Served]) -> tuple[Path, ...]:
    """The holds directory and its folders of mirrored holds: who touches or removes a file is heard at once.

    The directory changes with each file in it: with a thousand instances, one look instead of a thousand.
    """
    directories = {one.world.paths.hold.parent: None for one in served}
    return (*directories, *(one.world.mirror for one in served))


def _hand_out(served: Sequence[Served], crew: Crew, clock: Callable[[], Now]) -> None:
    now_s = clock().mono_s
    for one in served:
        if one.busy_since_s is None and one.due_s <= now_s:
            one.busy_since_s = now_s
            crew.hand(one)


def _next_s(served: Sequence[Served], now_s: float) -> float:
    """Seconds until somebody may have to be handed out: the crew does not say when it is done."""
    resting = (one.due_s for one in served if one.busy_since_s is None)
    next_s = max(0.0, min(resting, default=math.inf) - now_s)
    is_busy = any(one.busy_since_s is not None for one in served)
    return min(next_s, LOOK_EVERY_S) if is_busy else next_s


def _is_wedged(served: Sequence[Served], now_s: float) -> bool:
    began = (one.busy_since_s for one in served)
    return any(at_s is not None and now_s - at_s > WEDGED_S for at_s in began)


def _policy(
    config: RestarterConfig,
    settings: InstanceSettings,
    paths: InstancePaths,
    own: Reading[str | None],
    *,
    cancels: bool,
) -> Policy:
    return Policy(
        instance=settings.name,
        hold_path=str(paths.hold),
        poll=config.poll,
        grant=config.grant,
        identity=own,
        local=config.holds == (LOCAL,),
        type=settings.type,
        region=settings.region,
        stopped_price=settings.stopped_price,
        cancels=cancels,
    )


def _provider(config: RestarterConfig, settings: InstanceSettings, common: Shared) -> Provider:
    try:
        return open_provider(settings.provider, settings.table, common)
    except ShapeError as error:
        raise ConfigError(f"{config.path}: {error}") from error


def _identity(state: Path) -> Reading[str]:
    """This host's name; without one it goes on, and owns nothing."""
    try:
        return identity(state)
    except OSError as error:
        return Unreadable(f"{error.filename}: {error.strerror}")


def _leave(served: Sequence[Served]) -> None:
    """End at once also while a call is under way: what was begun is on disk, and the next start goes on from there."""
    if any(one.busy_since_s is not None for one in served):
        sys.stderr.flush()
        os._exit(0)


def _fail(code: int, text: str) -> None:
    sys.stderr.write(f"spoteval-restarter: {text}\n")
    raise SystemExit(code)
