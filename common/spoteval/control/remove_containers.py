"""Obey a request to remove the run's containers: look, decide, remove, look again, within a deadline. Takes root."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from spoteval.clock import Now, booted_at
from spoteval.config.server import ServerSettings
from spoteval.control.containers import Removal
from spoteval.control.removal import Servers, chosen, request_of
from spoteval.decision import Decision
from spoteval.files import read_record, remove
from spoteval.machine.containers import Container, Engine
from spoteval.machine.unit_properties import Properties, properties
from spoteval.shape import Reading, Table, Unreadable

AGENT = "remove-containers"
WITHIN_S = 100.0
AGAIN_S = 2.0


@dataclass(slots=True)
class Remover:
    """What it works with. `servers` is asked anew at each look: unknown is not none."""

    request: Path
    engine: Engine | None
    servers: Callable[[], Reading[Servers]]
    clock: Callable[[], Now]
    pause: Callable[[float], None]
    gone: dict[str, str] = field(default_factory=dict)
    """The names of those that went, by id."""

    def obey(self) -> Decision:
        """Until none is left, then the request is gone. It stays where that cannot be had in time."""
        ends_s = self.clock().mono_s + WITHIN_S
        while True:
            before = len(self.gone)
            left = self._look()
            if isinstance(left, Decision):
                remove(self.request)
                return left
            if self.clock().mono_s >= ends_s:
                return self._said("left", left.why)
            if len(self.gone) == before:
                self.pause(AGAIN_S)

    def _look(self) -> Decision | Unreadable:
        """One round: the last word, or why another one is needed."""
        table = read_record(self.request)
        if table is None:
            return self._said("none", "nothing is asked for any more")
        removal = request_of(table) if isinstance(table, Table) else table
        if isinstance(removal, Unreadable):
            return self._said("refused", removal.why)
        if self.engine is None:
            return self._said("none", "no container engine here")
        found = self._found(self.engine, removal)
        if isinstance(found, Unreadable):
            return found
        if not found:
            return self._said("removed", None)
        why = self.engine.remove(found)
        if why is None:
            self.gone |= {one.id: one.name for one in found}
        return Unreadable(why or "to be looked at again")

    def _found(self, engine: Engine, removal: Removal) -> Reading[list[Container]]:
        servers = self.servers()
        if isinstance(servers, Unreadable):
            return servers
        containers = engine.containers()
        if isinstance(containers, Unreadable):
            return containers
        return chosen(containers, removal, servers, booted_at(self.clock()))

    def _said(self, word: str, why: str | None) -> Decision:
        names = " ".join(self.gone.values()) or None
        return Decision(word, {"count": len(self.gone), "names": names}, why, AGENT)


def servers_of(
    settings: Iterable[ServerSettings],
    ask: Callable[[Sequence[str], Sequence[str]], Reading[Mapping[str, Properties]]] = properties,
) -> Reading[Servers]:
    """What belongs to the model servers: their ports, their names, and what their units start."""
    found = tuple(settings)
    if not found:
        return Servers()
    units = [one.unit for one in found]
    answer = ask(units, ["ExecStart"])
    if isinstance(answer, Unreadable):
        return answer
    words = {word for said in answer.values() for word in said.get("ExecStart", "").split()}
    named = {word.partition("=")[2] for word in words if word.startswith("--name=")}
    stems = {one.unit.removesuffix(".service") for one in found} | {one.name for one in found}
    ports = {port for one in found if (port := _port(one.url)) is not None}
    return Servers(frozenset(ports), frozenset(words | named | stems))


def _port(url: str) -> int | None:
    parts = urlsplit(url)
    return parts.port or {"http": 80, "https": 443}.get(parts.scheme)
