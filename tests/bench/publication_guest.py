"""A guest in a directory whose store is a service on loopback: host file, key, disk, active run, claimed epoch."""

import json
from dataclasses import dataclass
from pathlib import Path

from s3_hosts import store_table, write_key
from s3_server import Service
from spoteval.clock import read_now
from spoteval.config.guest import GuestConfig, read_guest
from spoteval.control.disk import adopt
from spoteval.control.epochs import Claimant, claim
from spoteval.control.stores import store_from
from spoteval.files import append_line, write_new_record
from spoteval.machine.session import this_session
from spoteval.paths import DurablePaths, HostPaths, RunPaths
from spoteval.run import RunPlan, RunRecord

CONFIG = """
[host]
role = "guest"
instance = "gpu-1"
[disk]
path = {disk}
identity = "sentinel"
[provider]
kind = "local"
[store]
{store}
[publication]
every = "{every}"
"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where one guest of the bench lies."""

    root: Path
    run: str

    @property
    def host(self) -> HostPaths:
        """Its own directories instead of the machine's."""
        root = self.root
        return HostPaths(root / "config.toml", root / "run", root / "state", root / "keys")

    @property
    def disk(self) -> DurablePaths:
        """The durable disk."""
        return DurablePaths(self.root / "disk")

    @property
    def paths(self) -> RunPaths:
        """The run's directory."""
        return self.disk.run(self.run)

    @property
    def episodes(self) -> Path:
        """Where finished episodes lie."""
        return self.paths.work / "episodes"

    @property
    def config(self) -> GuestConfig:
        """The host file, read."""
        return read_guest(self.host.config)


def prepare(
    place: Place, service: Service, endpoint: str | None = None, every: str = "60s"
) -> None:
    """Everything but episodes: what setup, `run new` and boot-resume leave."""
    host, now = place.host, read_now()
    for folder in (host.run, host.state):
        folder.mkdir(parents=True)
    write_key(host.credentials, "publisher", service)
    table = store_table(service, "publisher", endpoint)
    disk = json.dumps(str(place.disk.disk))
    host.config.write_text(CONFIG.format(disk=disk, store=table, every=every))
    adopt(place.config, now.wall)
    plan = RunPlan("directory", "fresh_budget", executable="/bin/true")
    record = RunRecord(place.run, "gpu-1", 1, now.wall, plan)
    session = this_session(host.session, now.boot).id
    write_new_record(place.paths.record, record.record())
    place.disk.active.write_text(place.run)
    append_line(place.paths.events, {"kind": "booted", "session": session})
    store = store_from(place.config.store, host.credentials)
    claim(store, place.paths, Claimant(place.run, "gpu-1", session), now)
    place.episodes.mkdir(parents=True)
