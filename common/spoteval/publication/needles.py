"""Bytes that must not be published: configured secrets, in the forms in which a log may hold them. Pure."""

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import quote

SHORTEST = 8
"""A shorter secret would be found by chance in every large file: it is not looked for, which is said."""


@dataclass(frozen=True, slots=True)
class Needles:
    """What to look for: pairs of a credential's name and bytes. `ignored` says which secrets are not looked for."""

    forms: tuple[tuple[str, bytes], ...] = ()
    ignored: tuple[str, ...] = ()

    @property
    def longest(self) -> int:
        """Bytes of the longest form; 0 where there is none."""
        return max((len(form) for _, form in self.forms), default=0)

    def found_in(self, data: bytes) -> str | None:
        """The name of the first credential of which a form stands in the bytes."""
        for name, form in self.forms:
            if form in data:
                return name
        return None


class Stream:
    """Looks through bytes that come in pieces: what lies across a border is found too."""

    def __init__(self, needles: Needles) -> None:
        self._needles = needles
        self._tail = b""
        self.found: str | None = None

    def feed(self, chunk: bytes) -> None:
        """The next piece."""
        if self.found is not None or not self._needles.forms:
            return
        data = self._tail + chunk
        self.found = self._needles.found_in(data)
        self._tail = data[-(self._needles.longest - 1) :]


def needles_of(secrets: Mapping[str, Iterable[str]]) -> Needles:
    """The forms of each credential's secrets. What is shorter than SHORTEST is named in `ignored`, never shown."""
    found, ignored = list[tuple[str, bytes]](), list[str]()
    for name, values in secrets.items():
        for value in values:
            if len(value.encode()) < SHORTEST:
                ignored.append(f"credential {name}: shorter than {SHORTEST} bytes: not looked for")
            else:
                found += ((name, form) for form in _forms(value))
    return Needles(tuple(dict.fromkeys(found)), tuple(dict.fromkeys(ignored)))


def secrets_in(text: str) -> tuple[str, ...]:
    """The secrets in a credential file: its one line, or in a file of `key = value` lines the values of secret keys.

    AWS' own form has several lines, of which the region and the public id of a key are no secrets.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) == 1:
        return (lines[0],)
    pairs = ((key, _bare(value)) for key, _, value in (line.partition("=") for line in lines))
    return tuple(value for key, value in pairs if value and _is_secret(key))


def _bare(value: str) -> str:
    """Without the quotes that a file of keys may have around it, and a log has not."""
    return value.strip().strip("\"'")


def _is_secret(key: str) -> bool:
    name = key.strip().lower()
    return any(word in name for word in ("secret", "token", "password")) or name in (
        "key",
        "api_key",
    )


def _forms(value: str) -> Iterator[bytes]:
    plain = value.encode()
    yield plain
    yield json.dumps(value)[1:-1].encode()
    yield quote(value, safe="").encode()
    for shift in range(3):
        yield from _base64(plain, shift)


def _base64(plain: bytes, shift: int) -> Iterator[bytes]:
    """The characters that the secret alone decides, where it begins `shift` bytes after a group of three."""
    first, last = -(-shift * 8 // 6), (shift + len(plain)) * 8 // 6
    padded = bytes(shift) + plain
    yield base64.b64encode(padded)[first:last]
    yield base64.urlsafe_b64encode(padded)[first:last]
