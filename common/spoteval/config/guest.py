"""The host file of a guest."""

from dataclasses import dataclass
from pathlib import Path

from spoteval.config.host import fail, read_host
from spoteval.config.run import run_plan
from spoteval.config.server import ServerSettings, servers
from spoteval.config.shared import PROVIDERS, StoreSettings, refuse_unknown, store_settings
from spoteval.run import RunPlan
from spoteval.shape import ShapeError, Table

NOTICE_WINDOW = {"local": "8s"}


@dataclass(frozen=True, slots=True)
class DiskSettings:
    """The durable disk and how it proves itself."""

    path: Path
    identity: str
    uuid: str | None
    min_free_bytes: int


@dataclass(frozen=True, slots=True)
class ShutdownSettings:
    """Upper bounds that were typed for the stop plan; None = the plan's own."""

    stop_s: float | None = None
    salvage_s: float | None = None
    final_pass_s: float | None = None


@dataclass(frozen=True, slots=True)
class IdleSettings:
    """When a machine is idle, and for how long it may be."""

    after_s: float = 1200.0
    cpu_above: float = 0.10
    every_s: float = 60.0


@dataclass(frozen=True, slots=True)
class EndSettings:
    """What happens when a run is complete."""

    on_complete: str = "power-off"
    publish_within_s: float = 1800.0


@dataclass(frozen=True, slots=True)
class GuestConfig:
    """Everything a guest's agents read."""

    path: Path
    instance: str
    disk: DiskSettings
    provider: str
    provider_table: Table
    notice_window_s: float
    shutdown: ShutdownSettings
    store: StoreSettings
    publish_every_s: float
    servers: tuple[ServerSettings, ...]
    run: RunPlan | None
    idle: IdleSettings
    end: EndSettings


def read_guest(path: Path) -> GuestConfig:
    """The guest's configuration; raises ConfigError with file, table, key, value and what is allowed."""
    host = read_host(path, "guest")
    try:
        config = _guest(path, host.instance or "", host.root())
    except ShapeError as error:
        fail(path, str(error))
    return config


def _guest(path: Path, instance: str, root: Table) -> GuestConfig:
    root.has("host")
    provider = root.table("provider")
    kind = provider.choice("kind", PROVIDERS)
    config = GuestConfig(
        path=path,
        instance=instance,
        disk=_disk(root.table("disk")),
        provider=kind,
        provider_table=provider,
        notice_window_s=provider.duration_s("notice_window", NOTICE_WINDOW[kind]),
        shutdown=_shutdown(root.table("shutdown", {})),
        store=store_settings(root),
        publish_every_s=_publication(root.table("publication", {})),
        servers=servers(root),
        run=run_plan(root.table("run")) if root.has("run") else None,
        idle=_idle(root.table("idle", {})),
        end=_end(root.table("end", {})),
    )
    refuse_unknown(root)
    return config


def _disk(table: Table) -> DiskSettings:
    identity = table.choice("identity", ("uuid", "sentinel"), "uuid")
    uuid = table.text("uuid") if identity == "uuid" else table.maybe_text("uuid")
    path = Path(table.text("path", "/mnt/durable"))
    if not path.is_absolute():
        raise table.error("path", "an absolute path")
    settings = DiskSettings(path, identity, uuid, table.size_bytes("min_free", "50GB"))
    refuse_unknown(table)
    return settings


def _shutdown(table: Table) -> ShutdownSettings:
    settings = ShutdownSettings(
        stop_s=table.duration_s("stop") if table.has("stop") else None,
        salvage_s=table.duration_s("salvage") if table.has("salvage") else None,
        final_pass_s=table.duration_s("final_pass") if table.has("final_pass") else None,
    )
    refuse_unknown(table)
    return settings


def _publication(table: Table) -> float:
    every_s = table.duration_s("every", "60s")
    table.size_bytes("multipart_above", "64MB")
    table.text("bandwidth_limit", "0")
    refuse_unknown(table)
    return every_s


def _idle(table: Table) -> IdleSettings:
    settings = IdleSettings(
        after_s=table.duration_s("after", "20min"),
        cpu_above=_percent(table, "cpu_above", "10%"),
        every_s=table.duration_s("every", "60s"),
    )
    for later in ("gpu_above", "io_above", "logins_count", "keep_alive_warn"):
        table.has(later)
    refuse_unknown(table)
    return settings


def _percent(table: Table, key: str, default: str) -> float:
    text = table.text(key, default)
    if not (text.endswith("%") and text[:-1].strip().replace(".", "", 1).isdigit()):
        raise table.error(key, 'a share such as "10%"')
    return float(text[:-1]) / 100


def _end(table: Table) -> EndSettings:
    settings = EndSettings(
        on_complete=table.choice("on_complete", ("power-off", "hold-only"), "power-off"),
        publish_within_s=table.duration_s("publish_within", "30min"),
    )
    refuse_unknown(table)
    return settings
