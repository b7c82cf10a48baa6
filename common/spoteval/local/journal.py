"""The journal of a local host: what units write, a stamp before each line."""

from pathlib import Path

from spoteval.clock import Now, stamp


class Journal:
    """One text file for each unit. Not durable and not a record: it is what the console shows."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
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
        with (self._directory / f"{unit}.log").open("ab") as log:
            log.write(b"".join(at + b" " + line + b"\n" for line in lines))
