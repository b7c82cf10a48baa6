"""The witness `finished.jsonl`: read once, then only what was appended to it."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from spoteval_agents.publication_follower.ledger import PUBLISHED, WITNESSED, Ledger
from spoteval_agents.publication_follower.work import AttemptId


class Witness:
    """Lines of attempts that are not published, or whose parts were withheld, are kept; of the rest, that they are.

    `trusted`: so many bytes of it tell nothing but what the ledger has as published already.
    """

    def __init__(self, path: Path, ledger: Ledger, trusted: int = 0) -> None:
        self._path, self._ledger, self._trusted = path, ledger, trusted
        self._inode, self.size = 0, 0
        self._kept: dict[AttemptId, Mapping[str, object]] = {}

    @property
    def is_plain(self) -> bool:
        """Whether all that it tells is published, with every part."""
        self._prune()
        return not self._kept

    def keeps(self, name: AttemptId) -> bool:
        """Whether there is still something to do about this attempt."""
        return name in self._kept

    def read(self) -> None:
        """What came since the last look; all of it where the file is another one. Raises OSError."""
        try:
            with self._path.open("rb") as file:
                found = os.fstat(file.fileno())
                self._begin(found)
                file.seek(self.size)
                for line in file:
                    if not line.endswith(b"\n"):
                        break  # torn, or being written
                    self.size += len(line)
                    self._take(line)
        except FileNotFoundError:
            if self.size:
                self._forget(0)

    def lines(self, episodes: Iterable[str]) -> Iterator[Mapping[str, object]]:
        """The kept lines whole; of what else is known of these episodes, the names."""
        self._prune()
        yield from self._kept.values()
        for episode in dict.fromkeys(episodes):
            for native_id, number, flags in self._ledger.of(episode):
                if flags & WITNESSED and (episode, native_id) not in self._kept:
                    yield {"episode": episode, "native_id": native_id, "attempt": number}

    def _begin(self, found: os.stat_result) -> None:
        if self._inode == 0 and 0 < self._trusted <= found.st_size:
            self._ledger.trust()
            self._inode, self.size = found.st_ino, self._trusted
        elif self._inode != found.st_ino or found.st_size < self.size:
            self._forget(found.st_ino)

    def _forget(self, inode: int) -> None:
        self._ledger.unwitness()
        self._kept.clear()
        self._inode, self.size = inode, 0

    def _take(self, data: bytes) -> None:
        try:
            line = json.loads(data)
        except ValueError:
            return
        number = line.get("attempt") if isinstance(line, dict) else None
        if not isinstance(number, int):
            return
        name = (str(line.get("episode")), str(line.get("native_id")))
        if not self._ledger.has(name, WITNESSED):  # the first line counts
            self._ledger.mark(name, number, WITNESSED)
            if has_withheld(line) or not self._ledger.has(name, PUBLISHED):
                self._kept[name] = line

    def _prune(self) -> None:
        done = [
            name
            for name, line in self._kept.items()
            if self._ledger.has(name, PUBLISHED) and not has_withheld(line)
        ]
        for name in done:
            del self._kept[name]


def has_withheld(line: Mapping[str, object]) -> bool:
    """Whether a part was withheld when the line was written."""
    parts = line.get("parts")
    found = parts if isinstance(parts, list) else []
    return any(isinstance(part, dict) and part.get("withheld") for part in found)
