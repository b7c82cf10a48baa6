"""The checks of a model server: reached from this machine alone, and with its key alone."""

from collections.abc import Callable, Iterator
from ipaddress import ip_address
from urllib.parse import urlsplit

from spoteval.config.server import ServerSettings
from spoteval.control.asking import Asking, NotReady, Patience, session_with
from spoteval.control.server_kinds import SERVER_KINDS
from spoteval.machine.listening import listening_at
from spoteval.report.check import Check, fail, ok, warn
from spoteval.shape import Reading, Unreadable

_PATIENCE = Patience(connect_s=1.0, answer_s=3.0)
_WITHOUT_KEYS = ("ollama",)
_ANSWERS = 200

Listening = Callable[[int], Reading[frozenset[str]]]


def server_checks(server: ServerSettings, listening: Listening = listening_at) -> Iterator[Check]:
    """The server as it is configured and as it listens now."""
    yield ok("server", f"{server.name}: {server.url} is loopback, unit {server.unit}")
    parts = urlsplit(server.url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    places = listening(port)
    if isinstance(places, Unreadable):
        yield warn("server", f"{server.name}: who may reach it is not known: {places.why}")
    elif not places:
        yield warn("server", f"{server.name}: nothing listens at port {port} yet, so not looked at")
    else:
        yield from _reached(server, port, places)
        yield _asked(server)


def _reached(server: ServerSettings, port: int, places: frozenset[str]) -> Iterator[Check]:
    public = sorted(place for place in places if not _is_loopback(place))
    if public:
        where = ", ".join(f"{place}:{port}" for place in public)
        yield fail(
            "server",
            f"{server.name} listens at {where}: others reach it (--host 127.0.0.1, or -p 127.0.0.1:{port}:… )",
        )
    else:
        yield ok("server", f"{server.name}: listens at loopback alone")


def _is_loopback(place: str) -> bool:
    """Of IPv4 too where a socket of IPv6 takes it."""
    address = ip_address(place.partition("%")[0])
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def _asked(server: ServerSettings) -> Check:
    """Whether it wants its key: an agent under evaluation has a shell on this machine."""
    with session_with(None) as session:
        try:
            path = SERVER_KINDS[server.kind].models
            status = Asking(session, server.url, _PATIENCE).get(path).status_code
        except NotReady as error:
            if error.refused:
                return _key(server)
            return warn("server", f"{server.name}: whether it wants a key is not known: {error}")
    if server.kind in _WITHOUT_KEYS:
        return warn(
            "server", f"{server.name}: {server.kind} has no keys: whoever has a shell uses it"
        )
    if status == _ANSWERS:
        return fail("server", f"{server.name} answers without a key (start it with --api-key)")
    return warn("server", f"{server.name}: whether it wants a key is not known: {path} {status}")


def _key(server: ServerSettings) -> Check:
    if server.credential is None:
        return fail("server", f"{server.name} wants a key: [[server]] credential names none", 2)
    return ok("server", f"{server.name}: answers to its key alone")
