"""A cloud's metadata service: plain HTTP to a link-local address, without proxy, name or library."""

import http.client
import json
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from spoteval.clock import monotonic_s
from spoteval.shape import Reading, Unreadable

ADDRESS = "http://169.254.169.254"
"""AWS, GCP, Azure and Nebius alike. An address, so that no resolver need be there: it goes first at a shutdown."""
MOST_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Told:
    """One answer, names of headers in lower case; a body may be a token, so it is in no representation."""

    status: int
    text: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def table(self) -> Reading[Any]:
        """The JSON in it."""
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError):
            return Unreadable("metadata: the answer is no JSON")


@dataclass(frozen=True, slots=True)
class Metadata:
    """The service at `address`. Each question is a connection of its own: nothing hangs on for the next one."""

    address: str = ADDRESS
    clock: Callable[[], float] = field(default=monotonic_s, repr=False)

    def get(self, path: str, headers: Mapping[str, str], deadline_s: float) -> Reading[Told]:
        """One GET; Unreadable where no whole answer came within `deadline_s`."""
        return self.ask("GET", path, headers, deadline_s)

    def ask(
        self, method: str, path: str, headers: Mapping[str, str], deadline_s: float
    ) -> Reading[Told]:
        """One request. Proxies of the environment are never used: they would be handed the token."""
        until_s = self.clock() + deadline_s
        connection = http.client.HTTPConnection(urlsplit(self.address).netloc, timeout=deadline_s)
        try:
            connection.request(method, path, headers=dict(headers))
            return self._answer(connection, until_s)
        except TimeoutError:
            return Unreadable(f"metadata: no answer within {deadline_s:g}s")
        except (OSError, http.client.HTTPException) as error:
            return Unreadable(f"metadata: {_said(error)}")
        finally:
            connection.close()

    def _answer(self, connection: http.client.HTTPConnection, until_s: float) -> Reading[Told]:
        response = connection.getresponse()
        found = bytearray()
        while chunk := response.read1(MOST_BYTES):
            found += chunk
            if len(found) > MOST_BYTES:
                return Unreadable(f"metadata: more than {MOST_BYTES // 1024} kB")
            left_s = until_s - self.clock()
            if left_s <= 0:
                raise TimeoutError
            if isinstance(connection.sock, socket.socket):
                connection.sock.settimeout(left_s)
        if response.length:
            return Unreadable("metadata: half an answer")
        headers = {name.lower(): value for name, value in response.headers.items()}
        return Told(response.status, found.decode("utf-8", "replace"), headers)


def _said(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) else None
    return text or type(error).__name__
