"""The manifest of a published attempt: what its parts are, byte for byte, and how it ended."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from spoteval.episode import Attempt, Extra, attempt_from
from spoteval.files import encoded, parse_record
from spoteval.shape import Reading, ShapeError, Table, Unreadable

_SHA256 = re.compile(r"[0-9a-f]{64}")
EXTRAS = ("folder", "link", "special", "unreadable")


@dataclass(frozen=True, slots=True)
class PartEntry:
    """One part: its name within the attempt, its bytes by size and sha256, and its file mode.

    `withheld` names the credential whose secret it held when the manifest was made: then its bytes need not be there.
    """

    name: str
    size: int
    sha256: str
    mode: int
    withheld: str | None = None

    def record(self) -> dict[str, object]:
        """The entry as a JSON object."""
        held = {} if self.withheld is None else {"withheld": self.withheld}
        own = {"name": self.name, "size": self.size, "sha256": self.sha256, "mode": self.mode}
        return {**own, **held}


@dataclass(frozen=True, slots=True)
class Manifest:
    """What one MANIFEST.json says."""

    run: str
    attempt: Attempt
    parts: tuple[PartEntry, ...]
    extras: tuple[Extra, ...] = ()
    """What has no bytes: folders (also empty ones) with their modes, links with their targets, special files."""


def witness_line(
    attempt: Attempt, parts: Iterable[PartEntry], extras: Iterable[Extra] = ()
) -> dict[str, object]:
    """The line of finished.jsonl: the attempt and its parts. The manifest can be made again from it alone."""
    line = {**attempt.record(), "parts": [part.record() for part in parts]}
    others = [_extra_record(extra) for extra in extras]
    return {**line, "extras": others} if others else line


def _extra_record(extra: Extra) -> dict[str, object]:
    own: dict[str, object] = {"name": extra.name, "kind": extra.kind, "mode": extra.mode}
    return own if extra.target is None else {**own, "target": extra.target}


def manifest_bytes(run: str, line: Mapping[str, object]) -> bytes:
    """The manifest of a witness line: the same bytes each time it is made."""
    return encoded({"run": run, **line})


def manifest_from(data: bytes, place: str) -> Reading[Manifest]:
    """The manifest in an object; Unreadable where it is torn or names a part without size and sha256."""
    table = parse_record(data, place)
    if isinstance(table, Unreadable):
        return table
    attempt = attempt_from(table.values)
    if isinstance(attempt, Unreadable):
        return attempt
    try:
        return Manifest(table.text("run"), attempt, parts_from(table), extras_from(table))
    except ShapeError as error:
        return Unreadable(str(error))


def parts_from(table: Table) -> tuple[PartEntry, ...]:
    """The parts in a manifest or a witness line; raises ShapeError."""
    if not table.has("parts"):
        raise table.error("parts", "a list of parts")
    return tuple(_part(item) for item in table.tables("parts"))


def extras_from(table: Table) -> tuple[Extra, ...]:
    """The extras in a manifest or a witness line, none in one of an earlier version; raises ShapeError."""
    return tuple(_extra(item) for item in table.tables("extras")) if table.has("extras") else ()


def _extra(table: Table) -> Extra:
    return Extra(
        table.text("name"),
        table.choice("kind", EXTRAS),
        table.whole("mode") & 0o777,
        table.maybe_text("target"),
    )


def _part(table: Table) -> PartEntry:
    size, mode, sha256 = table.whole("size"), table.whole("mode"), table.text("sha256")
    if size < 0:
        raise table.error("size", "a number of bytes")
    if _SHA256.fullmatch(sha256) is None:
        raise table.error("sha256", "64 hexadecimal digits")
    return PartEntry(table.text("name"), size, sha256, mode & 0o777, table.maybe_text("withheld"))
