"""`spoteval run set`."""

from collections.abc import Iterator

import click

from spoteval.cli.active import active_record
from spoteval.cli.common import Host, disk_of, guest_of, store_of, this_host, who
from spoteval.cli.output import json_option, say, say_json
from spoteval.cli.passing import ask_pass
from spoteval.clock import read_now
from spoteval.config.grant import Grant
from spoteval.control.boot import this_boot
from spoteval.control.facts import put_fact, run_fact
from spoteval.control.refused import Failed
from spoteval.control.requests import SOON
from spoteval.control.runchange import open_record, tell_changes, write_generation
from spoteval.control.runfiles import active_run
from spoteval.control.runset import changed, refuse_looser
from spoteval.files import Taken, held
from spoteval.machine.session import this_session
from spoteval.paths import DurablePaths
from spoteval.report.agents import is_running
from spoteval.run import RunRecord
from spoteval.shape import Reading, ShapeError, Unreadable
from spoteval.store.contract import StoreError

PASS_WITHIN_S = 20.0
_FOLLOWER = "publication-follower"
_LATER = ("concurrency",)
_NOTE = (
    "[grant] is not known on this host: a limit looser than it has no effect on the restarter host"
)


@click.command(name="set")
@click.argument("settings", metavar="KEY=VALUE…", nargs=-1, required=True)
@click.option("--run", "name", metavar="RUN", help="Instead of the active run.")
@click.option("--reason", required=True, help="Stands in the record, the events and the report.")
@json_option
def set_(settings: tuple[str, ...], name: str | None, reason: str, as_json: bool) -> None:
    """Change the active run: concurrency, deadline, stop rules, spend, price cap.

    Each change is a new generation of the record, an event and a line in the report. What is measured is
    never changed: that is another run. Typed on the restarter host, it says whether a limit would loosen
    [grant]; the guest, where it is changed, cannot know.
    """
    host = this_host()
    if host.restarter is not None:
        _refuse_looser(settings, host.restarter.grant)
    disk = disk_of(guest_of(host))
    record = open_record(disk, name or active_record(disk).name)
    fresh = _changed(host, disk, record, settings, reason)
    assigned = _published(host, disk, fresh)
    if as_json:
        say_json(_record(record, fresh, assigned))
    else:
        say("\n".join(_lines(record, fresh, assigned)))


def _refuse_looser(settings: tuple[str, ...], grant: Grant) -> None:
    try:
        refuse_looser(settings, grant)
    except ShapeError as error:
        raise click.UsageError(str(error)) from error


def _changed(
    host: Host, disk: DurablePaths, record: RunRecord, settings: tuple[str, ...], reason: str
) -> RunRecord:
    """The record in force after this: written, and on record. One person at a time."""
    now = read_now()
    session = this_session(host.paths.session, now.boot).id
    paths = disk.run(record.name)
    try:
        with held(host.paths.run / "run-set.lock"):
            record = open_record(disk, record.name)
            fresh = changed(record, settings, who(), reason, now)
            if fresh is not None:
                write_generation(paths, fresh)
            tell_changes(paths, fresh or record, session)
            return fresh or record
    except ShapeError as error:
        raise click.UsageError(str(error)) from error
    except Taken as error:
        raise Failed("somebody else is changing this run just now") from error


def _published(host: Host, disk: DurablePaths, record: RunRecord) -> Reading[str | None]:
    """Have the record published, then tell the restarter which one to read; None for a run that is not active."""
    if active_run(disk) != record.name:
        return None
    if not is_running(host.paths.run / f"{_FOLLOWER}.lock"):
        return Unreadable(f"{_FOLLOWER} does not run here")
    if ask_pass(disk, SOON, "run-set", PASS_WITHIN_S) is None:
        return Unreadable(f"{_FOLLOWER} did not answer; boot-resume tells it later")
    boot = this_boot(disk, host.paths, read_now())
    if isinstance(boot, Unreadable):
        return boot
    fact = run_fact(record.name, record.generation)
    try:
        put_fact(store_of(host), record.instance, boot.seq, boot.session, fact, {})
    except StoreError as error:
        return Unreadable(str(error))
    return fact


def _record(
    before: RunRecord, fresh: RunRecord, assigned: Reading[str | None]
) -> dict[str, object]:
    new = fresh.generation > before.generation
    settings = fresh.changes[-1].settings if new else {}
    return {
        "run": fresh.name,
        "generation": fresh.generation,
        "changed": {name: {"from": old, "to": to} for name, (old, to) in settings.items()},
        "assigned": None if isinstance(assigned, Unreadable) else assigned,
        "missing": assigned.why if isinstance(assigned, Unreadable) else None,
    }


def _lines(before: RunRecord, fresh: RunRecord, assigned: Reading[str | None]) -> Iterator[str]:
    if fresh.generation == before.generation:
        yield f"{fresh.name}: nothing changes (generation {fresh.generation})"
        return
    settings = fresh.changes[-1].settings
    for name, (old, to) in settings.items():
        later = ", from the next start of its harness on" if name in _LATER else ""
        yield f"{fresh.name}: {name} {old} -> {to}{later}"
    if any(name.startswith("stop_rules.") for name in settings):
        yield _NOTE
    if isinstance(assigned, Unreadable):
        yield f"generation {fresh.generation}; not yet known to the restarter: {assigned.why}"
    elif assigned is not None:
        yield f"generation {fresh.generation}, told to the restarter: {assigned}"
    else:
        yield f"generation {fresh.generation}; the run is not the active one"
