"""The configuration in force: every value and where it came from."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from spoteval.config.guest import GuestConfig
from spoteval.config.restarter import RestarterConfig
from spoteval.config.shared import HostFile, Money, StoreSettings
from spoteval.run import RunPlan

FILE, DEFAULT, ENVIRONMENT, RUN = "file", "default", "environment", "run"


@dataclass(frozen=True, slots=True)
class Shown:
    """One value. `place` is where it is typed: table and key."""

    place: str
    value: str
    source: str

    def record(self) -> dict[str, object]:
        """As JSON."""
        return {"place": self.place, "value": self.value, "source": self.source}


def guest_values(file: HostFile, config: GuestConfig) -> list[Shown]:
    """The guest's values, `[run]` last."""
    pairs = [
        ("host.role", "guest"),
        ("host.instance", config.instance),
        ("disk.path", str(config.disk.path)),
        ("disk.identity", config.disk.identity),
        ("disk.uuid", config.disk.uuid or "none"),
        ("disk.min_free", _bytes(config.disk.min_free_bytes)),
        ("provider.kind", config.provider),
        ("provider.notice_window", _s(config.notice_window_s)),
        ("shutdown.stop", _plan(config.shutdown.stop_s)),
        ("shutdown.salvage", _plan(config.shutdown.salvage_s)),
        ("shutdown.final_pass", _plan(config.shutdown.final_pass_s)),
        *_store(config.store),
        ("publication.every", _s(config.publish_every_s)),
        *_servers(config),
        ("idle.after", _s(config.idle.after_s)),
        ("idle.cpu_above", f"{config.idle.cpu_above * 100:g}%"),
        ("idle.every", _s(config.idle.every_s)),
        ("end.on_complete", config.end.on_complete),
        ("end.publish_within", _s(config.end.publish_within_s)),
        *(run_pairs(config.run) if config.run is not None else ()),
    ]
    return [Shown(place, value, source_of(file.tables, place)) for place, value in pairs]


def restarter_values(file: HostFile, config: RestarterConfig) -> list[Shown]:
    """The restarter's values."""
    poll, cap = config.poll, config.grant.price_cap
    pairs = [
        ("host.role", "restarter"),
        *_store(config.store),
        *(pair for one in config.instances for pair in _instance(one.name, one.provider, one.id)),
        ("poll.every", _s(poll.every_s)),
        ("poll.in_motion", _s(poll.in_motion_s)),
        ("poll.grace", _s(poll.grace_s)),
        ("poll.start_window", _s(poll.start_window_s)),
        ("poll.backoff_max", _s(poll.backoff_max_s)),
        ("grant.price_cap", _money(cap) if cap is not None else "none"),
    ]
    return [Shown(place, value, source_of(file.tables, place)) for place, value in pairs]


def run_pairs(plan: RunPlan) -> Iterator[tuple[str, str]]:
    """The values of a plan, as they are typed in `[run]`."""
    for key, value in plan.record().items():
        if key in ("stop_rules", "preflight_within_s"):
            continue
        yield f"run.{key}", "auto" if key == "expected" and value is None else _text(value)
    yield "run.preflight_within", _s(plan.preflight_within_s)


def differences(frozen: RunPlan, file: RunPlan | None) -> list[str]:
    """Where the file says otherwise than the run that was frozen: the run wins."""
    if file is None:
        return []
    typed = dict(run_pairs(file))
    return [
        f"config differs: {place} {value} (run) {typed[place]} (file)"
        for place, value in run_pairs(frozen)
        if typed[place] != value
    ]


def source_of(tables: Mapping[str, object], place: str) -> str:
    """`file` where the key was typed, else `default`."""
    found: object = tables
    for word in place.split("."):
        if isinstance(found, Sequence) and not isinstance(found, str):
            found = found[int(word)] if word.isdigit() and int(word) < len(found) else None
        else:
            found = found.get(word) if isinstance(found, Mapping) else None
        if found is None:
            return DEFAULT
    return FILE


def _store(store: StoreSettings) -> Iterator[tuple[str, str]]:
    yield "store.url", store.url
    yield "store.credential", store.credential or "none"


def _servers(config: GuestConfig) -> Iterator[tuple[str, str]]:
    for number, server in enumerate(config.servers):
        base = f"server.{number}"
        yield f"{base}.name", server.name
        yield f"{base}.unit", server.unit
        yield f"{base}.url", server.url
        yield f"{base}.kind", server.kind
        yield f"{base}.model", server.model
        yield f"{base}.credential", server.credential or "none"
        yield f"{base}.ready_within", _s(server.ready_within_s)


def _instance(name: str, provider: str, provider_id: str) -> Iterator[tuple[str, str]]:
    yield f"instance.{name}.provider", provider
    yield f"instance.{name}.id", provider_id


def _s(seconds: float) -> str:
    for unit, length in (("h", 3600.0), ("min", 60.0)):
        if seconds >= length and seconds % length == 0:
            return f"{seconds / length:g}{unit}"
    return f"{seconds:g}s"


def _bytes(count: int) -> str:
    units = (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3))
    return next((f"{count / size:g}{unit}" for unit, size in units if count >= size), f"{count}B")


def _plan(seconds: float | None) -> str:
    return "the plan's own" if seconds is None else _s(seconds)


def _money(value: Money) -> str:
    return f"{value.amount:.2f} {value.currency}" + (f"/{value.per}" if value.per else "")


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{key}={item}" for key, item in value.items()) or "none"
    if isinstance(value, list):
        return " ".join(str(item) for item in value) or "none"
    return "none" if value in (None, "") else str(value)
