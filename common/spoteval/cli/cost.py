"""`spoteval cost`."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from spoteval.cli.common import Host, this_host
from spoteval.cli.numbers import logs_of
from spoteval.cli.output import json_option, say, say_json
from spoteval.clock import read_now
from spoteval.control.refused import Failed
from spoteval.episode import Attempt, attempt_from
from spoteval.files import read_lines
from spoteval.placement.cost import Cost, Paid, Rates, segments
from spoteval.placement.cost import cost as of_segments
from spoteval.report.cost_lines import lines, record
from spoteval.settlement import settled_attempts

_RATE = click.FloatRange(min=0)


@click.command()
@click.argument("places", nargs=-1, type=click.Path(path_type=Path), metavar="[DIR|FILE]...")
@click.option("--episodes", type=click.IntRange(min=1), help="Completed, where no run tells it.")
@click.option("--price", type=_RATE, help="Per hour, of starts that recorded none.")
@click.option("--currency", default="USD", show_default=True, help="Of --price.")
@click.option("--stopped-price", type=_RATE, help="Per hour: disks, addresses while stopped.")
@click.option("--restarter-price", type=_RATE, help="Per hour: the small VM.")
@json_option
def cost(
    places: tuple[Path, ...],
    episodes: int | None,
    price: float | None,
    currency: str,
    stopped_price: float | None,
    restarter_price: float | None,
    as_json: bool,
) -> None:
    """What a run cost per completed, uninterrupted episode, as a range, with its parts.

    DIR is a restarter's state directory, which has the prices, and a pulled run, which has the episodes: name both, or
    a pulled run with --price.
    Rates of what is billed while stopped come from this host's configuration where it has them.
    """
    typed = Paid(price, currency, "typed", None) if price is not None else None
    logs = logs_of(places)
    lived = {
        name: segments(events, logs.newest.get(name), typed)
        for name, events in logs.by_instance.items()
    }
    attempts = tuple(_attempts(places))
    rates = _rates(this_host(), stopped_price, restarter_price)
    known = of_segments(lived, attempts or None, rates, episodes)
    _say(known, rates, as_json=as_json)


def _say(known: Cost | None, rates: Rates, *, as_json: bool) -> None:
    if known is None:
        raise Failed("no start with a price per hour (the restarter's log has them; or --price)")
    if as_json:
        say_json(record(known, rates))
    else:
        say("\n".join(lines(known, rates, read_now().wall)))


def _attempts(places: Sequence[Path]) -> Iterator[Attempt]:
    """Of pulled runs: what ended by itself, and what was cut."""
    for place in places:
        for path in sorted(place.rglob("finished.jsonl")) if place.is_dir() else ():
            for line in read_lines(path).records:
                if isinstance(found := attempt_from(line), Attempt):
                    yield found
            yield from settled_attempts(read_lines(path.with_name("settlement.jsonl")).records)


def _rates(host: Host, stopped: float | None, restarter: float | None) -> Rates:
    """What was typed, else the configuration of a restarter host."""
    config = host.restarter
    if config is None:
        return Rates(stopped, restarter)
    known = [one.stopped_price.amount for one in config.instances if one.stopped_price is not None]
    whole = sum(known) / len(known) if known else None
    own = config.costs.restarter
    return Rates(
        stopped if stopped is not None else whole,
        restarter if restarter is not None else own.amount if own is not None else None,
    )
