"""`spoteval settle`: what the last interruption of the active run cut, each cut attempt once."""

from datetime import datetime

import click

from spoteval.cli.active import active_record, adapter_of
from spoteval.cli.common import disk_of, guest_of, this_host
from spoteval.cli.output import json_option, say, say_json
from spoteval.clock import read_now
from spoteval.control.damaged import damaged_interruptions
from spoteval.control.eventlog import log_event
from spoteval.control.refused import Refused
from spoteval.control.runcontrol import RUN_UNIT
from spoteval.control.settling import Settling, settle_run
from spoteval.event import NEEDS_YOU, Event
from spoteval.files import read_lines
from spoteval.machine.cgroup import members_here
from spoteval.machine.session import this_session
from spoteval.paths import RunPaths
from spoteval.run import RunRecord
from spoteval.shape import Unreadable


@click.command()
@click.option("--by", default="settle", help="Who asks, for the event.")
@json_option
def settle(by: str, as_json: bool) -> None:
    """Settle what the last interruption cut. Again changes nothing; refused while the run works."""
    host = this_host("")
    config = guest_of(host)
    disk = disk_of(config)
    began = read_now()
    run = active_record(disk)
    _refuse_while_it_works()
    paths = disk.run(run.name)
    session = this_session(host.paths.session, began.boot).id
    survey = adapter_of(run).survey(run, paths.work)
    done = settle_run(run, paths, survey, session, read_now())
    took_s = round(read_now().mono_s - began.mono_s, 3)
    detail = done.record() | {"took_s": took_s}
    at = read_now().wall
    log_event(
        paths.events, Event(at, "settled", by, config.instance, session=session, detail=detail)
    )
    _call_for_damaged(paths, config.instance, by, at)
    say_json(done.record()) if as_json else say(_sentence(run, done))


def _call_for_damaged(paths: RunPaths, instance: str, by: str, at: datetime) -> None:
    """A person hears once of each marker that cannot be read."""
    told = {record.get("reason") for record in read_lines(paths.events).records}
    for reason in damaged_interruptions(paths):
        if reason not in told:
            log_event(paths.events, Event(at, NEEDS_YOU, by, instance, reason=reason))


def _refuse_while_it_works() -> None:
    found = members_here().members(RUN_UNIT)
    if isinstance(found, Unreadable):
        raise Refused(f"nobody can tell whether the run works: {found.why}")
    if found:
        raise Refused(f"the run works ({len(found)} processes in {RUN_UNIT}): spoteval run stop")


def _sentence(run: RunRecord, done: Settling) -> str:
    left = "" if done.unfinished is None else f", {done.unfinished} episodes unfinished"
    return f"{run.name}: {done.settled} cut attempts settled{left}"
