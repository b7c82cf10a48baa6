"""The machine's addresses."""

import socket

import psutil

_FAMILIES = (socket.AF_INET, socket.AF_INET6)


def addresses() -> dict[str, list[str]]:
    """IP addresses by interface, without those that only this machine itself can reach."""
    found: dict[str, list[str]] = {}
    for name, entries in psutil.net_if_addrs().items():
        own = [
            str(entry.address).partition("%")[0] for entry in entries if entry.family in _FAMILIES
        ]
        if reachable := [text for text in own if not text.startswith(("127.", "::1"))]:
            found[name] = reachable
    return found
