"""What makes the simulation quick without changing what the agents do: measured, each with its reason."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from spoteval.control import holds
from spoteval.publication.listing import InstanceListing, listing

SHM = Path("/dev/shm")


class Nowhere:
    """A journal that nobody reads: lines are rendered and written all the same."""

    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None:
        """Nothing to do."""


@contextmanager
def quickly() -> Iterator[Path]:
    """A directory in memory, for the block: real files, without waiting for a disk.

    A process that dies keeps its pages: fsync proves nothing here. A listing follows from its keys alone and never
    changes, so that neither it nor what is asked of it need be worked out twice.
    """
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setattr(os, "fsync", _no_fsync)
        patch.setattr(sys, "stderr", Nowhere())
        patch.setattr(holds, "listing", _remembered(listing))
        for name in ("assigned", "newest_boot"):
            patch.setattr(InstanceListing, name, _once(getattr(InstanceListing, name)))
        root = TemporaryDirectory(dir=SHM if SHM.is_dir() else None)
        yield Path(stack.enter_context(root))


def _once(asked: property) -> property:
    """The same property, worked out once for each listing."""
    known: dict[int, tuple[InstanceListing, object]] = {}

    def answer(item: InstanceListing) -> object:
        found = known.get(id(item))
        if found is None or found[0] is not item:
            if len(known) > 64:
                known.clear()
            assert asked.fget is not None
            found = known[id(item)] = (item, asked.fget(item))
        return found[1]

    return property(answer)


def _no_fsync(descriptor: int) -> None:
    """Pages in memory need none."""


def _remembered(
    read: Callable[[str, Iterable[str]], InstanceListing],
) -> Callable[[str, Iterable[str]], InstanceListing]:
    known: dict[tuple[str, ...], InstanceListing] = {}

    def listing(instance: str, keys: Iterable[str]) -> InstanceListing:
        found = tuple(keys)
        if found not in known:
            if len(known) > 64:
                known.clear()
            known[found] = read(instance, found)
        return known[found]

    return listing
