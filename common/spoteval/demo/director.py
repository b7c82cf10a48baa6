"""The demo from the first file to the last byte: what a person would type, in that order."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from spoteval.clock import monotonic_s, read_now
from spoteval.demo.account import Account, all_events, cloud_state, take_account
from spoteval.demo.layout import INSTANCE, RUN, DemoPaths, prepare
from spoteval.demo.stage import DemoFailed, Host, free_port, staged
from spoteval.event import Event
from spoteval.loop import Waiting
from spoteval.machine.process import Child
from spoteval.paths import DurablePaths
from spoteval.publication.verify import compare
from spoteval.report.needs import open_needs
from spoteval.store.open import open_store

LIMIT_S = 420.0
NEEDED_S = 60.0
"""So long may what needs a person stand before the demo gives up: nobody sits at its two hosts."""
NEW_S = 180.0
"""The harness is asked for its version: a busy machine takes a minute to import it the first time."""
AFTER_END_S = 4.0
"""The restarter is watched for some polls more: it must leave the ended machine alone."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the person chose."""

    root: Path
    seed: int
    profile: str = "demo"


@dataclass(frozen=True, slots=True)
class Played:
    """The account of a demo that went through, its seconds, and how store, disk and pull compare."""

    account: Account
    duration_s: float
    differences: tuple[str, ...]
    second_pull_refused: bool

    @property
    def pull_verified(self) -> bool:
        """Every byte pulled, and every byte in the store as it is on the disk."""
        return not self.differences


def play(options: Options, waiting: Waiting, look: Callable[[DemoPaths], None]) -> Played:
    """Run the demo; raises DemoFailed with one line that says what failed and where to look.

    `look` is called after each wait, to show what happens.
    """
    paths = DemoPaths(options.root)
    began_s = monotonic_s()
    prepare(paths, free_port(), read_now().wall)
    with staged(paths, options.seed, options.profile) as children:
        _begin(paths, waiting)
        _watch(paths, children, waiting, began_s, look)
    differences, refused = _pull(paths)
    account = take_account(paths, open_store(paths.store_url))
    return Played(account, monotonic_s() - began_s, differences, refused)


def _begin(paths: DemoPaths, waiting: Waiting) -> None:
    """A person starts the node once by hand, makes the run and starts it; from then on nobody types."""
    _until(
        lambda: cloud_state(paths.cloud) == "STOPPED", 15.0, waiting, "the local cloud to come up"
    )
    Host(paths.restarter).spoteval("start", INSTANCE, "--reason", "first start of the demo")
    guest, boot = Host(paths.node), DurablePaths(paths.durable).boot
    _until(boot.exists, 30.0, waiting, f"the first boot (see {paths.node / 'journal'})")
    guest.spoteval("run", "new", RUN, timeout_s=NEW_S)
    guest.spoteval("run", "start", RUN)


def _watch(
    paths: DemoPaths,
    children: tuple[Child, ...],
    waiting: Waiting,
    began_s: float,
    look: Callable[[DemoPaths], None],
) -> None:
    ended_s: float | None = None
    while ended_s is None or monotonic_s() - ended_s < AFTER_END_S:
        _pause(waiting, 0.5)
        look(paths)
        if ended_s is None and _over(paths):
            ended_s = monotonic_s()
        _refuse_dead(paths, children)
        _refuse_needy(all_events(paths), read_now().wall)
        if monotonic_s() - began_s > LIMIT_S:
            raise DemoFailed(f"not done after {LIMIT_S:.0f} s (see {paths.node / 'journal'})")


def _over(paths: DemoPaths) -> bool:
    """The run's end is recorded and the machine is off."""
    return (
        DurablePaths(paths.durable).run(RUN).end.exists() and cloud_state(paths.cloud) == "STOPPED"
    )


def _refuse_dead(paths: DemoPaths, children: tuple[Child, ...]) -> None:
    for child, host in zip(children, (paths.node, paths.restarter), strict=True):
        if (code := child.poll()) is not None:
            raise DemoFailed(f"the processes of {host} ended with {code} (see {host / 'journal'})")


def _refuse_needy(events: tuple[Event, ...], now: datetime) -> None:
    for need in open_needs(events, unpublished=None):
        if (now - need.since).total_seconds() > NEEDED_S:
            raise DemoFailed(f"it needs a person: {need.text} ({need.command})")


def _pull(paths: DemoPaths) -> tuple[tuple[str, ...], bool]:
    """Pull into an empty directory, verify, hold the store against the disk; try to pull there again."""
    desk = Host(paths.restarter)
    desk.spoteval("pull", RUN, str(paths.pulled))
    desk.spoteval("verify", str(paths.pulled))
    disk = DurablePaths(paths.durable).run(RUN).root
    report = compare(open_store(paths.store_url), RUN, disk)
    differences = tuple(str(difference) for difference in report.differences)
    try:
        desk.spoteval("pull", RUN, str(paths.pulled))
    except DemoFailed:
        return differences, True
    return differences, False


def _until(true: Callable[[], bool], within_s: float, waiting: Waiting, what: str) -> None:
    until_s = monotonic_s() + within_s
    while not true():
        if monotonic_s() > until_s:
            raise DemoFailed(f"waited {within_s:.0f} s for {what}")
        _pause(waiting, 0.2)


def _pause(waiting: Waiting, seconds: float) -> None:
    """Wait a moment; a signal ends the demo, and with it everything that it started."""
    if waiting.wait(seconds).reason == "signal":
        raise KeyboardInterrupt
