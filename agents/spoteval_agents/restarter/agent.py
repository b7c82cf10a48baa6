"""The process `spoteval-restarter`: its instances in turn, for ever."""

import math
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import spoteval
from spoteval.clock import Now, read_now
from spoteval.config.restarter import InstanceSettings, RestarterConfig, read_restarter
from spoteval.config.shared import ConfigError
from spoteval.control.eventlog import DecisionLog, tell
from spoteval.decision import Decision
from spoteval.files import Taken, held
from spoteval.loop import Waiting, Waker
from spoteval.machine.systemd import Notifier
from spoteval.paths import HostPaths, InstancePaths, host_paths
from spoteval.provider.open import open_provider
from spoteval.shape import ShapeError
from spoteval.store.contract import Store
from spoteval.store.open import open_store
from spoteval_agents.restarter.book import Book
from spoteval_agents.restarter.cycle import cycle
from spoteval_agents.restarter.decide import pause_s
from spoteval_agents.restarter.policy import Policy
from spoteval_agents.restarter.world import World


@dataclass(slots=True)
class Served:
    """One instance: what it is looked at through, its memory, and when its next look is due."""

    world: World
    book: Book
    log: DecisionLog
    policy: Policy
    due_s: float = 0.0
    failing: str | None = field(default=None, init=False)

    def serve(self) -> None:
        """One cycle, and when the next is due. A memory that cannot be written starts nothing."""
        try:
            pause = pause_s(cycle(self.world, self.book, self.log, self.policy), self.policy)
            self._said(None)
        except OSError as error:
            pause = self.policy.poll.every_s
            self._said(f"{error.filename}: {error.strerror}")
        self.due_s = self.world.clock().mono_s + pause

    def _said(self, error: str | None) -> None:
        """A repeated failure is said once, and its end once."""
        if error != self.failing:
            name = self.policy.instance
            pairs = {"instance": name, "error": error}
            word, why = ("unsaved", "nothing is done while its memory cannot be written")
            if error is None:
                pairs, word, why = {"instance": name}, "saved", "its memory can be written again"
            tell(Decision(word, pairs, why).line(), warning=error is not None)
        self.failing = error


def main() -> None:
    """The entry point. Exit 0 on TERM, 1 where another restarter runs, 2 for a wrong host file."""
    if "--version" in sys.argv[1:]:
        sys.stdout.write(f"spoteval-restarter {spoteval.__version__}\n")
        return
    paths = host_paths()
    try:
        config = read_restarter(paths.config)
        with ExitStack() as stack:
            stack.enter_context(held(paths.state / "restarter.lock"))
            served = served_by(config, paths, read_now)
            waker = stack.enter_context(Waker(watched(served)))
            notifier = Notifier()
            notifier.ready(f"{len(served)} instances")
            run(served, waker, read_now, notifier)
    except ConfigError as error:
        _fail(2, str(error))
    except Taken as error:
        _fail(1, str(error))
    except OSError as error:
        _fail(1, f"{error.filename}: {error.strerror}")


def run(
    served: Sequence[Served], waiting: Waiting, clock: Callable[[], Now], notifier: Notifier
) -> None:
    """Serve whatever is due until a signal comes; a touched holds file makes everything due."""
    longest_s = notifier.watchdog_s if notifier.watchdog_s is not None else math.inf
    while True:
        for one in served:
            if one.due_s <= clock().mono_s:
                one.serve()
                notifier.watchdog()
        next_s = min(one.due_s for one in served) - clock().mono_s
        wake = waiting.wait(min(longest_s, max(0.0, next_s)))
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
    store = open_store(config.store.url)
    return tuple(_served(config, settings, store, paths, clock) for settings in config.instances)


def watched(served: Sequence[Served]) -> tuple[Path, ...]:
    """Touch files and the folders of mirrored holds: a person who touches or removes one is heard at once."""
    return tuple(path for one in served for path in (one.world.paths.hold, one.world.mirror))


def _served(
    config: RestarterConfig,
    settings: InstanceSettings,
    store: Store,
    paths: HostPaths,
    clock: Callable[[], Now],
) -> Served:
    own = InstancePaths(paths.state, settings.name)
    try:
        provider = open_provider(settings.provider, settings.table)
    except ShapeError as error:
        raise ConfigError(f"{config.path}: {error}") from error
    names = frozenset(item.name for item in config.instances)
    return Served(
        World(settings.name, provider, store, own, names, clock),
        Book(own, clock()),
        DecisionLog(own.decisions),
        Policy(settings.name, str(own.hold), config.poll, config.grant.price_cap),
    )


def _fail(code: int, text: str) -> None:
    sys.stderr.write(f"spoteval-restarter: {text}\n")
    raise SystemExit(code)
