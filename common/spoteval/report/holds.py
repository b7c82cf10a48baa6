"""Every hold of an instance, and what lifts it: four files and the objects in the store."""

from collections.abc import Sequence
from dataclasses import dataclass

from spoteval.hold import Hold
from spoteval.line import flat
from spoteval.report.words import duration
from spoteval.shape import Reading, Unreadable

RESTARTER, GUEST, KEEP_ALIVE, KILL_SWITCH = "restarter", "guest", "keep-alive", "kill switch"
DOES = {
    RESTARTER: "the instance is not started",
    GUEST: "the run is not resumed",
    KEEP_ALIVE: "idle-guard leaves the machine on",
    KILL_SWITCH: "end-handler does nothing",
}


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
        reason = f'"{flat(self.text)}"' if self.text else "placed"
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
class HoldsSeen:
    """All that is known here of the holds on one instance."""

    instance: str
    files: tuple[FileHold, ...]
    store: Reading[tuple[Hold, ...]]

    @property
    def held(self) -> bool | None:
        """Whether the instance may not be started; None where only the store could tell and is not read."""
        if any(file.name == RESTARTER and file.stands for file in self.files):
            return True
        return None if isinstance(self.store, Unreadable) else bool(self.store)

    @property
    def head(self) -> str:
        """The line above the table."""
        words = {True: "held", False: "not held", None: "unknown, as the store cannot be read here"}
        return f"{self.instance}: {words[self.held]}"

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
        }


def rows(seen: HoldsSeen) -> list[Sequence[str]]:
    """The cells: what it is, how it stands, what it does, where it lies or how it is lifted."""
    files: list[Sequence[str]] = [
        (file.name, file.state, DOES[file.name], file.path) for file in seen.files
    ]
    if isinstance(seen.store, Unreadable):
        return [*files, ("store", f"unreadable: {seen.store.why}", "", "")]
    if not seen.store:
        return [*files, ("store", "none", DOES[RESTARTER], "")]
    return [*files, *(_stored(seen.instance, hold) for hold in seen.store)]


def _stored(instance: str, hold: Hold) -> Sequence[str]:
    also = f", and stopped {duration(hold.stop_after_s)} later" if hold.ensure_stopped else ""
    lift = f"spoteval hold release {instance} --id {flat(hold.id)}"
    return ("store", f'"{flat(hold.reason)}" ({flat(hold.by)})', DOES[RESTARTER] + also, lift)
