"""How far the life of a local node has got, read from the active run's events."""

from pathlib import Path

from spoteval.files import parse_lines, read_text

_KINDS = frozenset(["resume-began", "first-episode"])


class Progress:
    """What was appended to the run's events since this boot: those before it belong to other lives."""

    def __init__(self, durable: Path) -> None:
        self._root = durable / "spoteval"
        self._read = {path: _size(path) for path in self._root.glob("runs/*/events.jsonl")}
        self._kinds: set[str] = set()

    def kinds(self) -> frozenset[str]:
        """Which of resume-began and first-episode this life has seen."""
        active = read_text(self._root / "active")
        if isinstance(active, str) and active:
            self._look(self._root / "runs" / active / "events.jsonl")
        return frozenset(self._kinds)

    def _look(self, path: Path) -> None:
        """Read what is new, up to the last whole line: a line may be seen half written."""
        begin = self._read.get(path, 0)
        if _size(path) <= begin:
            return
        with path.open("rb") as log:
            log.seek(begin)
            whole, newline, _ = log.read().rpartition(b"\n")
        self._read[path] = begin + len(whole) + len(newline)
        found = {str(record.get("kind")) for record in parse_lines(whole).records}
        self._kinds |= found & _KINDS


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
