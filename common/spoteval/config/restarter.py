"""The host file of a restarter host."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from spoteval.config.grant import Grant
from spoteval.config.host import fail, read_host
from spoteval.config.monitor import AlertSettings, CostSettings, MonitorSettings
from spoteval.config.sections import SectionReader
from spoteval.config.shared import ConfigError, HostFile, StoreSettings
from spoteval.config.tables import left_to_others
from spoteval.config.tunnel import TunnelSettings, tunnels
from spoteval.instance import instance_error
from spoteval.provider.open import PROVIDERS
from spoteval.settings.keys import key, keys_of, read, refuse_unknown, values_of
from spoteval.settings.kinds import (
    DURATION,
    DURATION_OR_0,
    RATE_PER_HOUR,
    TEXT,
    choice,
    choices,
    whole,
)
from spoteval.settings.money import Money
from spoteval.shape import ShapeError, Table

LOCAL, STORE = "local", "store"
SHARED = ("host", "store", "instance")
_ALSO_OWN = ("id", "identity", "region")
"""Keys that all instances have, and that some kinds describe in their own way."""
OWN: Mapping[str, tuple[str, ...]] = {"restarter": ("poll", "grant")}
"""What an agent is strict about, besides the tables that all share."""


@dataclass(frozen=True, slots=True)
class RestarterHost:
    """This host. `holds`: where holds are read, `local` (files on this host) and `store`."""

    role: str = field(metadata=key(choice("restarter"), "`restarter`"))
    holds: tuple[str, ...] = field(
        default=(LOCAL, STORE),
        metadata=key(
            choices(LOCAL, STORE), 'where holds are read; ["local"]: files alone, without a store'
        ),
    )


@dataclass(frozen=True, slots=True)
class InstanceSettings:
    """One instance that the restarter serves. `id` is private and never in a shared report."""

    name: str
    provider: str = field(
        metadata=key(choice(*PROVIDERS), "who runs it; its page in docs/providers names more keys")
    )
    id: str = field(metadata=key(TEXT, "the provider's own name for it; never in a shared report"))
    table: Table
    price: Money | None = field(
        default=None,
        metadata=key(RATE_PER_HOUR, "what an hour costs, where the provider has no live price"),
    )
    stopped_price: Money | None = field(
        default=None, metadata=key(RATE_PER_HOUR, "what an hour costs while it is stopped")
    )
    type: str | None = field(default=None, metadata=key(TEXT, "held against the types of [grant]"))
    region: str | None = field(
        default=None, metadata=key(TEXT, "held against the regions of [grant]")
    )
    identity: str = field(
        default="instance",
        metadata=key(
            TEXT, "who asks: `instance` (this host's own), or a file of credentials", later=True
        ),
    )
    ssh: str | None = field(
        default=None, metadata=key(TEXT, "user@host, so that `stop` can place the guest hold")
    )


@dataclass(frozen=True, slots=True)
class PollSettings:
    """The restarter's times."""

    every_s: float = field(
        default=60.0, metadata=key(DURATION, "between looks at an instance at rest")
    )
    in_motion_s: float = field(
        default=10.0,
        metadata=key(DURATION, "between looks while it starts or stops, in grace, start pending"),
    )
    grace_s: float = field(
        default=60.0, metadata=key(DURATION_OR_0, "after the first look that saw STOPPED")
    )
    start_window_s: float = field(
        default=900.0, metadata=key(DURATION, "not RUNNING by then = capacity failure")
    )
    backoff_max_s: float = field(
        default=1200.0, metadata=key(DURATION_OR_0, "longest wait after failed starts")
    )
    short_run_s: float = field(
        default=600.0, metadata=key(DURATION_OR_0, "a run that was stopped sooner is a short one")
    )
    loop_guard: int = field(default=5, metadata=key(whole(2), "short runs in a row, then a pause"))


@dataclass(frozen=True, slots=True)
class RestarterConfig:
    """Everything the restarter reads. `shared_store` None: holds are local files alone."""

    path: Path
    holds: tuple[str, ...]
    shared_store: StoreSettings | None
    instances: tuple[InstanceSettings, ...]
    poll: PollSettings
    grant: Grant
    costs: CostSettings
    monitor: MonitorSettings
    alerts: AlertSettings
    tunnels: tuple[TunnelSettings, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def store(self) -> StoreSettings:
        """The store; raises ConfigError on a host that has none."""
        if self.shared_store is None:
            raise ConfigError(f'{self.path}: [store]: missing, as [host] holds is ["{LOCAL}"]')
        return self.shared_store


def read_restarter(path: Path, agent: str | None = None) -> RestarterConfig:
    """The restarter's configuration; raises ConfigError with file, table, key, value and what is allowed.

    With `agent`, what is wrong in tables of others is in `warnings` and their defaults are in force; "" is
    strict about the shared tables alone. A table that nobody knows is an error, unless it looks like one of theirs.
    """
    return restarter_of(read_host(path, "restarter"), agent)


def restarter_of(file: HostFile, agent: str | None = None) -> RestarterConfig:
    """The same of a host file that was read."""
    strict = None if agent is None else {*SHARED, *OWN.get(agent, ())}
    lenient = left_to_others("restarter", agent, SHARED, OWN) if agent is not None else ()
    reader = SectionReader(file, strict, lenient)
    host = reader.must("host", lambda root: read(RestarterHost, root.table("host")))
    instances = reader.must("instance", _instances)
    names = [instance.name for instance in instances]
    config = RestarterConfig(
        path=file.path,
        holds=host.holds,
        shared_store=reader.must("store", lambda root: _store(root, host.holds)),
        instances=instances,
        poll=reader.table("poll", PollSettings),
        grant=reader.table("grant", Grant),
        costs=reader.table("costs", CostSettings),
        monitor=reader.table("monitor", MonitorSettings),
        alerts=reader.table("alerts", AlertSettings),
        tunnels=reader.part("tunnel", lambda root: tunnels(root, names), tuple),
        warnings=reader.end(),
    )
    if not config.instances:
        fail(
            file.path,
            "[instance]: missing (at least one table [instance.NAME] with provider and id)",
        )
    return config


def _store(root: Table, holds: tuple[str, ...]) -> StoreSettings | None:
    if STORE in holds and not root.has("store"):
        raise ShapeError(f'store: missing (or [host] holds = ["{LOCAL}"])')
    if STORE in holds:
        return read(StoreSettings, root.table("store"))
    if root.has("store"):
        raise ShapeError(
            f'[host] holds ["{LOCAL}"]: a [store] is set whose holds nobody would read'
            f' (add "{STORE}", or remove [store])'
        )
    return None


def _instances(root: Table) -> tuple[InstanceSettings, ...]:
    return tuple(_instance(name, table) for name, table in root.each("instance"))


def _instance(name: str, table: Table) -> InstanceSettings:
    if (why := instance_error(name)) is not None:
        raise ShapeError(f"[instance] {why}")
    own = PROVIDERS[table.choice("provider", tuple(PROVIDERS))].settings
    others = {item.name for item in keys_of(own)}
    values = dict(values_of(InstanceSettings, table, but=others))
    own_values = dict(values_of(own, table))
    refuse_unknown(table)
    price = own_values.get("price")
    if isinstance(price, Money):
        values["price"] = price
    values |= {name: own_values[name] for name in _ALSO_OWN if name in own_values}
    return _made(name, table, values)


def _made(name: str, table: Table, values: Mapping[str, object]) -> InstanceSettings:
    make: Callable[..., InstanceSettings] = InstanceSettings
    return make(name=name, table=table, **values)
