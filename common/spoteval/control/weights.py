"""Weights against the SHA256SUMS beside them: each file hashed once, and again only where it changed."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from spoteval.control.refused import Refused
from spoteval.files import read_record, write_record
from spoteval.shape import Table

SUMS = "SHA256SUMS"
_LINE = re.compile(r"([0-9a-fA-F]{64}) [ *](.+)")
_CHUNK = 4 * 1024 * 1024

Known = dict[str, list[object]]
"""Of each verified file: the sum that it was held against, size, time of change in ns, inode."""


@dataclass(frozen=True, slots=True)
class Verified:
    """How many files are as listed, and how many of them were read for it. `listed` is False without SHA256SUMS."""

    listed: bool
    files: int = 0
    read: int = 0
    read_bytes: int = 0

    def record(self) -> dict[str, object]:
        """As JSON."""
        return {
            "listed": self.listed,
            "files": self.files,
            "read": self.read,
            "read_bytes": self.read_bytes,
        }


def verify_weights(weights: Path, memory: Path) -> Verified:
    """Hold every listed file against its sum. Raises Refused for the first that is missing or differs, and OSError.

    `memory` is a record of ours: what it knows is not read again while size, time and inode are the same. It is
    written after each file, so that a machine that is taken away in the middle goes on from there.
    """
    if not (weights / SUMS).exists():
        return Verified(listed=False)
    sums = _sums(weights / SUMS)
    known = {name: value for name, value in _known(memory).items() if name in sums}
    read, read_bytes = 0, 0
    for name, wanted in sums.items():
        now = _stamp(weights / name, wanted)
        if known.get(name) == now:
            continue
        if _digest(weights / name) != wanted:
            raise Refused(f"{weights / name}: is not what {SUMS} says (download it again)")
        known[name] = now
        read, read_bytes = read + 1, read_bytes + (weights / name).stat().st_size
        write_record(memory, {"files": known})
    return Verified(listed=True, files=len(sums), read=read, read_bytes=read_bytes)


def _sums(path: Path) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), start=1):
        match = _LINE.fullmatch(line)
        if match is None:
            raise Refused(f"{path}: line {number} is no line of sha256sum")
        found[match[2]] = match[1].lower()
    return found


def _known(memory: Path) -> Known:
    found = read_record(memory)
    files = found.values.get("files") if isinstance(found, Table) else None
    pairs = files.items() if isinstance(files, dict) else ()
    return {name: value for name, value in pairs if isinstance(value, list)}


def _stamp(path: Path, wanted: str) -> list[object]:
    try:
        found = path.stat()
    except FileNotFoundError:
        raise Refused(f"{path}: listed in {SUMS} and not there") from None
    return [wanted, found.st_size, found.st_mtime_ns, found.st_ino]


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        while data := file.read(_CHUNK):
            digest.update(data)
    return digest.hexdigest()
