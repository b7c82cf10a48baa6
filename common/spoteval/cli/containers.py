"""`spoteval containers remove`: the root helper that obeys what an agent asked for. Hidden."""

import os
from time import sleep

import click

from spoteval.cli.output import say
from spoteval.clock import read_now
from spoteval.config.guest import read_guest
from spoteval.config.shared import ConfigError
from spoteval.control.removal import Servers
from spoteval.control.remove_containers import Remover, servers_of
from spoteval.decision import Decision
from spoteval.files import remove as remove_file
from spoteval.machine.cgroup import MARK
from spoteval.machine.containers import engine_here
from spoteval.paths import HostPaths, host_paths
from spoteval.shape import Reading, Unreadable


@click.command()
def remove() -> int:
    """Remove the containers that /run/spoteval/remove-containers asks for, and then the request.

    Never a model server's, never one that is older than the run's first start in this life of the machine.
    """
    paths = host_paths()
    if os.environ.get(MARK):  # what runs in Docker beside a local node is its owner's
        remove_file(paths.remove_containers)
        return 0
    remover = Remover(
        request=paths.remove_containers,
        engine=engine_here(),
        servers=lambda: _servers(paths),
        clock=read_now,
        pause=sleep,
    )
    decision: Decision = remover.obey()
    say(decision.line())
    return 1 if decision.word in ("left", "refused") else 0


def _servers(paths: HostPaths) -> Reading[Servers]:
    try:
        return servers_of(read_guest(paths.config, "boot-resume").servers)
    except ConfigError as error:
        return Unreadable(str(error))
