"""The host file of a guest."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from spoteval.config.host import read_host
from spoteval.config.run import run_plan
from spoteval.config.sections import SectionReader
from spoteval.config.server import ServerSettings, servers
from spoteval.config.shared import HostFile, StoreSettings
from spoteval.config.tables import left_to_others
from spoteval.notice.open import NOTICES
from spoteval.run import RunPlan
from spoteval.settings.keys import key, read, settings_in
from spoteval.settings.kinds import (
    ABSOLUTE,
    DURATION,
    DURATION_OR_0,
    FLAG,
    RATE,
    SHARE,
    SIZE,
    TEXT,
    choice,
)
from spoteval.shape import ShapeError, Table

SHARED = ("host", "disk", "provider", "store")
LEAST_BANDWIDTH_BYTES_S = 64_000
OWN: Mapping[str, tuple[str, ...]] = {
    "boot-resume": ("server", "run"),
    "shutdown-hook": ("shutdown",),
    "publication-follower": ("publication",),
    "idle-guard": ("idle", "server"),
    "end-handler": ("end",),
}
"""What each agent is strict about, besides the tables that all share."""


@dataclass(frozen=True, slots=True)
class GuestHost:
    """This host."""

    role: str = field(metadata=key(choice("guest"), "`guest`"))
    instance: str = field(metadata=key(TEXT, "the same name as on the restarter host"))


@dataclass(frozen=True, slots=True)
class DiskSettings:
    """The durable disk and how it proves itself: nothing is written before it has."""

    path: Path = field(default=Path("/mnt/durable"), metadata=key(ABSOLUTE, "where it is mounted"))
    identity: str = field(
        default="uuid",
        metadata=key(choice("uuid", "sentinel"), "`sentinel` for containers and network volumes"),
    )
    uuid: str | None = field(
        default=None, metadata=key(TEXT, "of its file system; required with `identity` uuid")
    )
    min_free_bytes: int = field(
        default=50 * 10**9, metadata=key(SIZE, "below this no new run is made")
    )


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """Who runs this node."""

    kind: str = field(metadata=key(choice(*NOTICES), "its page in docs/providers names more keys"))
    notice_window_s: float | None = field(
        default=None, metadata=key(DURATION, "from notice to power off; by default the kind's own")
    )


@dataclass(frozen=True, slots=True)
class ShutdownSettings:
    """Upper bounds for the steps of a stop; without them the plan follows from the notice window."""

    stop_s: float | None = field(default=None, metadata=key(DURATION_OR_0, "the run's own stop"))
    salvage_s: float | None = field(
        default=None, metadata=key(DURATION_OR_0, "copying what was in flight")
    )
    final_pass_s: float | None = field(
        default=None, metadata=key(DURATION_OR_0, "publishing the rest")
    )


@dataclass(frozen=True, slots=True)
class PublicationSettings:
    """How finished episodes reach the store."""

    every_s: float = field(default=60.0, metadata=key(DURATION, "between passes"))
    multipart_above_bytes: int = field(
        default=64 * 10**6, metadata=key(SIZE, "larger files in parts")
    )
    state_every_s: float = field(
        default=300.0,
        metadata=key(DURATION_OR_0, "between two copies of a file that changes in place"),
    )
    bandwidth_limit_bytes_s: int = field(
        default=0, metadata=key(RATE, "`0` = none, else from `64kB/s` on; a final pass has none")
    )

    def __post_init__(self) -> None:
        """Raises ShapeError for a limit by which a part would take longer than the follower's watchdog waits."""
        limit = self.bandwidth_limit_bytes_s
        if 0 < limit < LEAST_BANDWIDTH_BYTES_S:
            raise ShapeError(
                f'[publication] bandwidth_limit: "{limit}B/s" is too low ("64kB/s" or more, "0" for none)'
            )


@dataclass(frozen=True, slots=True)
class IdleSettings:
    """When a machine is idle, and for how long it may be."""

    after_s: float = field(default=1200.0, metadata=key(DURATION, "idle so long, then off"))
    cpu_above: float = field(default=0.10, metadata=key(SHARE, "more than this is work"))
    every_s: float = field(default=60.0, metadata=key(DURATION, "between looks"))
    gpu: bool = field(
        default=True,
        metadata=key(FLAG, "`false` where there is none; provider `local` never has one"),
    )
    gpu_above: float = field(default=0.05, metadata=key(SHARE, "more than this is work"))
    io_above_bytes_s: int = field(
        default=5 * 10**6, metadata=key(RATE, "a download of weights is work")
    )
    logins_count: bool = field(default=True, metadata=key(FLAG, "somebody logged in is work"))
    keep_alive_warn_s: float = field(
        default=43200.0, metadata=key(DURATION, "an older keep-alive file is an alert")
    )


@dataclass(frozen=True, slots=True)
class EndSettings:
    """What happens when a run is complete or past its deadline."""

    on_complete: str = field(
        default="power-off", metadata=key(choice("power-off", "hold-only"), "then")
    )
    publish_within_s: float = field(
        default=1800.0, metadata=key(DURATION_OR_0, "longest wait for the rest to be published")
    )


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
    multipart_above_bytes: int
    state_every_s: float
    bandwidth_limit_bytes_s: int
    servers: tuple[ServerSettings, ...]
    run: RunPlan | None
    idle: IdleSettings
    end: EndSettings
    warnings: tuple[str, ...] = ()


def read_guest(path: Path, agent: str | None = None) -> GuestConfig:
    """The guest's configuration; raises ConfigError with file, table, key, value and what is allowed.

    With `agent`, what is wrong in tables of others is in `warnings` and their defaults are in force; "" is
    strict about the shared tables alone. A table that nobody knows is an error, unless it looks like one of theirs.
    """
    return guest_of(read_host(path, "guest"), agent)


def guest_of(file: HostFile, agent: str | None = None) -> GuestConfig:
    """The same of a host file that was read."""
    strict = None if agent is None else {*SHARED, *OWN.get(agent, ())}
    lenient = left_to_others("guest", agent, SHARED, OWN) if agent is not None else ()
    reader = SectionReader(file, strict, lenient)
    host = reader.must("host", lambda root: read(GuestHost, root.table("host")))
    provider_table = reader.must("provider", lambda root: root.table("provider"))
    provider = reader.must("provider", lambda _: _provider(provider_table))
    publication = reader.table("publication", PublicationSettings)
    return GuestConfig(
        path=file.path,
        instance=host.instance,
        disk=reader.must("disk", _disk),
        provider=provider.kind,
        provider_table=provider_table,
        notice_window_s=provider.notice_window_s or NOTICES[provider.kind].window_s,
        shutdown=reader.table("shutdown", ShutdownSettings),
        store=reader.must("store", lambda root: read(StoreSettings, root.table("store"))),
        publish_every_s=publication.every_s,
        multipart_above_bytes=publication.multipart_above_bytes,
        state_every_s=publication.state_every_s,
        bandwidth_limit_bytes_s=publication.bandwidth_limit_bytes_s,
        servers=reader.part("server", servers, tuple),
        run=reader.part("run", _run, lambda: None),
        idle=reader.table("idle", IdleSettings),
        end=reader.table("end", EndSettings),
        warnings=reader.end(),
    )


def _provider(table: Table) -> ProviderSettings:
    kind = table.choice("kind", tuple(NOTICES))
    settings_in(NOTICES[kind].settings, table)
    return read(ProviderSettings, table)


def _disk(root: Table) -> DiskSettings:
    table = root.table("disk")
    found = read(DiskSettings, table)
    if found.identity == "uuid" and found.uuid is None:
        raise ShapeError("[disk] uuid: missing (blkid -s UUID prints it)")
    return found


def _run(root: Table) -> RunPlan | None:
    return run_plan(root.table("run")) if root.has("run") else None
