"""Entries of the holds directory that name no instance of this host: most likely a typo of one."""

from collections.abc import Iterable
from pathlib import Path


class Strays:
    """Shared by all instances of a host: the directory is read anew only when it has changed."""

    def __init__(self, directory: Path, instances: Iterable[str]) -> None:
        names = frozenset(instances)
        self._directory = directory
        self._known = names | {f"{name}.d" for name in names}
        self._found: tuple[int, tuple[str, ...]] | None = None

    def names(self) -> tuple[str, ...]:
        """The names, sorted; none where the directory cannot be read, which is a hold by itself."""
        try:
            changed = self._directory.stat().st_mtime_ns
            before = self._found
            if before is not None and before[0] == changed:
                return before[1]
            found = {path.name for path in self._directory.iterdir()} - self._known
        except OSError:
            return ()
        strays = tuple(sorted(name for name in found if not name.startswith(".")))
        self._found = (changed, strays)
        return strays
