"""A guest in a directory whose store is a service on loopback: host file, key, disk, active run, claimed epoch."""

import json

from bench.publication_place import Place
from s3_hosts import store_table, write_key
from s3_server import Service
from spoteval.clock import read_now
from spoteval.control.disk import adopt
from spoteval.control.epochs import Claimant, claim
from spoteval.control.stores import store_from
from spoteval.files import append_line, write_new_record
from spoteval.machine.session import this_session
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
