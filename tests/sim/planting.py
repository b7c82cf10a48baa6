"""Deliberate bugs, one for each invariant: what is planted must be found, and by its number."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import pytest

from sim.scene import scene_of
from sim.shrink import Failed
from sim.sim_run import told

BUGS = tuple(sorted(path.stem for path in (Path(__file__).parent / "bugs").glob("i*.py")))


@contextmanager
def planted(bug: str) -> Iterator[None]:
    """The agent has this bug, for the block."""
    with pytest.MonkeyPatch.context() as patch:
        import_module(f"sim.bugs.{bug}").plant(patch)
        yield


def caught(bug: str, within: int, seeds: Iterable[int]) -> tuple[Failed | None, int]:
    """The first history that the bug breaks, and how many preemptions it took; None where none broke in time."""
    preemptions = 0
    with planted(bug):
        for seed in seeds:
            found = told(scene_of(seed))
            if isinstance(found, Failed):
                preemptions += found.preemptions
                return (found if preemptions < within else None), preemptions
            preemptions += found.figures.preemptions
            if preemptions >= within:
                break
    return None, preemptions
