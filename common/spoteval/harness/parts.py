"""The bytes of a part, for those who publish and need not know what a log is made of."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from spoteval.episode import Part

if TYPE_CHECKING:
    from spoteval.harness.inspect_zip import Entry

_ZIP = b"PK\x03\x04"
_Signature = tuple[int, int, int]


@dataclass
class PartReader:
    """Reads parts. It keeps the directory of the container that it read last, not the container itself.

    Threads may share it. A log of 5,000 samples has as many entries: to read them anew for each sample would make a
    pass quadratic.
    """

    _of: tuple[Path, _Signature] | None = field(default=None, repr=False)
    _entries: "Mapping[str, Entry]" = field(default_factory=dict, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def read(self, part: Part) -> bytes:
        """The whole of a part: the file, or the one decompressed member of a container.

        Raises OSError where it cannot be read, and ValueError where the container does not hold it undamaged.
        """
        if part.member is None:
            return part.path.read_bytes()
        with self._lock:
            return self._member(part.path, part.member)

    def _member(self, path: Path, member: str) -> bytes:
        from spoteval.harness.inspect_zip import Archive, signature_of

        seen = (path, signature_of(path.stat()))
        with Archive(path, self._entries if seen == self._of else None) as archive:
            if archive.signature != seen[1]:
                raise ValueError(f"{path}: was replaced just now")
            self._of, self._entries = seen, archive.entries
            return archive.read(member)


def read_part(part: Part) -> bytes:
    """One part, as `PartReader.read` reads it."""
    return PartReader().read(part)


def members(path: Path) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """What is in a container, for those who look through it: a key that changes with the content, and its reading.

    Nothing for a plain file, and for a container that is torn or of a kind that is not installed. Raises OSError; the
    reading raises ValueError too.
    """
    with path.open("rb") as file:
        if file.read(len(_ZIP)) != _ZIP:
            return
    try:
        from spoteval.harness.inspect_zip import Archive, Damaged
    except ImportError:
        return
    try:
        archive = Archive(path)
    except Damaged:
        return
    with archive:
        for name in sorted(archive.names):
            yield f"{path}:{name}:{archive.checksum(name)}", partial(archive.read, name)
