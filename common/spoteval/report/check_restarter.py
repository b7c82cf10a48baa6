"""The checks of a restarter host."""

from collections.abc import Iterator

from spoteval.config.restarter import InstanceSettings, RestarterConfig
from spoteval.control.holds import look
from spoteval.paths import HostPaths, InstancePaths
from spoteval.provider.contract import Provider
from spoteval.provider.open import open_provider
from spoteval.report.agents import is_running
from spoteval.report.check import Check, fail, ok, warn
from spoteval.report.check_guest import put_check
from spoteval.shape import ShapeError, Unreadable
from spoteval.store.contract import Store, StoreError

OBSERVE_S = 10.0


def restarter_checks(config: RestarterConfig, paths: HostPaths, store: Store) -> Iterator[Check]:
    """Everything that can be looked at without starting anything; the provider is asked for states and prices."""
    for instance in config.instances:
        yield from _instance(config, instance)
        yield put_check(store, instance.name)
        yield _listing(store, instance.name)
        yield _holds(paths, instance.name)
    if not is_running(paths.state / "restarter.lock"):
        yield warn("agent", "restarter does not run (systemctl enable --now spoteval-restarter)")


def _instance(config: RestarterConfig, instance: InstanceSettings) -> Iterator[Check]:
    try:
        provider = open_provider(instance.provider, instance.table)
    except ShapeError as error:
        yield fail("provider", f"{config.path}: {error}", 2)
        return
    for why in instance.table.unknown():
        yield fail("config", f"{config.path}: {why}", 2)
    seen = provider.observe(OBSERVE_S)
    if isinstance(seen, Unreadable):
        yield fail("provider", f"{instance.name}: {seen.why}")
        return
    yield ok("provider", f"{instance.name} is {seen.state.value}")
    yield from _price(config, provider)


def _price(config: RestarterConfig, provider: Provider) -> Iterator[Check]:
    """A cap means nothing without a price."""
    cap = config.grant.price_cap
    if cap is None:
        yield warn("price", "no cap: [grant] price_cap is not set")
        return
    price = provider.price(OBSERVE_S)
    if isinstance(price, Unreadable):
        yield fail("price", f"a cap is set and the price cannot be read: {price.why}")
        return
    rate = f"{price.amount:.2f} {price.currency}/{price.per}"
    yield ok("price", f"cap {cap.amount:.2f} {cap.currency}, now {rate} ({price.kind})")


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
