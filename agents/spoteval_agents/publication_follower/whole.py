"""Whether a zip or a JSON file is whole, as far as that can be told without holding all of it in memory."""

import json
import os
import re
import zipfile
from io import BufferedReader
from pathlib import Path

PARSED_BYTES = 1 << 20
"""A JSON file up to this size is parsed; of a larger one, whose values would take ten times its bytes, only the end of
every list, object and text is looked for, which no cut leaves."""
_PIECE = 1 << 18
_END, _END_BYTES = b"PK\x05\x06", 22
_LONGEST_END = _END_BYTES + (1 << 16)
_MARKS = re.compile(rb'\\.|["\[\]{}]', re.DOTALL)


def torn_zip(file: BufferedReader) -> str | None:
    """Why it is no whole zip, None where its directory can be read (end-of-central-directory, APPNOTE 4.3.16)."""
    try:
        with zipfile.ZipFile(file) as found:
            names = found.infolist()
            if not _ends(file):
                return "no whole zip (something follows its directory)"
            if names:
                found.open(names[-1]).close()  # its own header, where the directory says that it is
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, OSError) as error:
        return (
            None
            if isinstance(error, NotImplementedError | RuntimeError)
            else f"no whole zip ({error})"
        )
    return None


def _ends(file: BufferedReader) -> bool:
    """Whether the record that ends the directory, with its comment, also ends the file."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _LONGEST_END))
    tail = file.read()
    at = tail.rfind(_END)
    return at + _END_BYTES + int.from_bytes(tail[at + 20 : at + 22], "little") == len(tail)


def torn_json(path: Path, data: bytes | None) -> str | None:
    """Why it is no whole JSON value, None where it is one. `data` is None where it is too large for memory."""
    if data is not None and len(data) <= PARSED_BYTES:
        try:
            json.loads(data)
        except ValueError as error:
            return f"no whole JSON ({error})"
        return None
    return None if _is_closed(path) else "no whole JSON (it does not end)"


def _is_closed(path: Path) -> bool:
    """Whether every text, list and object that begins also ends, and something began."""
    depth, in_text, began, rest = 0, False, False, b""
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            piece = rest + piece
            rest = b"\\" if _ends_escaping(piece) else b""
            for mark in _MARKS.findall(piece.removesuffix(rest) if rest else piece):
                if mark == b'"':
                    in_text = not in_text
                elif not in_text and len(mark) == 1:
                    depth += 1 if mark in b"[{" else -1
                    began = True
    return began and depth == 0 and not in_text and not rest


def _ends_escaping(piece: bytes) -> bool:
    return (len(piece) - len(piece.rstrip(b"\\"))) % 2 == 1
