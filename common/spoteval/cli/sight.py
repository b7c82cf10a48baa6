"""From where `status` and `events` look, by the host they are typed on."""

from spoteval.cli.common import Host, disk_of, instance_of, maybe_store, store_of
from spoteval.config.restarter import RestarterConfig
from spoteval.control.refused import Refused
from spoteval.report.gather import Sight
from spoteval.report.run_list import in_store, stored_record
from spoteval.run import RunRecord
from spoteval.shape import Unreadable
from spoteval.store.contract import Store


def sights(host: Host, name: str | None) -> tuple[Sight, ...]:
    """One for each instance that is meant. `name` is an instance on the restarter host, else a run.

    Raises Refused for a name that is not known, ConfigError and StoreError.
    """
    if host.restarter:
        return _served(host, host.restarter, name)
    store = store_of(host)
    if host.guest:
        disk = disk_of(host.guest)
        if name is not None and not disk.run(name).root.exists():
            raise Refused(f'"{name}": no such run (spoteval run list)')
        return (Sight(host.paths, store, host.guest.instance, disk, run=name),)
    record = _record(store, name)
    return (Sight(host.paths, store, record.instance, run=record.name),)


def _served(host: Host, config: RestarterConfig, name: str | None) -> tuple[Sight, ...]:
    """One of the instances of this host, or all."""
    store = maybe_store(host)
    named = (instance_of(config, name),) if name else config.instances
    return tuple(
        Sight(host.paths, store, one.name, serves=True, grant=config.grant) for one in named
    )


def _record(store: Store, name: str | None) -> RunRecord:
    """The named run's record, or that of the newest run in the store."""
    if name is None:
        known = sorted(in_store(store), key=lambda line: line.created)
        if not known:
            raise Refused(f"no run in {store.url}")
        name = known[-1].name
    found = stored_record(store, name)
    if isinstance(found, Unreadable):
        raise Refused(found.why)
    return found
