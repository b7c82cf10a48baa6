"""`spoteval run exec`: becomes the harness of the active run. The one command of `spoteval-run.service`."""

import os
import sys
from dataclasses import replace
from typing import Never

import click

from spoteval.cli.active import active_record, adapter_of
from spoteval.cli.common import disk_of, guest_of, this_host
from spoteval.control.launch import become, launched
from spoteval.control.refused import Refused
from spoteval.control.runfiles import over
from spoteval.control.secrets import secret_environment
from spoteval.files import read_text
from spoteval.harness.contract import Command
from spoteval.paths import DurablePaths, HostPaths, RunPaths
from spoteval.run import RunRecord
from spoteval.shape import Unreadable


@click.command(name="exec")
def exec_() -> Never:
    """Become the harness of the active run. Refused while an interruption is under way and under a guest hold."""
    host = this_host("")
    disk = disk_of(guest_of(host))
    _refuse_unless_free(host.paths, disk)
    run = active_record(disk)
    command = command_of(run, disk.run(run.name))
    secret = secret_environment(host.paths.credentials, run.plan.secret_env)
    sys.stdout.flush()
    become(launched(command, os.environ, secret))


def command_of(run: RunRecord, paths: RunPaths) -> Command:
    """The harness's command, its directory mended and made; `directory` is relative to `work`."""
    harness, work = adapter_of(run), paths.work
    if (why := harness.refuses(run)) is not None:
        raise Refused(why)
    (work / "home").mkdir(parents=True, exist_ok=True)
    for said in harness.prepare(run, work):
        print(f"prepare: {said}", file=sys.stderr, flush=True)
    command = harness.command(run, work, over(paths))
    return replace(command, env={"HOME": str(work / "home"), **command.env}, cwd=work / command.cwd)


def _refuse_unless_free(paths: HostPaths, disk: DurablePaths) -> None:
    if paths.draining.exists():
        raise Refused(f"an interruption is under way ({paths.draining})")
    hold = read_text(disk.guest_hold)
    if hold is not None:
        reason = hold.why if isinstance(hold, Unreadable) else hold
        raise Refused(f'held: "{reason}" (rm {disk.guest_hold})')
