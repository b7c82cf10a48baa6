"""`spoteval supervise`: the guest's agents in the foreground of a container that has no systemd."""

import os
import signal
from collections.abc import Sequence
from pathlib import Path

import click

from spoteval.cli.common import this_host
from spoteval.cli.output import say
from spoteval.clock import read_now
from spoteval.config.guest import GuestConfig
from spoteval.config.shared import ConfigError
from spoteval.control.refused import Refused
from spoteval.control.supervising import Supervisor
from spoteval.demo.layout import units_directory
from spoteval.files import Taken, held, remove, touch
from spoteval.local.directories import ContainerDirectories
from spoteval.local.journal import Journal
from spoteval.local.machine import UnitMachine
from spoteval.local.node import enabled
from spoteval.local.unit_file import UnitError, load_units
from spoteval.local.unit_set import check
from spoteval.local.watchdog import ENDING, guarded
from spoteval.loop import Waker
from spoteval.machine.process import reap_orphans
from spoteval.paths import HostPaths
from spoteval.provider.own import own_stop
from spoteval.shape import ShapeError

TICK_S = 0.05
MOST_BYTES = 4_000_000
"""Of each unit's journal, which lies in memory in a container; the whole of it goes to the container's own log."""
_BOOTED = Path("/run/systemd/system")


@click.command()
@click.option(
    "--units",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Unit files of your own, such as the model server's.",
)
def supervise(units: tuple[Path, ...]) -> int:
    """Run this guest's agents as children, in a container without systemd; TERM ends them, the hook first.

    It is the container's first process, or what that one becomes: only the first is told of its end.
    """
    host = this_host("")
    if host.guest is None:
        raise Refused(f"this is a {host.role}; it is typed on a guest")
    if _BOOTED.is_dir():
        raise Refused("systemd runs this machine: enable the units instead (docs/setup-guest.md)")
    directories = ContainerDirectories(
        host.paths.run.resolve().parent, host.paths, host.guest.disk.path
    )
    try:
        with held(directories.root / "spoteval-supervise.lock"), guarded(directories.root):
            _serve(_machine(directories, units), host.guest, host.paths)
    except (UnitError, ShapeError) as error:
        raise ConfigError(str(error)) from error
    except Taken as error:
        raise Refused(f"it runs already: {error}") from error
    return 0


def _machine(directories: ContainerDirectories, units: Sequence[Path]) -> UnitMachine:
    found = load_units([units_directory(), *(path.resolve() for path in units)])
    check(found)
    journal = Journal(directories.journal, say_part, MOST_BYTES)
    return UnitMachine(directories, found, enabled(found), journal)


def say_part(text: str) -> None:
    """What a unit wrote, as lines of the container's log."""
    say(text.rstrip("\n"))


def _serve(machine: UnitMachine, config: GuestConfig, paths: HostPaths) -> None:
    """Until all units have ended, and the bill with them."""
    stop_self = own_stop(config.provider, config.provider_table, os.environ)
    supervisor = Supervisor(machine, stop_self, lambda decision: say(decision.line()))
    with Waker(signals=ENDING) as waker:
        machine.boot()
        touch(paths.supervised)
        told: str | None = None
        try:
            while supervisor.tick(read_now(), told):
                wake = waker.wait(TICK_S)
                told = _name(wake.signum) if wake.reason == "signal" else None
                if os.getpid() == 1:
                    reap_orphans(machine.pids)
        finally:
            machine.kill(read_now())
            remove(paths.supervised)


def _name(number: int) -> str:
    return signal.Signals(number).name
