"""Logs of JSON lines: one O_APPEND write a line; readers lose at most the torn one, named by number."""

import errno
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from spoteval.files.owner import give_to_owner, make_folder
from spoteval.files.step import about, step
from spoteval.files.whole import json_line, sync_directory


@dataclass(frozen=True, slots=True)
class Lines:
    """The records of a log, and the numbers (from 1) of lines that could not be read."""

    records: tuple[dict[str, object], ...] = ()
    torn: tuple[int, ...] = ()


def append_line(
    path: Path, record: Mapping[str, object], durable: bool = True, *, alone: bool = False
) -> None:
    """Append one JSON line; with `durable`, it survives a power cut once this returns.

    A last byte that is no newline (a line torn by a crash) gets one first, so that it costs one line and not two.
    `alone`: nobody else appends to this file, hence what did not become durable is cut off again.
    """
    append_lines(path, [record], durable, alone=alone)


def append_lines(
    path: Path,
    records: Sequence[Mapping[str, object]],
    durable: bool = True,
    *,
    alone: bool = False,
) -> None:
    """Append several JSON lines in one write. Raises OSError where the disk does not take all of it."""
    with about(path):
        _append(path, b"".join(json_line(record) for record in records), durable, alone)


def _append(path: Path, data: bytes, durable: bool, alone: bool) -> None:
    is_new = not path.exists()
    make_folder(path.parent)
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        if is_new:
            give_to_owner(descriptor, path.parent)
        step("append", path)
        _write_whole(descriptor, (b"\n" if _is_torn(descriptor) else b"") + data)
        step("appended", path)
        if durable:
            _sync(descriptor, len(data) if alone else 0)
    finally:
        os.close(descriptor)
    if durable and is_new:
        sync_directory(path.parent)


def _sync(descriptor: int, taken_back: int) -> None:
    """A full disk may show only here: the last `taken_back` bytes are then cut off, or the next look would take them
    for durable."""
    try:
        os.fsync(descriptor)
    except OSError:
        with suppress(OSError):
            os.ftruncate(descriptor, os.fstat(descriptor).st_size - taken_back)
        raise


def read_lines(path: Path) -> Lines:
    """Every whole record of a log; an absent log has none. Raises OSError where the file cannot be read."""
    try:
        return parse_lines(path.read_bytes())
    except FileNotFoundError:
        return Lines()


def read_last(path: Path, count: int) -> tuple[dict[str, object], ...]:
    """The whole records among the last `count` lines of a log; an absent log has none. Raises OSError."""
    try:
        lines = path.read_bytes().removesuffix(b"\n").split(b"\n")
    except FileNotFoundError:
        return ()
    return parse_lines(b"\n".join(lines[-count:])).records


def lines_of(path: Path) -> Iterator[dict[str, object]]:
    """The same records, one at a time in memory. Raises OSError where the file cannot be read."""
    try:
        with path.open("rb") as file:
            for line in file:
                record = _record(line.rstrip(b"\n"))
                if record is not None:
                    yield record
    except FileNotFoundError:
        return


def parse_lines(data: bytes) -> Lines:
    """The records in the bytes of a log. Blank and zero-filled stretches are torn lines, not records."""
    records: list[dict[str, object]] = []
    torn: list[int] = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        if line:
            _take(line, number, records, torn)
    return Lines(tuple(records), tuple(torn))


def _take(line: bytes, number: int, records: list[dict[str, object]], torn: list[int]) -> None:
    record = _record(line)
    if record is None:
        torn.append(number)
    else:
        records.append(record)


def _record(line: bytes) -> dict[str, object] | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def _write_whole(descriptor: int, data: bytes) -> None:
    """A disk that is nearly full takes a part and reports no error. The part stays, as a torn line: cutting it off
    could cost what another process has appended meanwhile."""
    if os.write(descriptor, data) < len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _is_torn(descriptor: int) -> bool:
    size = os.fstat(descriptor).st_size
    return size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
