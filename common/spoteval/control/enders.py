"""Intents to stop the machine: written before the first effect, finished by a proved hold.

`<name>.json` is the intent and is never rewritten. Beside it, each created once: `<name>.done.json`
(its hold is proved) and `<name>.withdrawn.json` (nothing was stopped after all). One without either,
from an earlier session, is work for the next boot: place its hold first, and do not resume.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from spoteval.clock import Mark
from spoteval.files import read_record, write_new_record
from spoteval.shape import Reading, ShapeError, Table, Unreadable

UNREAD = "unread"
HOLD_WITHIN_S = 900.0
"""How long an ender tries to prove its hold; then it stops the machine all the same, and the hold stays owed."""
ROUNDS = 3
"""How many times in a row a machine is stopped without a proved hold: a fourth would be a circle."""

_DONE, _WITHDRAWN = ".done.json", ".withdrawn.json"


@dataclass(frozen=True, slots=True)
class Ender:
    """One intent and what became of it. `agent` is UNREAD where the record is damaged; it stands all the same."""

    name: str
    session: str
    agent: str
    reason: str
    hold_id: str
    at: Mark | None = None
    run: str | None = None
    proved: bool = False
    proved_by: str | None = None
    """Who proved its hold: itself, or boot-resume for one that was owed."""
    withdrawn: bool = False

    def record(self) -> dict[str, object]:
        """The intent as a JSON object."""
        return {
            "session": self.session,
            "agent": self.agent,
            "reason": self.reason,
            "hold_id": self.hold_id,
            "at": self.at.record() if self.at else None,
            "run": self.run,
        }

    @property
    def unfinished(self) -> bool:
        """Whether its hold is still owed to the store."""
        return not (self.proved or self.withdrawn)


def enders(folder: Path) -> Reading[tuple[Ender, ...]]:
    """Every intent, by name; none where the folder is absent."""
    try:
        present = frozenset(path.name for path in folder.iterdir())
    except FileNotFoundError:
        return ()
    except OSError as error:
        return Unreadable(f"{folder}: {error.strerror}")
    names = sorted(name.removesuffix(".json") for name in present if _is_intent(name))
    return tuple(_read(folder, name, present) for name in names)


def write_intent(folder: Path, intent: Ender) -> Ender:
    """Put the intent under the first free name of its session; returns it with that name."""
    number = 1
    while True:
        name = intent.session if number == 1 else f"{intent.session}-{number:03d}"
        if write_new_record(folder / f"{name}.json", intent.record()):
            return replace(intent, name=name)
        number += 1


def mark_proved(folder: Path, name: str, detail: Mapping[str, object]) -> None:
    """The intent's hold is proved; `detail` says when and how. Doing it again changes nothing."""
    write_new_record(folder / f"{name}{_DONE}", detail)


def mark_withdrawn(folder: Path, name: str, detail: Mapping[str, object]) -> None:
    """Nothing is stopped after all; `detail` says why."""
    write_new_record(folder / f"{name}{_WITHDRAWN}", detail)


def rounds(found: Iterable[Ender], session: str, agent: str) -> int:
    """How many lives before this one the agent ended without a proved hold, and whose hold is still owed."""
    return len({ender.session for ender in owed(found, session) if ender.agent == agent})


def owed(found: Iterable[Ender], session: str) -> tuple[Ender, ...]:
    """Unfinished intents of earlier sessions: the machine went off, or was taken, before their holds were proved."""
    return tuple(ender for ender in found if ender.unfinished and ender.session != session)


def standing(found: Iterable[Ender], session: str) -> Ender | None:
    """The newest intent of this session that was not withdrawn: an ender is at work, nothing is resumed."""
    own = [ender for ender in found if ender.session == session and not ender.withdrawn]
    return own[-1] if own else None


def _is_intent(name: str) -> bool:
    return name.endswith(".json") and not (
        name.startswith(".") or name.endswith((_DONE, _WITHDRAWN))
    )


def _read(folder: Path, name: str, present: frozenset[str]) -> Ender:
    found = read_record(folder / f"{name}.json")
    intent = _parsed(found, name) if isinstance(found, Table) else None
    proved = f"{name}{_DONE}" in present
    return replace(
        intent or _unread(name),
        proved=proved,
        proved_by=_by(folder / f"{name}{_DONE}") if proved else None,
        withdrawn=f"{name}{_WITHDRAWN}" in present,
    )


def _parsed(table: Table, name: str) -> Ender | None:
    try:
        return Ender(
            name=name,
            session=table.text("session"),
            agent=table.text("agent"),
            reason=table.text("reason"),
            hold_id=table.text("hold_id"),
            at=table.maybe_mark("at"),
            run=table.maybe_text("run"),
        )
    except ShapeError:
        return None


def _by(done: Path) -> str | None:
    """Its body may be torn: that it exists says that the hold is proved."""
    found = read_record(done)
    by = found.values.get("by") if isinstance(found, Table) else None
    return by if isinstance(by, str) else None


def _unread(name: str) -> Ender:
    """A damaged intent is an intent: its name is enough for a hold."""
    session = name.partition("-")[0]
    return Ender(name, session, UNREAD, "unreadable intent to stop", f"ender-{name}")
