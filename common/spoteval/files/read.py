"""Reading records back: absent, whole, or unreadable, never a guess."""

import json
from pathlib import Path

from spoteval.shape import Reading, Table, Unreadable


def read_record(path: Path) -> Reading[Table | None]:
    """The JSON object at `path` as a table; None where the file is absent, Unreadable where it is damaged."""
    try:
        data = path.read_bytes()
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
    """The text of a touch file: None where it is absent, empty text where it was only touched."""
    try:
        return path.read_text(errors="replace").strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        return Unreadable(f"{path}: {error.strerror}")
