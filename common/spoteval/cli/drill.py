"""`spoteval drill forced-stop|show`, on either host."""

import click

from spoteval.cli.common import Host, is_local, seconds_of, this_host
from spoteval.cli.drill_follow import Judged
from spoteval.cli.drill_here import drill_here, show_here
from spoteval.cli.drill_there import drill_there, give_up, show_there, there_of
from spoteval.cli.output import json_option, say, say_json
from spoteval.control.refused import Failed, Refused
from spoteval.drill.expect import verdict
from spoteval.drill.screen import line, record, summary


@click.command(name="forced-stop")
@click.argument("instance", required=False)
@click.option("--run-only", is_flag=True, help="On the guest: the stops come from the other host.")
@click.option("--give-up", is_flag=True, help="On the restarter host: announce no stop any more.")
@click.option(
    "--within",
    default="3h",
    show_default=True,
    callback=seconds_of,
    help="What has not come by then has failed.",
)
@json_option
def forced_stop(
    instance: str | None, run_only: bool, give_up: bool, within: float, as_json: bool
) -> None:
    """Make a run of its own, stop the machine in the midst of it, and once more while it resumes.

    Each expectation is printed with its time. On the guest the machine switches itself off: type it again when it is
    back, to see what came of it. On the restarter host the provider is asked for the stops. Typed again, a drill that
    was cut short goes on. Exit 1 where an expectation has failed.
    """
    host = this_host("")
    _refuse_laptop(host)
    if host.guest:
        _refuse_words(give_up, "--give-up", "restarter host")
        done = drill_here(host, host.guest, instance, within, run_only=run_only)
    else:
        _refuse_words(run_only, "--run-only", "guest")
        done = _there(host, instance, within, ends=give_up)
    if done is not None:
        _answer(done, as_json)
    elif as_json:
        say_json({"drill": None, "passed": None, "expectations": []})


@click.command()
@click.argument("instance", required=False)
@json_option
def show(instance: str | None, as_json: bool) -> None:
    """Every expectation of the last drill, as far as it is known here. Exit 1 where one has failed."""
    host = this_host("")
    _refuse_laptop(host)
    done = show_here(host.guest) if host.guest else show_there(there_of(host, instance))
    if not as_json:
        say("\n".join(line(item) for item in done[1]))
    _answer(done, as_json)


def _there(host: Host, instance: str | None, within_s: float, *, ends: bool) -> Judged | None:
    there = there_of(host, instance)
    if not ends:
        return drill_there(host, there, within_s)
    say("withdrawn" if give_up(there) else "no drill was announced")
    return None


def _answer(done: Judged, as_json: bool) -> None:
    run, found = done
    if as_json:
        say_json(record(run, found))
    else:
        say(summary(run, found))
    if verdict(found) is False:
        failed = [f"stop {item.stop} {item.what}" for item in found if item.passed is False]
        raise Failed(f"{run}: not as expected: {', '.join(failed)}")


def _refuse_laptop(host: Host) -> None:
    if host.guest is None and host.restarter is None:
        raise Refused("this is a laptop; it is typed on the guest or on the restarter host")
    if is_local(host):
        raise Refused("without a store nobody learns here what the guest did; drill on the guest")


def _refuse_words(given: bool, word: str, where: str) -> None:
    if given:
        raise Refused(f"{word} is for the {where}")
