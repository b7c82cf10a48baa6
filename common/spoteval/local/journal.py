"""The journal of a local host: what units write, a stamp before each line."""

from collections.abc import Callable
from pathlib import Path

from spoteval.clock import Now, stamp


class Journal:
    """One text file for each unit. Not durable and not a record: it is what the console shows."""

    def __init__(
        self,
        directory: Path,
        echo: Callable[[str], object] | None = None,
        most_bytes: int | None = None,
    ) -> None:
        """`echo` is given each line too. Beyond `most_bytes` a file keeps the node's own lines alone: they say what
        the unit is now.
        """
        self._directory = directory
        self._echo, self._most_bytes = echo, most_bytes
        self._begun: dict[str, bytes] = {}
        directory.mkdir(parents=True, exist_ok=True)

    def take(self, unit: str, data: bytes, now: Now) -> None:
        """Write the whole lines of what a unit wrote; the rest waits for its end."""
        *lines, rest = (self._begun.pop(unit, b"") + data).split(b"\n")
        if rest:
            self._begun[unit] = rest
        self._append(unit, lines, now)

    def say(self, unit: str, text: str, now: Now) -> None:
        """A line of the node itself, as systemd writes them."""
        self._append(unit, [f"-- {text}".encode()], now)

    def _append(self, unit: str, lines: list[bytes], now: Now) -> None:
        if not lines:
            return
        at = stamp(now.wall).encode()
        path = self._directory / f"{unit}.log"
        with path.open("ab") as log:
            log.write(b"".join(at + b" " + line + b"\n" for line in lines))
            is_full = self._most_bytes is not None and log.tell() > self._most_bytes
        if is_full:
            lines_of = path.read_bytes().splitlines(keepends=True)
            kept = (line for line in lines_of if line.split(b" ", 2)[1:2] == [b"--"])
            path.write_bytes(b"".join(kept))
        if self._echo is not None:
            self._echo("".join(f"{unit} {line.decode(errors='replace')}\n" for line in lines))
