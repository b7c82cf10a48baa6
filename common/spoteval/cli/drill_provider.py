"""`spoteval drill provider`: ten minutes with a real account."""

from collections.abc import Iterator

import click

from spoteval.cli.common import (
    Host,
    instance_of,
    maybe_store,
    patience,
    restarter_of,
    seconds_of,
    this_host,
)
from spoteval.cli.output import json_option, say, say_json
from spoteval.cli.provider import provider_of
from spoteval.cli.start import hold_by_hand, release_by_hand
from spoteval.clock import read_now
from spoteval.config.restarter import InstanceSettings, RestarterConfig
from spoteval.config.shared import ConfigError
from spoteval.control.byhand import MANUAL_START, OBSERVE_S, record_call, refuse_held, refuse_price
from spoteval.control.providers import shared_of
from spoteval.control.refused import Failed, Refused
from spoteval.drill.provider import Step, looks, other_id, starts_and_stops
from spoteval.paths import InstancePaths
from spoteval.provider.contract import Finding, Observation, Provider, State
from spoteval.provider.open import check_provider, open_provider
from spoteval.shape import ShapeError

WHY = "drill of the provider"
_OWN = ("local", "command")


@click.command(name="provider")
@click.argument("instance", required=False)
@click.option(
    "--start-stop", is_flag=True, help="Also start INSTANCE, which is STOPPED, and stop it."
)
@click.option(
    "--within",
    default="15min",
    show_default=True,
    callback=seconds_of,
    help="With --start-stop: what has not come by then has failed.",
)
@json_option
def provider(instance: str | None, start_stop: bool, within: float, as_json: bool) -> None:
    """Try what only a real account shows: states, rights, price, an id that there is none of. It changes nothing.

    With --start-stop one start and one stop besides, under a hold of their own, so that the restarter does nothing
    meanwhile. Cut short, that hold stays. `open` is no failure and no proof. Exit 1 where a step failed.
    """
    host = this_host()
    config = restarter_of(host)
    if start_stop and instance is None:
        raise Refused("--start-stop: name the instance that may be started and stopped")
    settings = instance_of(config, instance)
    found = []
    for one in _steps(host, config, settings, within if start_stop else None):
        found.append(one)
        if not as_json:
            say(one.line)
    failed = [one.what for one in found if one.passed is False]
    if as_json:
        steps = [one.record() for one in found]
        say_json({"instance": settings.name, "passed": not failed, "steps": steps})
    if failed:
        raise Failed(f"{settings.name}: failed: {', '.join(failed)}")


def _steps(
    host: Host, config: RestarterConfig, settings: InstanceSettings, within_s: float | None
) -> Iterator[Step]:
    real = provider_of(config, settings, host.paths)
    yield from looks(real, _absent(host, settings), _findings(host, settings), read_now)
    if within_s is not None:
        yield from _acts(host, config, settings, real, within_s)


def _absent(host: Host, settings: InstanceSettings) -> Provider | None:
    """Own programs know no ids but those that they are given."""
    if settings.provider in _OWN:
        return None
    try:
        shared = shared_of(host.paths.credentials)
        return open_provider(settings.provider, other_id(settings.table), shared)
    except ShapeError:
        return None


def _findings(host: Host, settings: InstanceSettings) -> list[Finding]:
    try:
        shared = shared_of(host.paths.credentials)
        return list(check_provider(settings.provider, settings.table, shared))
    except ShapeError as error:
        raise ConfigError(str(error)) from error


def _acts(
    host: Host, config: RestarterConfig, settings: InstanceSettings, real: Provider, within_s: float
) -> Iterator[Step]:
    """Under a hold, which is lifted only where the machine is known to be off."""
    paths, store = InstancePaths(host.paths.state, settings.name), maybe_store(host)
    refuse_held(store, paths, settings.name)
    seen = real.observe(OBSERVE_S)
    if not (isinstance(seen, Observation) and seen.state is State.STOPPED):
        raise Refused(f"{settings.name} is not STOPPED; nothing was asked")
    price = real.price(OBSERVE_S)
    refuse_price(price, config.grant.price_cap)
    hold = hold_by_hand(store, paths, WHY, "drill")
    record_call(paths, MANUAL_START, read_now(), WHY, price, {"rehearsal": True})
    is_over = False
    with patience() as waiting:
        for step in starts_and_stops(real, within_s, waiting, read_now):
            is_over = is_over or (step.what.startswith("STOPPED") and step.passed is True)
            yield step
    if not is_over:
        lift = f"spoteval hold release {settings.name}"
        raise Failed(f"{settings.name} is not known to be off; {hold} stands ({lift})")
    release_by_hand(store, paths, hold)
    yield Step("hold released", hold, passed=True)
