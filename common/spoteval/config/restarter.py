"""The host file of a restarter host."""

from dataclasses import dataclass
from pathlib import Path

from spoteval.config.host import fail, read_host
from spoteval.config.shared import (
    PROVIDERS,
    Money,
    StoreSettings,
    money,
    refuse_unknown,
    store_settings,
)
from spoteval.instance import instance_error
from spoteval.shape import ShapeError, Table


@dataclass(frozen=True, slots=True)
class InstanceSettings:
    """One instance that the restarter serves. `id` is private and never in a shared report."""

    name: str
    provider: str
    id: str
    table: Table
    price: Money | None = None
    stopped_price: Money | None = None


@dataclass(frozen=True, slots=True)
class PollSettings:
    """The restarter's times, in seconds."""

    every_s: float = 60.0
    in_motion_s: float = 10.0
    grace_s: float = 60.0
    start_window_s: float = 900.0
    backoff_max_s: float = 1200.0
    short_run_s: float = 600.0
    loop_guard: int = 5


@dataclass(frozen=True, slots=True)
class Grant:
    """The outer limits of what may be spent."""

    price_cap: Money | None = None


@dataclass(frozen=True, slots=True)
class RestarterConfig:
    """Everything the restarter reads."""

    path: Path
    store: StoreSettings
    instances: tuple[InstanceSettings, ...]
    poll: PollSettings
    grant: Grant


def read_restarter(path: Path) -> RestarterConfig:
    """The restarter's configuration; raises ConfigError with file, table, key, value and what is allowed."""
    host = read_host(path, "restarter")
    root = host.root()
    try:
        config = RestarterConfig(
            path=path,
            store=store_settings(root),
            instances=tuple(_instance(name, table) for name, table in root.each("instance")),
            poll=_poll(root.table("poll", {})),
            grant=_grant(root.table("grant", {})),
        )
        for known in ("host", "costs", "monitor", "alerts"):
            root.has(known)
        refuse_unknown(root)
    except ShapeError as error:
        fail(path, str(error))
    if not config.instances:
        fail(path, "[instance]: missing (at least one table [instance.NAME] with provider and id)")
    return config


def _instance(name: str, table: Table) -> InstanceSettings:
    if (why := instance_error(name)) is not None:
        raise ShapeError(f"[instance] {why}")
    for known in ("type", "region", "identity", "ssh"):
        table.has(known)
    return InstanceSettings(
        name=name,
        provider=table.choice("provider", PROVIDERS),
        id=table.text("id"),
        table=table,
        price=money(table, "price"),
        stopped_price=money(table, "stopped_price"),
    )


def _poll(table: Table) -> PollSettings:
    settings = PollSettings(
        every_s=table.duration_s("every", "60s"),
        in_motion_s=table.duration_s("in_motion", "10s"),
        grace_s=table.duration_s("grace", "60s"),
        start_window_s=table.duration_s("start_window", "15min"),
        backoff_max_s=table.duration_s("backoff_max", "20min"),
        short_run_s=table.duration_s("short_run", "10min"),
        loop_guard=table.whole("loop_guard", 5),
    )
    refuse_unknown(table)
    return settings


def _grant(table: Table) -> Grant:
    grant = Grant(price_cap=money(table, "price_cap"))
    later = ("spend", "starts", "regions", "types", "until", "failed_starts")
    for known in (*later, "preemptions_before_healthy", "preemptions_before_episodes"):
        table.has(known)
    refuse_unknown(table)
    return grant
