"""What the verbs of numbers share: durations with units, logs of this host or of named places, files they write."""

from collections.abc import Sequence
from pathlib import Path

import click

from spoteval.cli.common import this_host
from spoteval.clock import read_now
from spoteval.control.refused import Failed
from spoteval.placement.eventlogs import Logs, log_files, read_logs
from spoteval.placement.lifetime import HOUR_S
from spoteval.shape import duration_s


def hours_of(_: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """A duration with its unit, as hours above 0; None where the option is absent."""
    if value is None:
        return None
    try:
        hours = duration_s(value) / HOUR_S
    except ValueError as error:
        raise click.BadParameter(str(error), param=parameter) from error
    if not hours > 0:
        raise click.BadParameter(f'"{value}" must be above 0', param=parameter)
    return hours


def logs_of(places: Sequence[Path]) -> Logs:
    """The events of these places, or of this host where none is named; raises Failed where there are none."""
    chosen = tuple(places) or (_own(),)
    try:
        logs = read_logs(log_files(chosen))
    except FileNotFoundError as error:
        hint = "" if places else " (name a directory or a pulled run)"
        raise Failed(f"{error.filename}: {error.strerror}{hint}") from error
    if not logs.by_instance:
        raise Failed(
            f"{chosen[0]}: no start, stop or boot in {logs.lines} lines of {logs.files} logs"
        )
    if not places:  # here is now: what is up has lived until this moment
        now = read_now().wall
        logs.newest = dict.fromkeys(logs.by_instance, now)
    return logs


def _own() -> Path:
    """Where this host's events are: on the guest the durable disk."""
    host = this_host()
    return host.guest.disk.path / "spoteval" if host.guest is not None else host.paths.state


def basis(logs: Logs) -> str:
    """What the figures rest on, in one line."""
    damaged = f", {logs.damaged} damaged lines passed over" if logs.damaged else ""
    machines = f"{len(logs.by_instance)} machine{'' if len(logs.by_instance) == 1 else 's'}"
    return f"{machines}, {logs.lines} events in {logs.files} logs{damaged}"
