"""The checks of a restarter host."""

from collections.abc import Iterator

from spoteval.clock import Now, stamp
from spoteval.config.restarter import InstanceSettings, RestarterConfig
from spoteval.config.shared import ConfigError
from spoteval.control.dropins import restarter_credentials, restarter_dropins
from spoteval.control.holds import look
from spoteval.control.providers import shared_of
from spoteval.control.setting_up import present
from spoteval.paths import HostPaths, InstancePaths
from spoteval.provider.contract import Finding, Price, Provider
from spoteval.provider.open import check_provider, open_provider
from spoteval.provider.shared import Shared
from spoteval.report.agents import is_running
from spoteval.report.check import Check, fail, ok, warn
from spoteval.report.check_clock import clock_check
from spoteval.report.check_store import folder_check, probed, read_check
from spoteval.report.check_units import dropin_check, is_this_host
from spoteval.shape import ShapeError, Unreadable
from spoteval.store.contract import Store, StoreError

OBSERVE_S = 10.0


def restarter_checks(
    config: RestarterConfig, paths: HostPaths, store: Store | None, now: Now
) -> Iterator[Check]:
    """Everything that can be looked at without starting anything; the provider is asked for states and prices.

    `store` None: there is none to be asked.
    """
    yield from _until(config, now)
    shared = shared_of(paths.credentials)
    for instance in config.instances:
        yield from _instance(config, instance, shared, now)
        if store is not None:
            yield from probed(store, instance.name, paths.state, now)
            yield _listing(store, instance.name)
            yield read_check(store, instance.name)
        yield _holds(paths, instance.name)
    if store is not None:
        yield from folder_check(store)
    if config.shared_store is None and store is None:
        yield warn("store", 'none, as [host] holds is ["local"]: no fact of a guest is seen')
    yield clock_check(now)
    if is_this_host(paths):
        there = present(restarter_credentials(config), paths.credentials)
        yield from dropin_check(restarter_dropins(config, paths.credentials, there), "restarter")
    if not is_running(paths.state / "restarter.lock"):
        yield warn("agent", "restarter does not run (systemctl enable --now spoteval-restarter)")


def _until(config: RestarterConfig, now: Now) -> Iterator[Check]:
    until = config.grant.until
    if until is not None and until <= now.wall:
        yield fail("grant", f"[grant] until {stamp(until)} is past: nothing is started")


def _instance(
    config: RestarterConfig, instance: InstanceSettings, shared: Shared, now: Now
) -> Iterator[Check]:
    yield from _allowed(config, instance)
    try:
        provider = open_provider(instance.provider, instance.table, shared)
        findings = check_provider(instance.provider, instance.table, shared)
    except ShapeError as error:
        yield fail("provider", f"{config.path}: {error}", 2)
        return
    except ConfigError as error:
        yield fail("provider", str(error), 2)
        return
    seen = provider.observe(OBSERVE_S)
    if isinstance(seen, Unreadable):
        yield fail("provider", f"{instance.name}: {seen.why}")
    else:
        yield ok("provider", f"{instance.name} is {seen.state.value}")
    yield from (_finding(instance.name, finding) for finding in findings)
    if not isinstance(seen, Unreadable):
        yield from _price(config, provider, now)


def _finding(instance: str, finding: Finding) -> Check:
    """What its provider's own check says: a right that is lacking hinders, or makes causes and prices unknown."""
    text = f"{instance}: {finding.what}: {finding.text}"
    if finding.verdict == "ok":
        return ok("provider", text)
    if finding.verdict == "missing":
        return fail("provider", text)
    return warn("provider", text)


def _allowed(config: RestarterConfig, instance: InstanceSettings) -> Iterator[Check]:
    """An instance outside the grant is never started: that is better known today."""
    if not config.grant.allows(instance.type, instance.region):
        place = f"type {instance.type or 'unknown'}, region {instance.region or 'unknown'}"
        yield fail("grant", f"{instance.name}: {place}: not in types and regions of [grant]")


def _price(config: RestarterConfig, provider: Provider, now: Now) -> Iterator[Check]:
    """A cap means nothing without a price."""
    cap = config.grant.price_cap
    if cap is None:
        yield warn("price", "no cap: [grant] price_cap is not set")
        return
    price = provider.price(OBSERVE_S)
    if isinstance(price, Unreadable):
        yield fail("price", f"a cap is set and the price cannot be read: {price.why}")
        return
    unit = (price.currency, price.per)
    if unit != (cap.currency, cap.per):
        yield fail(
            "price", f"in {unit[0]} per {unit[1]}, the cap is in {cap.currency} per {cap.per}"
        )
        return
    rate = f"{price.amount:.2f} {price.currency}/{price.per}"
    if price.kind == "configured":
        day, age = price.as_of.date().isoformat(), _days(price, now)
        yield warn("price", f"cap set, price comes from this file, dated {day} ({age} old)")
    yield ok("price", f"cap {cap.amount:.2f} {cap.currency}, now {rate} ({price.kind})")


def _days(price: Price, now: Now) -> str:
    days = (now.wall.date() - price.as_of.date()).days
    return f"{days} day{'' if days == 1 else 's'}"


def _listing(store: Store, instance: str) -> Check:
    try:
        standing = look(store, instance).standing
    except StoreError as error:
        return fail("store", str(error))
    holds = f"{len(standing)} hold{'' if len(standing) == 1 else 's'} in it"
    return ok("store", f"list of instances/{instance}/ works, {holds}")


def _holds(paths: HostPaths, instance: str) -> Check:
    own = InstancePaths(paths.state, instance).hold
    if not own.parent.is_dir():
        return fail("holds", f"{own.parent}: no such directory, which is a hold (mkdir -p it)")
    if own.exists():
        return warn("holds", f"{own} stands: nothing is started")
    return ok("holds", f"{own.parent}")
