"""What this life's events say of the model servers: failed starts, deaths under the run, what was set aside. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from spoteval.clock import Mark, mark_from
from spoteval.control.markers import RUN_ASKED, SERVER_DIED
from spoteval.event import Event

HEALTHY, HELD = "healthy", "held"
SERVER_FAILED, SERVER_ANEW = "server-failed", "server-started-anew"
CACHE_MOVED, WEIGHTS = "compile-cache-moved", "weights-verified"
SHORT_SERVICE_S = 3600.0
"""A server that dies sooner may be killed by what the run asks of it: such deaths count in a row."""


@dataclass(frozen=True, slots=True)
class Servers:
    """The servers by name, since a person last looked unless it says otherwise."""

    failed: Mapping[str, int] = field(default_factory=dict)
    """Starts that ended before the server was ready."""
    restarts: Mapping[str, int] = field(default_factory=dict)
    """What the service manager's own count of restarts stood at, as far as it is accounted for."""
    excused: Mapping[str, int] = field(default_factory=dict)
    """Restarts that are still to come for a death, and are no failed starts."""
    deaths: Mapping[str, int] = field(default_factory=dict)
    """Deaths under the run in a row, each soon after it was ready."""
    moved: frozenset[str] = frozenset()
    """Whose compile cache was tried to be set aside, in the whole of this life."""
    verified: frozenset[str] = frozenset()
    """Whose weights were verified, in the whole of this life."""
    ready_at: Mark | None = None
    """When all were last ready."""
    served: frozenset[str] = frozenset()
    """Who had a living process then."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """What they said of themselves then."""
    died: str | None = None
    """Who died since the run was last asked to start."""


def servers_after(servers: Servers, event: Event) -> Servers:
    """The servers after one more event of ours."""
    step = _STEPS.get(event.kind)
    return servers if step is None else step(servers, event)


def mark_in(event: Event, name: str = "mark") -> Mark:
    """The monotonic moment that an event carries; one that elapsed by the wall clock where it carries none."""
    found = event.detail.get(name)
    try:
        return mark_from(found if isinstance(found, Mapping) else {})
    except (KeyError, TypeError, ValueError):
        return Mark(event.at, 0.0, "unknown")


def _failed(servers: Servers, event: Event) -> Servers:
    name, count = _name(event), _whole(event, "failed")
    failed = {**servers.failed, name: servers.failed.get(name, 0) + count}
    return replace(_anew(servers, event), failed=failed)


def _anew(servers: Servers, event: Event) -> Servers:
    name = _name(event)
    restarts = {**servers.restarts, name: _whole(event, "restarts")}
    return replace(servers, restarts=restarts, excused={**servers.excused, name: 0})


def _healthy(servers: Servers, event: Event) -> Servers:
    served = event.detail.get("served")
    names = served if isinstance(served, list) else []
    return replace(
        servers,
        ready_at=mark_in(event),
        served=frozenset(map(str, names)),
        versions=_texts(event, "versions"),
    )


def _died(servers: Servers, event: Event) -> Servers:
    name, served_s = _name(event), event.detail.get("served_s")
    is_short = isinstance(served_s, int | float) and served_s < SHORT_SERVICE_S
    deaths = {**servers.deaths, name: servers.deaths.get(name, 0) + 1 if is_short else 1}
    excused = {**servers.excused, name: _whole(event, "excused")}
    return replace(servers, died=name, deaths=deaths, excused=excused)


def _asked(servers: Servers, _: Event) -> Servers:
    return replace(servers, died=None)


def _held(servers: Servers, _: Event) -> Servers:
    return replace(servers, failed={}, deaths={})


def _moved(servers: Servers, event: Event) -> Servers:
    return replace(servers, moved=servers.moved | {_name(event)})


def _verified(servers: Servers, event: Event) -> Servers:
    return replace(servers, verified=servers.verified | {_name(event)})


def _name(event: Event) -> str:
    return str(event.detail.get("server"))


def _texts(event: Event, name: str) -> Mapping[str, str]:
    found = event.detail.get(name)
    pairs = found.items() if isinstance(found, Mapping) else ()
    return {str(key): value for key, value in pairs if isinstance(value, str)}


def _whole(event: Event, name: str) -> int:
    found = event.detail.get(name)
    return found if isinstance(found, int) else 0


_STEPS: Mapping[str, Callable[[Servers, Event], Servers]] = {
    SERVER_FAILED: _failed,
    SERVER_ANEW: _anew,
    HEALTHY: _healthy,
    SERVER_DIED: _died,
    RUN_ASKED: _asked,
    HELD: _held,
    CACHE_MOVED: _moved,
    WEIGHTS: _verified,
}
