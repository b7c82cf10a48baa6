"""What a long campaign has found so far, in a file: its parts add up, as long as they are of the same sources."""

import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = ("agents", "common", "units")
"""What every figure depends on; a campaign adds its own files and folders."""
Found = dict[str, Any]
EARLIER = "earlier"


def sources(own: Sequence[str], root: Path = ROOT) -> str:
    """One sha256 over the product and these files and folders, by name and bytes; tests are none of them."""
    digest = hashlib.sha256()
    for path in _files(root, own):
        digest.update(f"{path.relative_to(root)}\0{len(data := path.read_bytes())}\0".encode())
        digest.update(data)
    return digest.hexdigest()


def _files(root: Path, own: Sequence[str]) -> Iterable[Path]:
    for part in (*PRODUCT, *own):
        path = root / part
        found = [path] if path.is_file() else sorted(path.rglob("*"))
        yield from (one for one in found if one.is_file() and _is_source(one))


def _is_source(path: Path) -> bool:
    return "__pycache__" not in path.parts and not path.name.startswith("test_")


@dataclass(slots=True)
class Parts:
    """Results by name; `took_s` is the time of all parts together. Without a path nothing is kept."""

    path: Path | None
    head: Mapping[str, object]
    found: dict[str, Found] = field(default_factory=dict)
    more: Found = field(default_factory=dict)
    """What belongs to all of them."""
    took_s: float = 0.0
    _mine: set[str] = field(default_factory=set)
    _since_s: float = field(default_factory=time.monotonic)

    def add(self, name: str, result: Found) -> None:
        """Keep one result, at once: a campaign that is cut off loses what it was at, and no more.

        One that was played again keeps under `earlier` what came of it before.
        """
        before = self.found.get(name)
        if before is not None:
            last = {key: value for key, value in before.items() if key != EARLIER}
            result = {**result, EARLIER: [*before.get(EARLIER, []), last]}
        self.found[name] = result
        self._mine.add(name)
        self.keep()

    def keep(self) -> None:
        """Write all of it, with what another part has found in the meantime: they may run at the same time."""
        now_s = time.monotonic()
        passed_s, self._since_s = now_s - self._since_s, now_s
        if self.path is None:
            self.took_s += passed_s
            return
        with self.path.with_name(f".{self.path.name}.lock").open("w") as lock:
            flock(lock, LOCK_EX)
            other = _known(self.path, self.head)
            mine = {name: self.found[name] for name in self._mine}
            self.found = {**self.found, **other.get("found", {}), **mine}
            self.took_s = max(self.took_s, float(other.get("took_s", 0.0))) + passed_s
            beside = self.path.with_name(f".{self.path.name}.tmp")
            beside.write_text(json.dumps(self.record(), indent=1))
            beside.rename(self.path)

    def again(self, names: Iterable[str]) -> int:
        """How many of these came out otherwise before."""
        return sum(EARLIER in self.found.get(name, {}) for name in names)

    def record(self) -> Found:
        """As it lies in the file."""
        return {**self.head, **self.more, "found": self.found, "took_s": round(self.took_s, 1)}


def parts(path: Path | None, own: Sequence[str], **head: object) -> Parts:
    """Those of the file, where it is of these sources and this head; else none."""
    whole = {"sources": sources(own), **head}
    known = _known(path, whole) if path is not None else {}
    if not known:
        return Parts(path, whole)
    more = {name: known[name] for name in known if name not in (*whole, "found", "took_s")}
    return Parts(path, whole, dict(known["found"]), more, float(known["took_s"]))


def _known(path: Path, head: Mapping[str, object]) -> Found:
    """What the file holds, where it is of this head; else nothing."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    is_whole = isinstance(found, dict) and isinstance(found.get("found"), dict)
    is_timed = is_whole and isinstance(found.get("took_s"), int | float)
    return found if is_timed and all(found.get(key) == head[key] for key in head) else {}


@contextmanager
def cancelled(pool: Executor) -> Iterator[Executor]:
    """The pool; who interrupts the block waits for what is being played, and begins no more."""
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
