"""Many local instances without a machine behind any: states, locks, facts and signs of life, as files."""

import fcntl
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from spoteval.clock import stamp
from spoteval.files import encoded
from spoteval.local.cloud import CloudFiles
from spoteval.publication.keys import fact_key, heartbeat_key, record_key
from spoteval.run import RunPlan, RunRecord

FACTS = ("booted", "healthy", "first-episode", "finished-20")
BOOTS, BEATS = 3, 10
HEAD = """[host]
role = "restarter"
[store]
{store}
[grant]
price_cap = {{ amount = 14.0, currency = "USD", per = "hour" }}
"""
INSTANCE = """[instance.{name}]
provider = "local"
id = "{name}"
cloud = "{root}/cloud/{name}"
"""


def in_directory(root: Path) -> str:
    """The keys of [store] for the store that `prepare` lays down."""
    return f'url = "file://{root}/store"'


def prepare(root: Path, names: list[str], now: datetime) -> None:
    """Everything that a restarter host and its store would have of running instances, each with a run of its own."""
    (root / "state" / "holds").mkdir(parents=True)
    head = HEAD.format(store=in_directory(root))
    tables = [INSTANCE.format(name=name, root=root) for name in names]
    (root / "config.toml").write_text("".join([head, *tables]))
    for name in names:
        _stored(root / "store", name, now)
        _put(root / "cloud" / name / "state.json", _state(now))


@contextmanager
def drivers(root: Path, names: list[str]) -> Iterator[None]:
    """A living driver for each: the lock that says so."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    held = [_locked(CloudFiles(root / "cloud" / name).lock) for name in names]
    try:
        yield
    finally:
        for descriptor in held:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _locked(path: Path) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def _state(now: datetime) -> dict[str, object]:
    return {
        "state": "RUNNING",
        "billed": True,
        "last_start": stamp(now),
        "stop_reason": None,
        "since": stamp(now),
        "price": {"amount": 3.2, "currency": "USD", "per": "hour"},
    }


def _stored(store: Path, name: str, now: datetime) -> None:
    run = f"run-of-{name}"
    plan = RunPlan("inspect", "fresh_budget")
    _put(store / record_key(run, 1), RunRecord(run, name, 1, now, plan).record())
    for boot in range(1, BOOTS + 1):
        for fact in (*FACTS, f"run-{run}-1"):
            _put(store / fact_key(name, boot, f"s{boot}", fact), {})
    for number in range(BEATS):
        beat = {"finished": number, "intended": 500, "in_flight": 4, "at": stamp(now)}
        _put(store / heartbeat_key(run, f"s{BOOTS}", number), beat)


def _put(path: Path, record: dict[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encoded(record))
