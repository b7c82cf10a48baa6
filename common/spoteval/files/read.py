"""Reading records back: absent, whole, or unreadable, never a guess."""

import errno
import json
import os
from pathlib import Path
from stat import S_ISREG

from spoteval.shape import Reading, Table, Unreadable

TEXT_BYTES = 4096
"""Of a touch file: its text stands in every line."""


def read_record(path: Path) -> Reading[Table | None]:
    """The JSON object at `path` as a table; None where the file is absent, Unreadable where it is damaged."""
    try:
        data = _bytes(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        return Unreadable(f"{path}: {error.strerror}")
    return parse_record(data, str(path))


def parse_record(data: bytes, place: str) -> Reading[Table]:
    """The JSON object in `data`; Unreadable for torn, zero-filled or foreign bytes, or a format we do not know."""
    try:
        value = json.loads(data)
    except ValueError:
        return Unreadable(f"{place}: damaged ({len(data)} bytes, no whole JSON object)")
    if not isinstance(value, dict) or value.get("format") != 1:
        return Unreadable(f"{place}: not a record of format 1")
    return Table(value, place)


def read_text(path: Path) -> Reading[str | None]:
    """The text of a touch file: None where it is absent, empty text where it was only touched.

    Of a long text the beginning. A link that leads nowhere is there, and cannot be read.
    """
    try:
        return _bytes(path, TEXT_BYTES).decode(errors="replace").strip()
    except FileNotFoundError:
        return Unreadable(f"{path}: a link that leads nowhere") if path.is_symlink() else None
    except OSError as error:
        return Unreadable(f"{path}: {error.strerror}")


def _bytes(path: Path, most: int = -1) -> bytes:
    """What is in a plain file. Anything else is not waited for: a pipe would never answer."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a plain file", str(path))
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(most)
    finally:
        os.close(descriptor)
