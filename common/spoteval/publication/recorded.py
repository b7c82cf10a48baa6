"""The record of a pull, and whether what lies in its directory is still that."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from stat import S_IMODE, S_ISREG

from spoteval.files import read_record
from spoteval.publication.target import PULLING, RECORD
from spoteval.publication.tree import Difference
from spoteval.shape import Reading, ShapeError, Table, Unreadable


@dataclass(frozen=True, slots=True)
class File:
    """One file as it was pulled. `mode` is None in records of earlier versions."""

    path: str
    size: int
    sha256: str
    mode: int | None


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a pull has written down."""

    run: str
    files: tuple[File, ...]
    folders: Mapping[str, int]
    links: Mapping[str, str]


def recorded(target: Path) -> Reading[Recorded]:
    """Unreadable where there is no record, or a damaged one."""
    table = read_record(target / RECORD)
    if table is None:
        if (target / PULLING).exists():
            return Unreadable(
                f'verify: "{target}": the pull was cut (the same spoteval pull goes on)'
            )
        return Unreadable(f'verify: "{target}": no {RECORD} (not made by spoteval pull)')
    if isinstance(table, Unreadable):
        return table
    try:
        return _recorded(table)
    except ShapeError as error:
        return Unreadable(f"{target / RECORD}: {error}")


def _recorded(table: Table) -> Recorded:
    folders = table.tables("folders") if table.has("folders") else ()
    links = table.tables("links") if table.has("links") else ()
    return Recorded(
        table.text("run"),
        tuple(_file(item) for item in table.tables("files")),
        {item.text("path"): item.whole("mode") for item in folders},
        {item.text("path"): item.text("target") for item in links},
    )


def _file(item: Table) -> File:
    mode = item.whole("mode") if item.has("mode") else None
    return File(item.text("path"), item.whole("size"), item.text("sha256"), mode)


def unlike(target: Path, item: File) -> str | None:
    """What is not as it was pulled, or None. Nothing but a plain file is opened for long: a pipe would block."""
    try:
        descriptor = os.open(target / item.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return "missing"
    except OSError as error:
        return f"unreadable: {error.strerror}"
    with open(descriptor, "rb", buffering=0) as file:  # noqa: PTH123 - it is open already
        found = os.fstat(descriptor)
        if not S_ISREG(found.st_mode):
            return "differs: no plain file"
        if found.st_size != item.size:
            return f"differs: {found.st_size} bytes, pulled were {item.size}"
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != item.sha256:
        return f"differs: sha256 {digest}, pulled was {item.sha256}"
    if item.mode is not None and S_IMODE(found.st_mode) & 0o777 != item.mode:
        return f"differs: mode {S_IMODE(found.st_mode):04o}, pulled was {item.mode:04o}"
    return None


def unlike_others(target: Path, record: Recorded) -> Iterator[Difference]:
    """Folders and links that are not as they were pulled."""
    for path, mode in record.folders.items():
        place = target / path
        if place.is_symlink() or not place.is_dir():
            yield Difference(path, "missing: was a folder")
        elif (now := S_IMODE(place.stat().st_mode) & 0o777) != mode:
            yield Difference(path, f"differs: mode {now:04o}, pulled was {mode:04o}")
    for path, goal in record.links.items():
        place = target / path
        if not place.is_symlink():
            yield Difference(path, "missing: was a link")
        elif (now_goal := str(place.readlink())) != goal:
            yield Difference(path, f'differs: a link to "{now_goal}", pulled was "{goal}"')
