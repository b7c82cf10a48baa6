"""The head of an answer, looked into by name: a put asks for five of a dozen headers."""

from collections.abc import Iterator, Mapping
from http.client import HTTPException
from typing import TypeVar, overload

T = TypeVar("T")
_END = b"\r\n"


class Garbled(HTTPException):
    """What came is no HTTP answer."""


class Headers(Mapping[str, str]):
    """Values by lower-case name; of a name that is there twice the last one."""

    __slots__ = ("_lines", "_lower")

    def __init__(self, lines: bytes) -> None:
        """Each line after its CRLF."""
        self._lines, self._lower = lines, lines.lower()

    def __getitem__(self, name: str) -> str:
        found = self.get(name)
        if found is None:
            raise KeyError(name)
        return found

    @overload
    def get(self, name: str, /) -> str | None: ...
    @overload
    def get(self, name: str, default: str | T, /) -> str | T: ...
    def get(self, name: str, default: str | T | None = None, /) -> str | T | None:
        """As of any mapping."""
        sought = b"\r\n%s:" % name.encode()
        at = self._lower.rfind(sought)
        if at < 0:
            return default
        begin = at + len(sought)
        end = self._lines.find(_END, begin)
        return self._lines[begin : end if end >= 0 else None].decode("latin-1").strip()

    def __iter__(self) -> Iterator[str]:
        lines = self._lower.decode("latin-1").split("\r\n")
        return iter(dict.fromkeys(line.partition(":")[0] for line in lines if ":" in line))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def parsed(head: bytes) -> tuple[int, Headers]:
    """Status and headers of a whole head, without the empty line at its end; raises Garbled for what is none."""
    first, end, rest = head.partition(_END)
    words = first.split(b" ", 2)
    if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].isdigit():
        raise Garbled("no status")
    headers = Headers(end + rest)
    if words[0] == b"HTTP/1.0" and "connection" not in headers:
        headers = Headers(end + rest + b"\r\nconnection: close")
    return int(words[1]), headers
