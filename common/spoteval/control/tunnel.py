"""An SSH tunnel to a guest: where the guest is now, and the command that leads there."""

import json
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path

from spoteval.config.tunnel import TunnelSettings
from spoteval.control.facts import BOOTED
from spoteval.control.holds import look
from spoteval.control.refused import Failed
from spoteval.files import parse_record
from spoteval.publication.keys import fact_key
from spoteval.shape import Unreadable
from spoteval.store.contract import Store, StoreError

KEEP_ALIVE_S, KEEP_ALIVES, CONNECT_S = 15, 3, 10
_ANSWERS_WITHIN_S = 3.0
_NOT_REACHED = ("docker", "br-", "veth", "virbr", "cni", "podman", "lxc")
"""Interfaces of a guest's own containers and virtual machines."""

Answers = Callable[[str, int], bool]


def answers(address: str, port: int) -> bool:
    """Whether somebody takes a connection there."""
    try:
        with socket.create_connection((address, port), _ANSWERS_WITHIN_S):
            return True
    except OSError:
        return False


def address_now(
    tunnel: TunnelSettings,
    store: Store | None,
    otherwise: str | None = None,
    reach: Answers = answers,
) -> str:
    """Where the guest answers now: the fixed address, else those of its newest boot, else `otherwise`.

    Raises Failed where it answers nowhere, StoreError where nobody can tell.
    """
    if tunnel.address is not None:
        return tunnel.address
    told = tuple(told_addresses(store, tunnel.instance)) if store is not None else ()
    places = [*told, *([otherwise] if otherwise is not None else [])]
    if not places:
        raise Failed(f"no boot of {tunnel.instance} has told its address (is it RUNNING?)")
    for place in places:
        if reach(place, tunnel.ssh_port):
            return place
    where = ", ".join(f"{place}:{tunnel.ssh_port}" for place in places)
    raise Failed(f"{tunnel.instance} does not answer at {where} (is it RUNNING?)")


def told_addresses(store: Store, instance: str) -> Iterator[str]:
    """The addresses in the newest boot's first fact, IPv4 first. What is no address there is left out."""
    listing = look(store, instance)
    boots = [(fact.seq, fact.session) for fact in listing.facts if fact.name == BOOTED]
    if not boots:
        return
    key = fact_key(instance, *max(boots), BOOTED)
    table = parse_record(store.get(key), key)
    if isinstance(table, Unreadable):
        raise StoreError(table.why)
    found = table.values.get("addresses")
    yield from sorted(_addresses(found if isinstance(found, Mapping) else {}), key=_order)


def ssh_command(tunnel: TunnelSettings, address: str, credentials: Path) -> list[str]:
    """The ssh that is the tunnel: its own key, no host key but the one on file, and it ends when the way does."""
    options = {
        "BatchMode": "yes",
        "StrictHostKeyChecking": "yes",
        "UserKnownHostsFile": _quoted(tunnel.known_hosts),
        "GlobalKnownHostsFile": "none",
        "HostKeyAlias": tunnel.instance,  # its address is another one after each start
        "UpdateHostKeys": "no",
        "IdentityFile": _quoted(credentials / tunnel.credential),
        "IdentitiesOnly": "yes",
        "ExitOnForwardFailure": "yes",
        "ConnectTimeout": str(CONNECT_S),
        "ServerAliveInterval": str(KEEP_ALIVE_S),
        "ServerAliveCountMax": str(KEEP_ALIVES),
    }
    words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    way = f"127.0.0.1:{tunnel.local_port}:127.0.0.1:{tunnel.remote_port}"
    return [
        *("ssh", "-F", "none", "-N", "-T", *words, "-L", way, "-p", str(tunnel.ssh_port)),
        *("-l", tunnel.user, "--", address),
    ]


def _addresses(by_interface: Mapping[str, object]) -> Iterable[str]:
    for name, places in by_interface.items():
        if str(name).startswith(_NOT_REACHED) or not isinstance(places, list):
            continue
        for place in places:
            with suppress(ValueError):
                address = ip_address(str(place))
                if not address.is_link_local:
                    yield str(address)


def _order(place: str) -> tuple[int, str]:
    return ip_address(place).version, place


def _quoted(path: Path) -> str:
    """As ssh's own words are quoted: a path with blanks is one word."""
    return json.dumps(str(path), ensure_ascii=False)
