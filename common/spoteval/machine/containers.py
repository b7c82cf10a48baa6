"""The container engine: what it runs, and the order to remove some of it. Asked by its own program, as root."""

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from spoteval.machine import process
from spoteval.machine.process import Finished, Run
from spoteval.shape import Reading, Unreadable

ASK_S, REMOVE_S = 10.0, 30.0
PROGRAMS: Mapping[str, tuple[str, ...]] = {
    "docker": ("docker",),
    # By its socket alone: without it podman needs mounts and namespaces that a sandbox forbids.
    "podman": ("podman", "--remote"),
}
_MICROSECONDS = 6


@dataclass(frozen=True, slots=True)
class Container:
    """One container, running or not."""

    id: str
    name: str
    labels: Mapping[str, str]
    created: datetime
    ports: frozenset[int] = frozenset()
    """Of the host, that lead into it."""


@dataclass(frozen=True, slots=True)
class Engine:
    """One engine by its program."""

    program: tuple[str, ...]
    run: Run = process.run

    def containers(self) -> Reading[tuple[Container, ...]]:
        """All that it knows, those that have ended too."""
        listed = self.run([*self.program, "ps", "--all", "--quiet", "--no-trunc"], ASK_S)
        if not listed.ok:
            return Unreadable(f"{self.program[0]} ps: {_why(listed)}")
        ids = listed.out.split()
        if not ids:
            return ()
        # One that went meanwhile makes the answer an error, and is missing from it; the others are in it.
        answer = self.run([*self.program, "inspect", "--type", "container", *ids], ASK_S)
        try:
            return tuple(_containers(answer.out))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            why = _why(answer) if not answer.ok else f"not understood: {error}"
            return Unreadable(f"{self.program[0]} inspect: {why}")

    def remove(self, containers: Iterable[Container]) -> str | None:
        """End and remove these; why not all of them went, None where they did."""
        ids = [one.id for one in containers]
        done = self.run([*self.program, "rm", "--force", "--volumes", *ids], REMOVE_S)
        return None if done.ok else f"{self.program[0]} rm: {_why(done)}"


def engine_here(which: Callable[[str], str | None] = shutil.which) -> Engine | None:
    """The engine of this machine; None where there is none."""
    found = next((words for name, words in PROGRAMS.items() if which(name) is not None), None)
    return None if found is None else Engine(found)


def _containers(text: str) -> Iterator[Container]:
    for item in json.loads(text):
        bindings = (item.get("HostConfig") or {}).get("PortBindings") or {}
        yield Container(
            id=str(item["Id"]),
            name=str(item["Name"]).removeprefix("/"),
            labels={str(k): str(v) for k, v in (item["Config"].get("Labels") or {}).items()},
            created=_moment(item["Created"]),
            ports=frozenset(_ports(bindings)),
        )


def _ports(bindings: Mapping[str, object]) -> Iterator[int]:
    for places in bindings.values():
        for place in places if isinstance(places, list) else []:
            port = str(place.get("HostPort") or "")
            if port.isdigit():
                yield int(port)


def _moment(text: str) -> datetime:
    """RFC 3339 with up to nine digits of a second, of which Python reads six."""
    whole, dot, rest = text.partition(".")
    if not dot:
        return _in_utc(datetime.fromisoformat(text))
    digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
    fraction = digits[:_MICROSECONDS].ljust(_MICROSECONDS, "0")
    return _in_utc(datetime.fromisoformat(f"{whole}.{fraction}{rest[len(digits) :]}"))


def _in_utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError(f"no zone: {moment}")
    return moment.astimezone(UTC)


def _why(done: Finished) -> str:
    if done.timed_out:
        return f"timeout:{done.duration_s:.0f}s"
    return " ".join(done.err.split())[:200] or f"exit {done.code}"
