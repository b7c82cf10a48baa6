"""`spoteval settle`: what the last interruption of the active run cut, each cut attempt once."""

from datetime import datetime
from pathlib import Path

import click

from spoteval.cli.active import active_record, adapter_of
from spoteval.cli.common import disk_of, guest_of, this_host
from spoteval.cli.output import json_option, say, say_json, table
from spoteval.clock import Now, read_now
from spoteval.control.damaged import damaged_interruptions
from spoteval.control.eventlog import log_event
from spoteval.control.refused import Refused
from spoteval.control.runcontrol import RUN_UNIT
from spoteval.control.runfiles import read_run
from spoteval.control.settle_plan import THEN, Interrupted, settle_plan
from spoteval.control.settling import Settling, settle_run
from spoteval.event import NEEDS_YOU, REHEARSAL, Event
from spoteval.files import read_lines
from spoteval.harness.contract import Survey
from spoteval.harness.inspect_args import option
from spoteval.machine.cgroup import members_here
from spoteval.machine.session import this_session
from spoteval.paths import RunPaths
from spoteval.run import RunRecord
from spoteval.settlement import DISCLOSED
from spoteval.shape import Unreadable

_CHOOSING = ("--limit", "--sample-id", "--epochs")
"""Options of Inspect that choose episodes; no other harness's program is asked for these."""


@click.command()
@click.option("--by", default="settle", help="Who asks, for the event.")
@click.option("--dry-run", is_flag=True, help="Say what would be done; change nothing.")
@click.option(
    "--in",
    "tree",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="With --dry-run: a pulled run instead of this guest's active one.",
)
@json_option
def settle(by: str, dry_run: bool, tree: Path | None, as_json: bool) -> None:
    """Settle what the last interruption cut. Again changes nothing; refused while the run works."""
    if tree is not None and not dry_run:
        raise Refused("--in DIR only together with --dry-run: a pulled run is not operated")
    if dry_run:
        tell_plan(read_now(), as_json) if tree is None else tell_plan_of(tree, read_now(), as_json)
        return
    host = this_host("")
    config = guest_of(host)
    disk = disk_of(config)
    began = read_now()
    run = active_record(disk)
    refuse_while_it_works()
    paths = disk.run(run.name)
    session = this_session(host.paths.session, began.boot).id
    survey = adapter_of(run).survey(run, paths.work)
    done = settle_run(run, paths, survey, session, read_now())
    refuse_changed(run, survey)
    took_s = round(read_now().mono_s - began.mono_s, 3)
    drilled = {REHEARSAL: True} if run.rehearsal else {}
    detail = done.record() | {"took_s": took_s} | drilled
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


def tell_plan(now: Now, as_json: bool) -> None:
    """The plan for this guest's active run."""
    disk = disk_of(guest_of(this_host("")))
    run = active_record(disk)
    refuse_while_it_works()
    _tell(run, disk.run(run.name), now, as_json)


def tell_plan_of(tree: Path, now: Now, as_json: bool) -> None:
    """The plan for a run that was pulled."""
    paths = RunPaths(tree)
    run = read_run(paths)
    if isinstance(run, Unreadable):
        raise Refused(run.why)
    _tell(run, paths, now, as_json)


def _tell(run: RunRecord, paths: RunPaths, now: Now, as_json: bool) -> None:
    survey = adapter_of(run).survey(run, paths.work)
    found = settle_plan(run, paths, survey, now)
    if isinstance(found, Unreadable):
        raise Refused(found.why)
    if as_json:
        say_json(found.record())
        return
    if found.interrupted:
        rows = [(*_cells(item), THEN[found.policy]) for item in found.interrupted]
        say("\n".join(table(rows, ("episode", "class", "attempts", "spent", "then"))))
    of = "" if found.intended is None else f" of {found.intended}"
    say(
        f"{run.name}: {len(found.interrupted)} interrupted, {found.finished}{of} finished;"
        f" {DISCLOSED[found.policy]}. Nothing was changed"
    )


def _cells(item: Interrupted) -> tuple[str, str, str, str]:
    spent = f"{item.usage.input_tokens + item.usage.output_tokens} tokens"
    return item.episode, item.outcome, str(item.attempts), spent


def refuse_while_it_works() -> None:
    found = members_here().members(RUN_UNIT)
    if isinstance(found, Unreadable):
        raise Refused(f"nobody can tell whether the run works: {found.why}")
    if found:
        raise Refused(f"the run works ({len(found)} processes in {RUN_UNIT}): spoteval run stop")


def refuse_changed(run: RunRecord, survey: Survey) -> None:
    """Raise Refused where a start since the first began something else."""
    if survey.changed:
        named = ((name, option(run.plan.args, name)) for name in _CHOOSING)
        told = [f"{name} {value}" for name, value in named if value is not None]
        args = f" (args: {' '.join(told)})" if told else ""
        raise Refused(f"{survey.changed[0]}{args}: refused. `spoteval run new … --like {run.name}`")


def _sentence(run: RunRecord, done: Settling) -> str:
    left = "" if done.unfinished is None else f", {done.unfinished} episodes unfinished"
    return f"{run.name}: {done.settled} cut attempts settled{left}"
