"""Every hold of an instance, and what lifts it: four files, their mirrors and the objects in the store."""

from collections.abc import Iterator
from dataclasses import dataclass

from spoteval.hold import Hold
from spoteval.line import flat
from spoteval.publication.keys import safe
from spoteval.report.words import duration
from spoteval.shape import Reading, Unreadable

RESTARTER, GUEST, KEEP_ALIVE, KILL_SWITCH = "restarter", "guest", "keep-alive", "kill switch"
DOES = {
    RESTARTER: "nothing is started",
    GUEST: "run is not resumed",
    KEEP_ALIVE: "idle-guard rests",
    KILL_SWITCH: "end-handler rests",
}
"""What each does while it stands."""
_INDENT = " " * 19
_DOES_WIDE = max(map(len, DOES.values()))


@dataclass(frozen=True, slots=True)
class FileHold:
    """One touch file. `text` is None where it is absent; `seen` is false where it lies on another host."""

    name: str
    path: str
    text: Reading[str | None] = None
    age_s: float | None = None
    seen: bool = True

    @property
    def stands(self) -> bool | None:
        """Whether it holds: what cannot be read does. None where it is not seen from here."""
        return self.text is not None if self.seen else None

    @property
    def state(self) -> str:
        """In words: none, its reason and age, or why nobody knows."""
        if not self.seen:
            return "not seen from here"
        if isinstance(self.text, Unreadable):
            return f"unreadable, so it holds: {self.text.why}"
        if self.text is None:
            return "none"
        reason = f'"{flat(self.text)}"' if self.text else "placed, no reason given"
        return reason if self.age_s is None else f"{reason}, {duration(self.age_s)} old"

    def record(self) -> dict[str, object]:
        """As JSON."""
        text = self.text.why if isinstance(self.text, Unreadable) else self.text
        return {
            "name": self.name,
            "path": self.path,
            "placed": self.stands,
            "reason": text,
            "age_s": round(self.age_s, 1) if self.age_s is not None else None,
            "does": DOES[self.name],
        }


@dataclass(frozen=True, slots=True)
class Mirror:
    """The file of a hold of the store on the restarter host: `rm` of it is the release."""

    name: str
    path: str
    text: Reading[str | None] = None

    def record(self) -> dict[str, object]:
        """As JSON."""
        text = self.text.why if isinstance(self.text, Unreadable) else self.text
        return {"path": self.path, "reason": text}


@dataclass(frozen=True, slots=True)
class HoldsSeen:
    """All that is known here of the holds on one instance."""

    instance: str
    files: tuple[FileHold, ...]
    store: Reading[tuple[Hold, ...]]
    mirrors: tuple[Mirror, ...] = ()
    local: bool = False
    """There is no store: holds are files of this host alone."""

    @property
    def held(self) -> bool | None:
        """Whether the instance may not be started; None where only the store could tell and is not read."""
        if any(file.name == RESTARTER and file.stands for file in self.files):
            return True
        if isinstance(self.store, Unreadable):
            return True if self.mirrors else None
        return bool(self.store)

    @property
    def head(self) -> str:
        """The line above the others."""
        words = {True: "held", False: "not held", None: "unknown, as the store cannot be read here"}
        return f"{self.instance}: {words[self.held]}"

    def mirror_of(self, hold: str) -> Mirror | None:
        """The file of this hold, where it is seen from here."""
        return next((mirror for mirror in self.mirrors if mirror.name == safe(hold)), None)

    def record(self) -> dict[str, object]:
        """As JSON."""
        away = self.store.why if isinstance(self.store, Unreadable) else None
        holds = () if isinstance(self.store, Unreadable) else self.store
        return {
            "instance": self.instance,
            "held": self.held,
            "files": [file.record() for file in self.files],
            "store": [hold.record() for hold in holds],
            "store_unreadable": away,
            "mirrors": [mirror.record() for mirror in self.mirrors],
        }


def lines(seen: HoldsSeen) -> list[str]:
    """One line for each file, with what it does while it is there; what stands has a second one with its reason.

    With the usual paths no line that explains is wider than 80 columns.
    """
    found = [line for file in seen.files for line in _file(file)]
    return [f"  {line}".rstrip() for line in (*found, *_store(seen))]


def _file(file: FileHold) -> Iterator[str]:
    yield _explained(file.name, _verdict(file.stands), DOES[file.name], file.path)
    if file.stands:
        yield f"{_INDENT}{file.state}; rm lifts it"


def _store(seen: HoldsSeen) -> Iterator[str]:
    if seen.local:
        yield _explained("store", "none", "", 'not used: [host] holds is ["local"]')
    elif isinstance(seen.store, Unreadable):
        yield _explained("store", "?", "", f"cannot be read here: {seen.store.why}")
        yield from (line for mirror in seen.mirrors for line in _mirror(mirror))
    elif not seen.store:
        yield _explained("store", "none", DOES[RESTARTER], "while a hold without release is there")
    else:
        yield from (line for hold in seen.store for line in _stored(seen, hold))


def _stored(seen: HoldsSeen, hold: Hold) -> Iterator[str]:
    also = f"; stopped after {duration(hold.stop_after_s)}" if hold.ensure_stopped else ""
    mirror = seen.mirror_of(hold.id)
    yield _explained("store", "HOLD", DOES[RESTARTER], flat(hold.id))
    yield f'{_INDENT}"{flat(hold.reason)}" ({flat(hold.by)}){also}'
    yield f"{_INDENT}spoteval hold release {seen.instance} --id {flat(hold.id)}"
    if mirror is not None:
        yield f"{_INDENT}or rm {mirror.path}"


def _mirror(mirror: Mirror) -> Iterator[str]:
    """While the store is away its holds are known by their files."""
    reason = mirror.text.why if isinstance(mirror.text, Unreadable) else mirror.text
    yield _explained("store", "HOLD", DOES[RESTARTER], flat(mirror.name))
    yield f'{_INDENT}"{flat(reason or "")}"'
    yield f"{_INDENT}rm {mirror.path}, obeyed once the store is back"


def _explained(name: str, verdict: str, does: str, where: str) -> str:
    return f"{name:<11}  {verdict:<4}  {does:<{_DOES_WIDE}}  {where}"


def _verdict(stands: bool | None) -> str:
    return {True: "HOLD", False: "none", None: "?"}[stands]
