"""The store of the virtual world: the truth on one shelf, and what each reader can see of it by now.

Create-only puts and their points are those of a real store. A put is listed at once by who made it and up to
some seconds later by everybody else; a get finds it at once.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from spoteval.files.step import step
from spoteval.store.contract import NotThere, Put, Stored, StoreError, StoreRefused, key_error
from spoteval.store.file import FileStore

INSTANCE = "instances/gpu-1/"
"""The prefix whose LISTs are remembered: what the last one named is what a restarter could know."""

Told = Callable[[str, bytes, str], None]


@dataclass
class View:
    """The keys that one reader is listed. `sizes`: of all objects."""

    sizes: dict[str, int]
    keys: list[str] = field(default_factory=list)
    late: list[tuple[float, str]] = field(default_factory=list)
    cached: dict[str, tuple[Stored, ...]] = field(default_factory=dict)

    def add(self, key: str, at_s: float, now_s: float) -> None:
        """A key that is listed from then on."""
        if at_s > now_s:
            self.late.append((at_s, key))
            return
        insort(self.keys, key)
        self.cached.clear()

    def below(self, prefix: str, now_s: float) -> tuple[Stored, ...]:
        """One LIST."""
        if self.late:
            due = [item for item in self.late if item[0] <= now_s]
            self.late = [item for item in self.late if item[0] > now_s]
            for _, key in due:
                self.add(key, now_s, now_s)
        if prefix not in self.cached:
            self.cached[prefix] = tuple(Stored(key, self.sizes[key]) for key in self._from(prefix))
        return self.cached[prefix]

    def _from(self, prefix: str) -> Iterator[str]:
        for number in range(bisect_left(self.keys, prefix), len(self.keys)):
            if not self.keys[number].startswith(prefix):
                return
            yield self.keys[number]


@dataclass
class Shelf:
    """What was put, by whom. `late_s`: how much later than its put a key is listed by others."""

    seconds: Callable[[], float]
    told: Told
    objects: dict[str, bytes] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    views: dict[str, View] = field(default_factory=dict)
    late_s: float = 0.0

    def put(self, key: str, data: bytes, by: str) -> bool:
        """Create-only, as every put."""
        if key in self.objects:
            return False
        self.objects[key], self.sizes[key] = data, len(data)
        now_s = self.seconds()
        for reader, view in self.views.items():
            view.add(key, now_s if reader == by else now_s + self.late_s, now_s)
        self.told(key, data, by)
        return True

    def view(self, reader: str) -> View:
        """What this reader is listed."""
        if reader not in self.views:
            self.views[reader] = View(self.sizes, sorted(self.objects))
        return self.views[reader]

    def listed(self, reader: str, prefix: str) -> frozenset[str]:
        """The keys below `prefix` that a LIST by this reader would name now."""
        return frozenset(item.key for item in self.view(reader).below(prefix, self.seconds()))


def _refuse(key: str) -> None:
    if (why := key_error(key)) is not None:
        raise StoreRefused(why)


class VirtualStore:
    """The store as one host reaches it, with the outages and lost answers of the moment."""

    url = "virtual://store"

    def __init__(self, shelf: Shelf, reader: str) -> None:
        self._shelf, self._reader = shelf, reader
        self.away = self.loses_answers = self.answered = False
        self.lost = self._told_lost = 0
        self.listed: tuple[float, tuple[Stored, ...]] = (-1e9, ())
        shelf.view(reader)

    def put(self, key: str, data: bytes) -> Put:
        """Create `key`, with the points of a real store."""
        self._reach()
        _refuse(key)
        step("write", Path(key))
        step("link", Path(key))
        made = self._shelf.put(key, data, self._reader)
        if made:
            step("linked", Path(key))
        if self.loses_answers:
            self.lost += 1
            raise StoreError("timeout: no answer to the put")
        self.answered = True
        return Put.CREATED if made else Put.EXISTS

    @property
    def keys(self) -> tuple[str, ...]:
        """What the last LIST of the instance named."""
        return tuple(item.key for item in self.listed[1])

    @property
    def lost_now(self) -> bool:
        """Whether an answer was lost since this was asked last."""
        lost, self._told_lost = self.lost > self._told_lost, self.lost
        return lost

    @property
    def late(self) -> bool:
        """Whether something was put that this reader is not listed yet."""
        return bool(self._shelf.view(self._reader).late)

    def put_file(self, key: str, path: Path) -> Put:
        """Create `key` with the bytes of a file."""
        return self.put(key, path.read_bytes())

    def get(self, key: str) -> bytes:
        """The bytes of `key`; raises NotThere."""
        self._reach()
        _refuse(key)
        if key not in self._shelf.objects:
            raise NotThere(f"{self.url}/{key}: no such object")
        return self._shelf.objects[key]

    def list(self, prefix: str) -> Iterator[Stored]:
        """Every key that is listed by now."""
        self._reach()
        now_s = self._shelf.seconds()
        found = self._shelf.view(self._reader).below(prefix, now_s)
        if prefix == INSTANCE:
            self.listed = (now_s, found)
        return iter(found)

    def _reach(self) -> None:
        if self.away:
            raise StoreError("connection refused")


class DiskStore(FileStore):
    """The same on a real directory: every reader sees everything at once."""

    def __init__(self, shelf: Shelf, reader: str, root: Path) -> None:
        super().__init__(root)
        self._shelf, self._reader, self._directory = shelf, reader, root
        self._synced = 0
        self.away = self.loses_answers = self.answered = False
        self.lost = self._told_lost = 0
        self.listed: tuple[float, tuple[Stored, ...]] = (-1e9, ())
        shelf.view(reader)

    @property
    def keys(self) -> tuple[str, ...]:
        """What the last LIST of the instance named."""
        return tuple(item.key for item in self.listed[1])

    @property
    def lost_now(self) -> bool:
        """Whether an answer was lost since this was asked last."""
        lost, self._told_lost = self.lost > self._told_lost, self.lost
        return lost

    @property
    def late(self) -> bool:
        """A directory lists everything at once."""
        return False

    def put(self, key: str, data: bytes) -> Put:
        self._reach()
        try:
            made = super().put(key, data)
        finally:  # also where the process was cut after the effect
            if (self._directory / key).exists():
                self._shelf.put(key, data, self._reader)
        if self.loses_answers:
            self.lost += 1
            raise StoreError("timeout: no answer to the put")
        self.answered = True
        return made

    def get(self, key: str) -> bytes:
        self._reach()
        return super().get(key)

    def list(self, prefix: str) -> Iterator[Stored]:
        self._reach()
        found = tuple(super().list(prefix))
        if prefix == INSTANCE:
            self.listed = (self._shelf.seconds(), found)
        return iter(found)

    def sync(self) -> None:
        """Bring what the world has put since onto the disk, past `spoteval.files`: no crash cuts its hands."""
        for key in list(self._shelf.objects)[self._synced :]:
            path = self._directory / key
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                path.write_bytes(self._shelf.objects[key])
        self._synced = len(self._shelf.objects)

    def _reach(self) -> None:
        if self.away:
            raise StoreError("connection refused")
        self.sync()
