"""A slow look at everything that is published: is it on the disk still what the witness says.

A pass looks at what is news alone. What is written into a published episode, or over one of its files with the old
date, is no news: it is found here, and said; what is published stays as it is.

In slices of at most 50 ms after a regular pass, and a thousandth of a processor over all: the processor time of each
slice is measured, and what it took has to pass a thousandfold before as much is taken again. (A lower priority instead
would last: a thread cannot take it back, and what wants a final pass would wait for it.)
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import thread_time

from spoteval.clock import Now, monotonic_s, parse_stamp, stamp
from spoteval.files import read_record, write_record
from spoteval.harness.directory import contents
from spoteval.shape import ShapeError, Table

SLICE_S = 0.045
"""Of a slice, by the processor and by the clock; its last step comes on top."""
SHARE = 0.001
"""Of one processor, that all slices together may take."""
EVERY_S = 3600.0
"""From the beginning of a round to that of the next."""
MARGIN_S = 2.0
_PIECE = 1 << 18
Clock = Callable[[], float]
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


def allowed_s(left_s: float, passed_s: float) -> float:
    """How much processor time may be taken, when so much was left and so long has passed: never more than a slice."""
    return min(SLICE_S, left_s + max(0.0, passed_s) * SHARE)


@dataclass(slots=True)
class Audit:
    """Where the round stands. Files whose inode did not change since the last round began are not read again.

    `path` keeps when the rounds began; lost, everything is read once more.
    """

    path: Path
    run: str
    began: datetime = _LONG_AGO
    since: datetime = _LONG_AGO
    offset: int = 0
    found: dict[str, str] = field(default_factory=dict)
    """What is not as the witness says, by file."""
    left_s: float = SLICE_S
    """Processor time that may be taken now."""
    spent_s: float = 0.0
    """Processor time of the last slice."""
    longest_s: float = 0.0
    """Of the longest slice of this process."""
    _at_s: float | None = None
    _work: Iterator[None] | None = None

    @classmethod
    def of(cls, path: Path, run: str) -> "Audit":
        """As it was left; from the beginning where nothing is known."""
        table = read_record(path)
        try:
            if isinstance(table, Table) and table.text("run") == run:
                since = parse_stamp(table.text("since"))
                return cls(
                    path, run, parse_stamp(table.text("began")), since, table.whole("offset")
                )
        except (ShapeError, ValueError):
            pass
        return cls(path, run)

    def slice(
        self,
        witness: Path,
        episodes: Path,
        now: Now,
        clocks: tuple[Clock, Clock] = (monotonic_s, thread_time),
    ) -> bool:
        """Go on for as long as may be; returns whether a round ended. Raises OSError for our own files.

        `clocks` are the host's and that of this thread's processor time, in seconds.
        """
        self.spent_s = 0.0
        if not self._begin(witness, episodes, now):
            return False
        clock, processor = clocks
        since_s = 0.0 if self._at_s is None else now.mono_s - self._at_s
        self._at_s, self.left_s = now.mono_s, allowed_s(self.left_s, since_s)
        until_s, began_s = clock() + SLICE_S, processor()
        ended = True
        for _ in self._work or ():
            self.spent_s = processor() - began_s
            if self.spent_s >= self.left_s or clock() >= until_s:
                ended = False
                break
        self.left_s -= self.spent_s
        self.longest_s = max(self.longest_s, self.spent_s)
        if ended:
            self._work = None
            self.since, self.offset = self.began, 0
            self._save()
        return ended

    def _begin(self, witness: Path, episodes: Path, now: Now) -> bool:
        """Whether a round is under way, or begins now."""
        if self._work is None:
            if self.offset == 0:
                if 0.0 <= (now.wall - self.began).total_seconds() < EVERY_S:
                    return False
                self.began = now.wall
            self._work = self._round(witness, episodes)
        return True

    def _save(self) -> None:
        record = {
            "run": self.run,
            "began": stamp(self.began),
            "since": stamp(self.since),
            "offset": self.offset,
        }
        write_record(self.path, record, durable=False)

    def _round(self, witness: Path, episodes: Path) -> Iterator[None]:
        """One step after another; what is done is in `offset`."""
        try:
            with witness.open("rb") as file:
                file.seek(self.offset)
                for line in file:
                    yield from self._episode(_parsed(line), episodes)
                    self.offset += len(line)
                    yield
        except FileNotFoundError:
            return

    def _episode(self, line: Mapping[str, object], episodes: Path) -> Iterator[None]:
        name, parts = line.get("episode"), line.get("parts")
        if not isinstance(name, str) or not isinstance(parts, list) or "/" in name:
            return
        folder, meant = episodes / name, {part["name"]: part for part in parts if "name" in part}
        try:
            lying = {part.name: part.path for part in contents(folder)[0]}
        except FileNotFoundError:
            self._tell(name, "is gone from the disk since it was published")
            return
        except OSError as error:
            self._tell(name, f"not readable: {error.strerror}")
            return
        for extra in sorted(lying.keys() - meant.keys()):
            self._tell(f"{name}/{extra}", "was written after the episode was published")
        for part, entry in meant.items():
            if part not in lying:
                self._tell(f"{name}/{part}", "is gone from the disk since it was published")
            else:
                yield from self._file(f"{name}/{part}", lying[part], entry)

    def _file(self, name: str, path: Path, entry: Mapping[str, object]) -> Iterator[None]:
        try:
            found = path.lstat()
            if found.st_size != entry.get("size"):
                self._tell(name, f"changed after it was published ({entry.get('size')} bytes then)")
            elif found.st_ctime >= self.since.timestamp() - MARGIN_S:
                yield from self._bytes(name, path, entry)
            else:
                self.found.pop(name, None)
        except OSError as error:
            self._tell(name, f"not readable: {error.strerror}")

    def _bytes(self, name: str, path: Path, entry: Mapping[str, object]) -> Iterator[None]:
        digest = hashlib.sha256()
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with os.fdopen(os.open(path, flags), "rb") as file:
            while piece := file.read(_PIECE):
                digest.update(piece)
                yield
        if digest.hexdigest() != entry.get("sha256"):
            self._tell(name, "changed after it was published (as many bytes as then)")
        else:
            self.found.pop(name, None)

    def _tell(self, name: str, what: str) -> None:
        self.found[name] = f"episodes/{name}: {what}"


def _parsed(line: bytes) -> Mapping[str, object]:
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
