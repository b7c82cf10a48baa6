"""`spoteval tau`."""

from pathlib import Path

import click

from spoteval.cli.numbers import basis, hours_of, logs_of
from spoteval.cli.output import json_option, say, say_json
from spoteval.config.shared import ConfigError
from spoteval.control.refused import Failed
from spoteval.files import write_whole
from spoteval.placement import tau as figures
from spoteval.placement.spells import SpellError, read_spells
from spoteval.placement.tau import Estimate
from spoteval.placement.uptimes import every_uptime, tally
from spoteval.placement.waits import Waits, capacity_waits, tail
from spoteval.report.tau_lines import counted, lines, waits
from spoteval.report.tau_plot import plot, svg
from spoteval.report.tau_record import record, tail_record, tally_record


@click.command()
@click.argument("places", nargs=-1, type=click.Path(path_type=Path), metavar="[DIR|FILE]...")
@click.option("--spells", type=click.Path(path_type=Path), help="Lifetimes from a CSV file.")
@click.option(
    "--restart",
    callback=hours_of,
    metavar="DURATION",
    help="Take every start as ready after so long: 20min.",
)
@click.option(
    "--duration",
    callback=hours_of,
    metavar="DURATION",
    help="Risk of an episode that lasts so long: 30min.",
)
@click.option("--svg", "drawing", type=click.Path(path_type=Path), help="Draw the curve there.")
@json_option
def tau(
    places: tuple[Path, ...],
    spells: Path | None,
    restart: float | None,
    duration: float | None,
    drawing: Path | None,
    as_json: bool,
) -> None:
    """How long machines live on this pool, from the event logs of one or many.

    DIR is a restarter's state directory, a pulled run, or a directory of such; without one it is this host's own.
    A CSV file has the columns duration_s or lower_s,upper_s (only an interval is known), and ended: preempted or
    censored. Stops on purpose and machines that are still up are censored; waits are told apart; drills are left out.
    """
    if spells is not None and places:
        raise click.UsageError("--spells and event logs exclude each other")
    found = _of_spells(spells, restart) if spells is not None else None
    known, extra, told = found or _of_logs(places, restart)
    if drawing is not None:
        _draw(known, drawing)
    if as_json:
        say_json({**record(known, duration), **extra})
        return
    say("\n".join([*lines(known, duration), *told, "", *plot(known)]).rstrip())


Told = tuple[Estimate, dict[str, object], list[str]]


def _of_spells(path: Path, restart_h: float | None) -> Told:
    try:
        sample = read_spells(path)
        starts = figures.starts_assumed(sample, restart_h) if restart_h is not None else None
        return figures.estimate(sample, starts), {}, []
    except SpellError as error:
        raise ConfigError(str(error)) from error
    except ValueError as error:
        raise Failed(f"{path}: {error}") from error


def _of_logs(places: tuple[Path, ...], restart_h: float | None) -> Told:
    logs = logs_of(places)
    ups = every_uptime(logs.by_instance, logs.newest)
    seen = [capacity_waits(events) for events in logs.by_instance.values()]
    try:
        known = figures.of_uptimes(ups, restart_h)
    except ValueError as error:
        raise Failed(f"{basis(logs)}: {error}") from error
    counts, still = tally(ups), sum(one.open for one in seen)
    refusals, long = sum(one.refusals for one in seen), tail(_hours(seen))
    extra: dict[str, object] = {
        "counted": tally_record(counts),
        "waits": tail_record(long),
        "capacity_failures": refusals,
        "still_waiting": still,
    }
    return known, extra, [*waits(long, refusals, still), *counted(counts), basis(logs)]


def _hours(seen: list[Waits]) -> list[float]:
    return [hours for one in seen for hours in one.hours]


def _draw(known: Estimate, path: Path) -> None:
    try:
        write_whole(path, svg(known).encode(), durable=False)
    except ValueError as error:
        raise Failed(f"{path}: {error}") from error
