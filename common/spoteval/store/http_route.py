"""Where requests go: a host, TLS and a proxy where there are such, and how a connection to it comes about."""

import socket
import ssl
from dataclasses import dataclass

from spoteval.store.deadline import Deadline, Overrun, bounded
from spoteval.store.http_exchange import READ_S, Connection

CONNECT_S = 4.0
"""Longest silence while a connection is made."""


class ProxyDown(OSError):
    """The proxy of the environment does not answer, or will not connect."""


class TlsFailed(OSError):
    """No trusted connection came about."""


@dataclass(frozen=True, slots=True)
class Route:
    """Where requests go. `proxy`: host, port and the value of Proxy-Authorization."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    proxy: tuple[str, int, str | None] | None = None

    @property
    def netloc(self) -> str:
        """As the Host header has it: the port only where it is not the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"


class _overrun:  # noqa: N801 - reads as the statement that it is
    """A silence that lasted to the deadline is its end, not one of many tries."""

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline

    def __enter__(self) -> None:
        """Nothing."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, TimeoutError) and self._deadline.left_s <= 0:
            raise Overrun from None


def opened(route: Route, deadline: Deadline) -> socket.socket:
    """A connection, through the proxy and TLS where there are such. Raises OSError, Overrun."""
    if route.proxy is None:
        sock = _connected(route.host, route.port, deadline)
    else:
        try:
            sock = _connected(route.proxy[0], route.proxy[1], deadline)
        except OSError as error:
            raise ProxyDown(error.errno, error.strerror) from error
    try:
        return _secured(sock, route, deadline)
    except BaseException:
        sock.close()
        raise


def _connected(host: str, port: int, deadline: Deadline) -> socket.socket:
    found = bounded(lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM), deadline)
    failed: OSError = OSError(113, "No route to host")
    for family, kind, protocol, _, address in found:
        if deadline.left_s <= 0:
            raise Overrun
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(min(CONNECT_S, deadline.left_s))
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with _overrun(deadline):
                sock.connect(address)
        except OSError as error:
            sock.close()
            failed = error
        except BaseException:
            sock.close()
            raise
        else:
            return sock
    raise failed


def _secured(sock: socket.socket, route: Route, deadline: Deadline) -> socket.socket:
    if route.tls is None:
        return sock
    if route.proxy is not None:
        _tunnel(sock, route, deadline)
    sock.settimeout(max(0.01, min(READ_S, deadline.left_s)))
    try:
        with _overrun(deadline):
            # An end that TLS did not announce may be a cut: it is an error, not the end of an answer.
            return route.tls.wrap_socket(
                sock, server_hostname=route.host, suppress_ragged_eofs=False
            )
    except ssl.SSLError as error:
        raise TlsFailed(error.errno, "TLS failed") from error


def _tunnel(sock: socket.socket, route: Route, deadline: Deadline) -> None:
    assert route.proxy is not None
    to = f"[{route.host}]" if ":" in route.host else route.host
    lines = [f"CONNECT {to}:{route.port} HTTP/1.1", f"Host: {to}:{route.port}"]
    if route.proxy[2] is not None:
        lines.append(f"Proxy-Authorization: {route.proxy[2]}")
    head = ("\r\n".join(lines) + "\r\n\r\n").encode()
    answer = Connection(sock).ask(head, (), deadline, bare=True)
    if answer.status != 200:
        raise ProxyDown(0, f"the proxy answered {answer.status}")
