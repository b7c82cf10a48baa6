"""`spoteval run finish`."""

from collections.abc import Iterator

import click

from spoteval.cli.active import active_record
from spoteval.cli.common import Host, disk_of, guest_of, this_host, who
from spoteval.cli.output import json_option, say, say_json
from spoteval.clock import read_now
from spoteval.config.guest import GuestConfig
from spoteval.control.finishing import Finish, ask_finish, read_finish
from spoteval.control.refused import Failed, Refused
from spoteval.control.runchange import open_record
from spoteval.files import read_text
from spoteval.machine.session import this_session
from spoteval.paths import DurablePaths
from spoteval.report.agents import is_running
from spoteval.run import RunRecord
from spoteval.shape import Reading, Unreadable

_AGENT = "end-handler"


@click.command()
@click.argument("name")
@click.option("--reason", required=True, help="Stands in the events and in the report.")
@json_option
def finish(name: str, reason: str, as_json: bool) -> None:
    """End run NAME early, for good: stopped, published, both holds, power off.

    What is in flight is cut and counted as operator-stopped, what was not begun as not run. To stop a run
    and go on later: spoteval run stop.
    """
    host = this_host()
    config = guest_of(host)
    disk = disk_of(config)
    record = _active(disk, name)
    now = read_now()
    session = this_session(host.paths.session, now.boot).id
    fresh = ask_finish(disk.run(name), record, Finish(who(), reason, now.wall), session, now)
    stands = read_finish(disk.run(name))
    if as_json:
        say_json(_record(name, fresh, stands))
    else:
        say("\n".join(_lines(config, disk, name, fresh, stands)))
    _refuse_alone(host, name)


def _active(disk: DurablePaths, name: str) -> RunRecord:
    record = open_record(disk, name)
    active = active_record(disk).name
    if active != name:
        raise Refused(f'"{name}" is not the active run, that is "{active}"')
    return record


def _record(name: str, fresh: bool, stands: Reading[Finish | None]) -> dict[str, object]:
    known = stands if isinstance(stands, Finish) else None
    return {
        "run": name,
        "asked": fresh,
        "by": known.by if known is not None else None,
        "reason": known.reason if known is not None else None,
    }


def _lines(
    config: GuestConfig, disk: DurablePaths, name: str, fresh: bool, stands: Reading[Finish | None]
) -> Iterator[str]:
    if not fresh:
        text = stands.text if isinstance(stands, Finish) else "its request is damaged, and stands"
        yield f"{name} was declared over before: {text}"
    off = "power off" if config.end.on_complete == "power-off" else "the machine stays on"
    yield f"{name} is over: end-handler stops it, publishes the rest, places both holds, {off}"
    switch = read_text(disk.kill_switch)
    if switch is not None:
        reason = switch.why if isinstance(switch, Unreadable) else switch
        yield f'not before the kill switch "{reason}" is gone: rm {disk.kill_switch}'


def _refuse_alone(host: Host, name: str) -> None:
    if not is_running(host.paths.run / f"{_AGENT}.lock"):
        raise Failed(
            f"{name} is declared over, but {_AGENT} does not run here to end it"
            f" (systemctl enable --now spoteval-{_AGENT})"
        )
