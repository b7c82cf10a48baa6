"""Lines of the lab's scenes: the package is built once, and two scenes are played at a time, as most is waiting."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from lab import package, root, tools
from lab.orphans import sweep
from lab.shell import ENDING, Skipped
from lab.world import Kit
from show.lines import Line, needs_full, skipped
from show.stage import Stage

AT_ONCE = 2
Scene = Callable[[Path, Kit], Iterable[Line]]


@dataclass(slots=True)
class Played:
    """What a scene showed, and what it broke with after that."""

    lines: list[Line] = field(default_factory=list)
    error: Exception | None = None


class Lab:
    """The scenes by name; `long` are those that are only played under --full."""

    def __init__(self, stage: Stage, scenes: Mapping[str, Scene], long: frozenset[str]) -> None:
        self._stage = stage
        self._left_out = frozenset() if stage.full else long
        wanted = [name for name in scenes if stage.wants(name) and name not in self._left_out]
        self._scenes = {name: scenes[name] for name in wanted}
        self._begun: Mapping[str, Future[Played]] | str | None = None

    def lines(self, name: str) -> Iterator[Line]:
        """The lines of a scene, or why this machine cannot play it. The first call begins them all."""
        if name in self._left_out:
            yield needs_full(name)
            return
        if self._begun is None:
            self._begun = self._begin()
        if isinstance(self._begun, str):
            yield skipped(name, self._begun)
            return
        played = self._begun[name].result()
        yield from played.lines
        if played.error is not None:
            raise played.error

    def _begin(self) -> Mapping[str, Future[Played]] | str:
        try:
            tools.ready()
        except Skipped as reason:
            return str(reason)
        sweep()
        pool = ThreadPoolExecutor(AT_ONCE)
        pool.submit(root.with_harness)  # beside the package; where it breaks, the scenes say so
        kit = package.kit(self._stage.scratch)
        items = self._scenes.items()
        return {name: pool.submit(self._play, name, scene, kit) for name, scene in items}

    def _play(self, name: str, scene: Scene, kit: Kit) -> Played:
        played = Played()
        try:
            for line in scene(self._stage.scratch / folder(name), kit):
                played.lines.append(line)
        except Exception as error:  # noqa: BLE001  told where the line is due
            played.error = error
        return played


def folder(name: str) -> str:
    """Where a scene of this name plays: what nspawn binds may hold no colon, which separates its parts."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower())


def end_all() -> None:
    """Whoever waits for a machine gives up, so that nothing of the lab outlives the program."""
    ENDING.set()
