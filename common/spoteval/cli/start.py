"""`spoteval start`: a manual start, under a hold of its own so that nobody starts at the same time."""

import click

from spoteval.cli.common import (
    fresh_id,
    instance_of,
    maybe_store,
    patience,
    restarter_of,
    seconds_of,
    this_host,
    who,
)
from spoteval.cli.output import json_option, say_json, step
from spoteval.cli.provider import provider_of
from spoteval.clock import read_now
from spoteval.config.restarter import InstanceSettings, RestarterConfig
from spoteval.control.byhand import (
    CALL_S,
    MANUAL_START,
    OBSERVE_S,
    Watched,
    answered,
    is_running,
    record_call,
    refuse_held,
    refuse_price,
    watch,
)
from spoteval.control.handhold import hold_file, hold_object, release_files, release_objects
from spoteval.control.leftovers import KIND, ending_holds, hold_instead
from spoteval.control.refused import Failed, Refused
from spoteval.hold import Hold
from spoteval.paths import InstancePaths
from spoteval.provider.contract import Observation, Price, Provider
from spoteval.settings.kinds import seconds
from spoteval.shape import Reading, Unreadable
from spoteval.store.contract import Store

_LOOK_EVERY_S = 5.0


@click.command()
@click.argument("instance", required=False)
@click.option("--reason", default="started by hand", show_default=True, help="For the record.")
@click.option(
    "--publish-only", is_flag=True, help="After the end of a run: publish what is left, then off."
)
@click.option(
    "--within",
    default="1h",
    show_default=True,
    callback=seconds_of,
    help="With --publish-only: stopped after so long.",
)
@json_option
def start(
    instance: str | None, reason: str, publish_only: bool, within: float, as_json: bool
) -> None:
    """Start INSTANCE by hand and watch it to RUNNING; refused while any hold stands.

    A hold of its own keeps the restarter from starting too. Cut short, that hold stays: visible and safe.

    With --publish-only the end's hold may stand. Nothing is resumed, and a hold that stands to the end has the machine
    stopped.
    """
    host = this_host()
    config = restarter_of(host)
    settings = instance_of(config, instance)
    paths, store = InstancePaths(host.paths.state, settings.name), maybe_store(host)
    _free(store, paths, publish_only)
    provider = provider_of(config, settings, host.paths)
    if _runs(provider):
        raise Refused(f"{settings.name} is RUNNING already; nothing was asked")
    price = provider.price(OBSERVE_S)
    refuse_price(price, config.grant.price_cap)
    # The provider took its time: what was placed meanwhile holds too.
    ending = _free(store, paths, publish_only)
    if publish_only and store is not None:
        hold = _held_to_publish(store, paths, reason, within, ending)
    else:
        hold = hold_by_hand(store, paths, reason)
    seen = _started(config, paths, provider, price, reason)
    if not seen.reached:
        raise Failed(
            f"{settings.name} is not RUNNING after {seen.took_s:.0f} s ({seen.word}); the hold"
            f" {hold} stands (spoteval hold release {settings.name})"
        )
    step(f"RUNNING after {seen.took_s:.1f} s")
    if publish_only:
        step(
            f"publishing what is left; off when idle, at the latest after {seconds(within)}:"
            f" {hold} stands"
        )
    else:
        release_by_hand(store, paths, hold)
        step(f"released {hold}: the restarter takes over")
    if as_json:
        say_json(_record(settings, hold, price, seen))


def hold_by_hand(
    store: Store | None, paths: InstancePaths, reason: str, kind: str = "manual"
) -> str:
    """Hold the instance for the time of the start; returns the hold's name: an id, without a store the file."""
    now = read_now()
    hold = Hold(fresh_id(kind, now), paths.instance, reason, who(), now.wall)
    if store is None:
        hold_file(paths, f"{kind} start: {reason} ({who()})")
        name, strength = str(paths.hold), "read"
    else:
        name, strength = hold.id, hold_object(store, hold, may_list=True)
    step(f"held by {name} ({strength}): the restarter starts nothing meanwhile")
    return name


def _free(store: Store | None, paths: InstancePaths, publish_only: bool) -> tuple[str, ...]:
    """Raises Refused where a hold stands; with `publish_only`, one that is not of the end, whose holds it returns."""
    if not publish_only:
        refuse_held(store, paths, paths.instance)
        return ()
    if store is None:
        raise Refused("--publish-only: without a store there is nothing to publish to")
    return ending_holds(store, paths)


def _held_to_publish(
    store: Store, paths: InstancePaths, reason: str, within_s: float, ending: tuple[str, ...]
) -> str:
    """One hold in the place of the end's: it has the machine stopped when its time is over."""
    now = read_now()
    hold = Hold(
        id=fresh_id(KIND, now),
        instance=paths.instance,
        reason=f"publish only: {reason}",
        by=who(),
        at=now.wall,
        ensure_stopped=True,
        stop_after_s=within_s,
    )
    lifted = hold_instead(store, paths, hold, ending)
    step(f"held by {hold.id} (read) in the place of {', '.join(lifted)}")
    return hold.id


def release_by_hand(store: Store | None, paths: InstancePaths, hold: str) -> None:
    """Lift what `hold_by_hand` returned."""
    if store is None:
        release_files(paths, ())
    else:
        release_objects(store, paths.instance, [hold], who(), read_now().wall)


def _started(
    config: RestarterConfig,
    paths: InstancePaths,
    provider: Provider,
    price: Reading[Price],
    reason: str,
) -> Watched:
    """Ask once and watch: only RUNNING counts, whatever the call answered."""
    step(f"price: {_priced(price)}")
    record_call(paths, MANUAL_START, read_now(), reason, price)
    step(f"start asked: {answered(provider.start(CALL_S))}")
    every_s = min(config.poll.in_motion_s, _LOOK_EVERY_S)
    with patience() as waiting:
        return watch(provider, is_running, config.poll.start_window_s, every_s, waiting, read_now)


def _runs(provider: Provider) -> bool:
    seen = provider.observe(OBSERVE_S)
    return isinstance(seen, Observation) and is_running(seen)


def _priced(price: Reading[Price]) -> str:
    if isinstance(price, Unreadable):
        return f"unknown: {price.why}"
    return f"{price.amount:.2f} {price.currency}/{price.per} ({price.kind})"


def _record(
    settings: InstanceSettings, hold: str, price: Reading[Price], seen: Watched
) -> dict[str, object]:
    return {
        "instance": settings.name,
        "hold": hold,
        "price": price.record() if isinstance(price, Price) else None,
        "state": seen.word,
        "took_s": round(seen.took_s, 1),
    }
