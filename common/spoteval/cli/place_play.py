"""`spoteval place --trace` and `--simulate`: the policies for a deadline against what really happened."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from spoteval.cli.numbers import hours_of, logs_of
from spoteval.cli.output import say, say_json, table
from spoteval.config.shared import ConfigError
from spoteval.control.refused import Failed
from spoteval.placement.simulation.market import Market, Zone, read_zone
from spoteval.placement.simulation.table import Task, rows, sampled
from spoteval.placement.spells import SpellError
from spoteval.placement.uptimes import Uptime, uptimes
from spoteval.report.policy_lines import HEAD, cells, record
from spoteval.shape import duration_s

HOUR_S = 3600.0
_COUNT = click.IntRange(min=1)


@dataclass(frozen=True, slots=True)
class Setting:
    """The options of a simulation."""

    traces: tuple[Path, ...]
    simulate: bool
    median_h: float | None
    sigma: float
    samples: int
    seed: int

    @property
    def plays(self) -> bool:
        """Whether anything is to be simulated."""
        return bool(self.traces) or self.simulate


def trace_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a simulation as one argument `setting`."""

    @click.option(
        "--trace", "traces", multiple=True, type=click.Path(path_type=Path), help="A zone."
    )
    @click.option("--simulate", is_flag=True, help="Play on the lives in --log.")
    @click.option("--episode-median", metavar="DURATION", callback=hours_of, help="Of durations.")
    @click.option(
        "--episode-sigma", type=click.FloatRange(0, 3), default=0.6, help="Lognormal (0.6)."
    )
    @click.option("--samples", type=_COUNT, default=60, help="Starts to play (60).")
    @click.option("--seed", type=int, default=1, help="Of starts and durations (1).")
    @wraps(command)
    def wrapped(**told: Any) -> None:
        setting = Setting(
            traces=told.pop("traces"),
            simulate=told.pop("simulate"),
            median_h=told.pop("episode_median"),
            sigma=told.pop("episode_sigma"),
            samples=told.pop("samples"),
            seed=told.pop("seed"),
        )
        command(setting=setting, **told)

    return wrapped


def play_traces(setting: Setting, told: dict[str, object], *, as_json: bool) -> None:
    """Every policy from so many starts at random; the same starts and episodes for all of them."""
    market = _market(setting, told)
    task = _task(setting, told)
    try:
        found = sampled(market, task, setting.samples, setting.seed)
    except ValueError as error:
        raise Failed(str(error)) from error
    known = rows(found)
    whole = sum(one.clairvoyant for one in found) / len(found)
    if as_json:
        say_json(record(known, whole, setting.samples))
        return
    note = f"{setting.samples} starts; a plan that knows all costs {whole:.3f} of the bound"
    say("\n".join([*table(cells(known), HEAD), note]))


def _market(setting: Setting, told: dict[str, object]) -> Market:
    log = told["log"]
    if setting.simulate and not isinstance(log, Path):
        raise click.UsageError("--simulate needs --log: the event logs to play on")
    try:
        zones = [read_zone(path) for path in setting.traces]
    except SpellError as error:
        raise ConfigError(str(error)) from error
    if isinstance(log, Path) and setting.simulate:
        logs = logs_of((log,))
        lived = [
            uptimes(events, logs.newest.get(name)) for name, events in logs.by_instance.items()
        ]
        zones += [_zone(found) for found in lived if found]
    if not zones:
        raise Failed("no life in these logs: nothing to play on")
    return zones


def _zone(found: Sequence[Uptime]) -> Zone:
    """The lives of one machine as the spells of a pool: between them there was none."""
    spells = []
    for one in found:
        began = one.began.timestamp() / HOUR_S
        spells.append((began, began + one.life.middle_h))
    return Zone(tuple(spells), spells[0][0], max(high for _, high in spells))


def _task(setting: Setting, told: dict[str, object]) -> Task:
    median_h = setting.median_h or _hours(told, "episode")
    return Task(
        median_h=median_h,
        sigma=setting.sigma,
        work_h=_needed(told, "work"),
        slots=int(str(told["slots"] or 16)),
        deadline_h=_needed(told, "deadline"),
        restart_h=_hours(told, "restart"),
        price=_needed(told, "price"),
        on_demand=_needed(told, "on_demand"),
    )


def _needed(told: dict[str, object], key: str) -> float:
    value = told[key]
    if not isinstance(value, int | float) or not value > 0:
        raise click.UsageError(f"--{key.replace('_', '-')} is needed for a simulation, above 0")
    return float(value)


def _hours(told: dict[str, object], key: str) -> float:
    if told[key] is None:
        raise click.UsageError(f"--{key} is needed for a simulation")
    try:
        return duration_s(str(told[key])) / HOUR_S
    except ValueError as error:
        raise click.UsageError(f"--{key} {error}") from error
