"""The local cloud as files: what its driver writes and what providers, notices and people read."""

import fcntl
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from spoteval.clock import Now, stamp
from spoteval.files import read_record, remove, write_new_record
from spoteval.shape import Reading, ShapeError, Table, Unreadable

VERBS = ("start", "stop")


@dataclass(frozen=True, slots=True)
class Request:
    """One call: `start` or `stop`, or what could not be understood."""

    id: str
    verb: str


@dataclass(frozen=True, slots=True)
class CloudFiles:
    """One instance of the local cloud."""

    root: Path

    @property
    def lock(self) -> Path:
        """Held by the driver while it lives: without it, nothing else here is true."""
        return self.root / "driver.lock"

    @property
    def state(self) -> Path:
        """What the instance is, replaced at each change."""
        return self.root / "state.json"

    @property
    def notice(self) -> Path:
        """The metadata service: present while a notice stands."""
        return self.root / "notice.json"

    @property
    def requests(self) -> Path:
        """Calls that wait."""
        return self.root / "requests"

    @property
    def replies(self) -> Path:
        """Answers, under the name of their call."""
        return self.root / "replies"

    @property
    def history(self) -> Path:
        """What the market did: the truth that a demo is checked against. No agent reads it."""
        return self.root / "history.jsonl"

    def has_driver(self) -> bool:
        """Whether a driver lives. Asking with a shared lock, two who ask do not take each other for one.

        Raises OSError where we may not ask.
        """
        try:
            descriptor = os.open(self.lock, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    def read_state(self) -> Reading[Table]:
        """The instance's state; Unreadable where nobody stands behind the file."""
        try:
            if not self.has_driver():
                return Unreadable(f"no local node is running at {self.root}")
        except OSError as error:
            return Unreadable(f"{self.lock}: {error.strerror}")
        found = read_record(self.state)
        return Unreadable(f"{self.state}: not there yet") if found is None else found

    def ask(self, verb: str, now: Now) -> str:
        """Put a call and return its id."""
        call = f"{round(now.wall.timestamp() * 1000):013d}-{os.urandom(4).hex()}"
        write_new_record(self.requests / f"{call}.json", {"verb": verb, "at": stamp(now.wall)})
        return call

    def answer(self, call: str, status: int, error: str | None) -> None:
        """Answer a call and strike it off. An answer that is there already stands."""
        answer: Mapping[str, object] = {"status": status, "error": error}
        write_new_record(self.replies / f"{call}.json", answer)
        remove(self.requests / f"{call}.json")

    def answered(self, call: str) -> Reading[Table | None]:
        """The answer to a call, None while there is none."""
        return read_record(self.replies / f"{call}.json")

    def oldest_request(self) -> Request | None:
        """The call that has waited longest; its verb is empty where it cannot be read."""
        waiting = sorted(path for path in self.requests.glob("*.json") if path.name[0] != ".")
        return _request(waiting[0]) if waiting else None


def _request(path: Path) -> Request:
    found = read_record(path)
    try:
        verb = found.choice("verb", VERBS) if isinstance(found, Table) else ""
    except ShapeError:
        verb = ""
    return Request(path.stem, verb)
