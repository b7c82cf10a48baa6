"""`[tunnel.NAME]`: a loopback server of a guest, on loopback of this host."""

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from spoteval.settings.keys import key, read
from spoteval.settings.kinds import ABSOLUTE, NAME, TEXT, whole
from spoteval.shape import ShapeError, Table

_PORTS = 65535


@dataclass(frozen=True, slots=True, kw_only=True)
class TunnelSettings:
    """An SSH tunnel to a server that listens on loopback of a guest: `spoteval-tunnel@NAME.service` keeps it up."""

    name: str
    instance: str = field(metadata=key(TEXT, "whose server; one of [instance.NAME]"))
    user: str = field(metadata=key(NAME, "whom ssh logs in as; needs no shell"))
    credential: str = field(metadata=key(TEXT, "file of the private key, without a passphrase"))
    known_hosts: Path = field(
        default=Path("/etc/spoteval/known_hosts"),
        metadata=key(ABSOLUTE, "the guest's host key under its instance name; no other is taken"),
    )
    local_port: int = field(default=8000, metadata=key(whole(1), "here, on 127.0.0.1"))
    remote_port: int = field(default=8000, metadata=key(whole(1), "there, on 127.0.0.1"))
    ssh_port: int = field(default=22, metadata=key(whole(1), "of the guest"))
    address: str | None = field(
        default=None,
        metadata=key(TEXT, "a fixed address; by default that of the guest's newest boot"),
    )


def tunnels(root: Table, instances: Collection[str]) -> tuple[TunnelSettings, ...]:
    """All `[tunnel.NAME]` tables; raises ShapeError, also for two at one port and for an unknown instance."""
    found = tuple(
        read(TunnelSettings, table, name=name)
        for name, table in (root.each("tunnel") if root.has("tunnel") else ())
    )
    taken: dict[int, str] = {}
    for one in found:
        place = f"[tunnel.{one.name}]"
        if one.instance not in instances:
            known = ", ".join(sorted(instances))
            raise ShapeError(f'{place} instance "{one.instance}": no such instance ({known})')
        for name, port in (("local_port", one.local_port), ("remote_port", one.remote_port)):
            if port > _PORTS:
                raise ShapeError(f"{place} {name} {port}: must be 1 to {_PORTS}")
        if (other := taken.setdefault(one.local_port, one.name)) != one.name:
            raise ShapeError(
                f"{place} local_port {one.local_port}: [tunnel.{other}] has it already"
            )
    return found
