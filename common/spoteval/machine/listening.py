"""Who may reach a port of this machine: the addresses at which something listens."""

import psutil

from spoteval.shape import Reading, Unreadable


def listening_at(port: int) -> Reading[frozenset[str]]:
    """The addresses at which a TCP port is open; empty where nobody listens."""
    try:
        found = psutil.net_connections("tcp")
    except (OSError, psutil.Error) as error:
        return Unreadable(f"sockets of this machine: {error}")
    return frozenset(
        one.laddr.ip
        for one in found
        if one.status == psutil.CONN_LISTEN and one.laddr and one.laddr.port == port
    )
