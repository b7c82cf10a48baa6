"""`spoteval place`."""

import sys
from pathlib import Path

import click

from spoteval.cli.common import disk_of, guest_of, this_host
from spoteval.cli.numbers import hours_of, logs_of
from spoteval.cli.output import json_option, say, say_json
from spoteval.cli.place_play import Setting, play_traces, trace_options
from spoteval.control.refused import Refused
from spoteval.files import write_record
from spoteval.placement import tau as figures
from spoteval.placement.advice import Workload, advice
from spoteval.placement.uptimes import every_uptime
from spoteval.report.place_lines import lines, record
from spoteval.run import name_error
from spoteval.shape import duration_s

_RATE = click.FloatRange(min=0)
_UNKNOWN = "unknown"
_ASKED = {
    "episode": ("How long is a typical episode?", None),
    "lifetime": ("How long does a machine live on your pool, on average?", _UNKNOWN),
    "restart": ("How long from a preemption until the server serves again?", "20min"),
    "slots": ("How many episodes are in flight at once?", "16"),
    "label": ("Is the result scored, or exploratory?", "scored"),
}
"""The five questions, and what an empty answer means."""


@click.command()
@click.option("--episode", metavar="DURATION", help="A typical one: 70min.")
@click.option("--lifetime", metavar="DURATION", help='Mean life of a machine: 2h, or "unknown".')
@click.option(
    "--log", "log", type=click.Path(path_type=Path), help="Take it from these event logs."
)
@click.option("--restart", metavar="DURATION", help="Preemption until it serves again: 25min.")
@click.option("--slots", metavar="N", help="Episodes in flight.")
@click.option("--label", type=click.Choice(["scored", "exploratory"]), help="Of the result.")
@click.option("--price", type=_RATE, help="Spot node, per hour.")
@click.option("--on-demand", type=_RATE, help="The same node on demand, per hour.")
@click.option("--owned", type=_RATE, help="An owned or reserved one, per hour.")
@click.option("--api", type=_RATE, help="A hosted API, per episode (spoteval math tokens).")
@click.option("--currency", default="USD", show_default=True, help="Of all prices.")
@click.option("--deadline", metavar="DURATION", callback=hours_of, help="Time until it.")
@click.option("--work", metavar="DURATION", callback=hours_of, help="All slots busy: 12h.")
@click.option(
    "--needs", multiple=True, type=click.Choice(["kvm", "docker", "root"]), help="Of a node."
)
@click.option("--run", "run", metavar="NAME", help="Keep it as this run's placement (guest).")
@click.option("--save", type=click.Path(path_type=Path), help="Write the decision there.")
@trace_options
@json_option
def place(as_json: bool, setting: Setting, **told: object) -> None:
    """Spot, on demand, owned or an API: what this workload should run on, and why.

    Asks five questions on a terminal, or takes the options. With --trace FILE.csv (one a zone) or --simulate (on the
    lives in --log) it plays the policies for a deadline against what really happened.
    """
    if setting.plays:
        play_traces(setting, told, as_json=as_json)
        return
    work = workload(told)
    decided = advice(work)
    kept = record(work, decided)
    _keep(told, kept)
    if as_json:
        say_json(kept)
    else:
        say("\n".join(lines(work, decided)))


def workload(told: dict[str, object]) -> Workload:
    """What was told, and what was answered."""
    log = told["log"]
    answers = {key: _answer(key, told[key]) for key in _ASKED if key != "lifetime" or log is None}
    tau_h, clustered = _seen(log) if isinstance(log, Path) else (_tau_h(answers["lifetime"]), None)
    numbers = {key: _number(told[key]) for key in ("price", "on_demand", "owned", "api")}
    return Workload(
        episode_h=_hours("--episode", answers["episode"]),
        restart_h=_hours("--restart", answers["restart"]),
        slots=_slots(answers["slots"]),
        tau_h=tau_h,
        scored=answers["label"] == "scored",
        spot=numbers["price"],
        on_demand=numbers["on_demand"],
        owned=numbers["owned"],
        api_episode=numbers["api"],
        deadline_h=_number(told["deadline"]),
        work_h=_number(told["work"]),
        needs=tuple(map(str, told["needs"])) if isinstance(told["needs"], tuple) else (),
        currency=str(told["currency"]),
        clustered=clustered,
    )


def _answer(key: str, told: object) -> str:
    """What the option said, else what a person answers; without a terminal every one is needed."""
    if told is not None:
        return str(told)
    question, default = _ASKED[key]
    if not is_asked():
        raise click.UsageError(f"--{key} is missing: {question}")
    kind = click.Choice(["scored", "exploratory"]) if key == "label" else str
    return str(click.prompt(question, default=default, type=kind, err=True))


def is_asked() -> bool:
    """Whether somebody is there to answer."""
    return sys.stdin.isatty()


def _seen(log: Path) -> tuple[float | None, bool | None]:
    """Tau of event logs, and whether lives cluster; None where nothing was ever preempted."""
    logs = logs_of((log,))
    known = figures.of_uptimes(every_uptime(logs.by_instance, logs.newest))
    return (known.seen.tau_h if known.seen.preemptions else None), known.clustered


def _tau_h(text: str) -> float | None:
    return None if text == _UNKNOWN else _hours("--lifetime", text)


def _hours(option: str, text: str) -> float:
    try:
        hours = duration_s(text) / 3600
    except ValueError as error:
        raise click.UsageError(f"{option} {error}") from error
    if not hours > 0:
        raise click.UsageError(f'{option} "{text}" must be above 0')
    return hours


def _slots(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise click.UsageError(f'--slots "{text}" must be a whole number from 1')
    return int(text)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _keep(told: dict[str, object], kept: dict[str, object]) -> None:
    """The decision as a record: where it was asked for, and beside the run's own."""
    if isinstance(save := told["save"], Path):
        write_record(save, kept)
    if isinstance(run := told["run"], str):
        if (why := name_error(run)) is not None:
            raise Refused(why)
        root = disk_of(guest_of(this_host())).run(run).root
        if not root.is_dir():
            raise Refused(f'"{run}": no such run on this disk (spoteval run list)')
        write_record(root / "placement.json", kept)
