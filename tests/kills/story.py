"""The two stories in which agents are killed: a run that is cut once and ends, and a machine that nobody uses."""

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from drills.box import RUN, Box, Never
from kills.end import End, end_of
from kills.program import KEYS
from spoteval.clock import read_now
from spoteval.control import requests
from spoteval.control.runfiles import interruptions, progress
from spoteval.demo.layout import INSTANCE
from spoteval.publication.keys import manifest_key
from spoteval.shape import Unreadable

HERE = Path(__file__).parent
WINDOW_S = 60.0
"""Long enough for a hook that is killed and started again on a slow machine."""
WITHIN_S = 100.0
"""Longer than any wait of an agent (30 s for a run that it may have asked for): what has not come then never comes."""
FACTS = frozenset(["booted", f"run-{RUN}-1", "healthy", "first-episode"])
"""What the store is told of a life that works; a telling that failed is tried again after ten seconds."""
ENDS = tuple(f"end {key}" for key in KEYS)
_RUN = """\
[run]
harness = "directory"
executable = "{python}"
args = ["{program}", "{cut_once}"]
directory = "{root}"
settlement = "fresh_budget"
[run.env]
SPOTEVAL_WITNESS = "{witness}"
[idle]
after = "5min"
every = "500ms"
[end]
on_complete = "power-off"
"""
_IDLE = '[idle]\nafter = "1s"\nevery = "500ms"\ncpu_above = "100%"\nio_above = "100GB/s"\n'


@dataclass(frozen=True, slots=True)
class Injected:
    """Who is killed at which number: of its writes, or of all points before, in and after them."""

    what: Literal["writes", "points"] = "writes"
    agent: str = "nobody"
    number: int = 0


@dataclass(frozen=True, slots=True)
class Played:
    """How a story ended, and how many points each unit passed."""

    end: End
    points: Mapping[str, int]
    was_killed: bool


def cut_once(root: Path, kill: Injected) -> Played:
    """A run begins, the machine is taken with a notice, comes back, and the run ends."""
    box = Box(root)
    mark = box.root / "cut-once"
    box.root.mkdir(parents=True)
    names = {"python": sys.executable, "program": HERE / "program.py", "cut_once": mark}
    more = _RUN.format(**names, root=box.root, witness=box.paths.witness)

    def story() -> None:
        box.switch_on()
        box.begin()
        box.until(lambda: _witnessed(box, "begin two"), WITHIN_S, "the long episode to begin")
        box.until(lambda: _witnessed(box, "end one"), WITHIN_S, "the first episode to end")
        _passes(box, lambda: _published(box, "one"), "the first episode in the store")
        box.until(lambda: _told(box) >= FACTS, WITHIN_S, f"{sorted(FACTS)} in the store")
        box.notice(WINDOW_S)
        with suppress(Never):  # then the machine goes in the middle of it
            box.until(lambda: _closed(box), WINDOW_S, "the interruption to be closed")
        box.plug()
        mark.touch()
        box.switch_on()
        box.until(lambda: _witnessed(box, *ENDS), WITHIN_S, "all episodes to end")
        _passes(box, lambda: _all_finished(box), "all of them finished")
        _off(box)

    return _played(box, more, story, kill)


def idle(root: Path, kill: Injected) -> Played:
    """A machine comes up, has nothing to do, and goes off."""
    box = Box(root)
    box.root.mkdir(parents=True)

    def story() -> None:
        box.switch_on()
        _off(box)

    return _played(box, _IDLE, story, kill)


STORIES: Mapping[str, Callable[[Path, Injected], Played]] = {
    "cut-once": cut_once,
    "idle": idle,
}


def _played(box: Box, more: str, story: Callable[[], None], kill: Injected) -> Played:
    box.lay(WINDOW_S, more, {}, every="60s")
    inject = box.root / "inject"
    inject.mkdir()
    shutil.copy(HERE / "sitecustomize.py", inject)
    (inject / "kill").write_text(f"{kill.what} spoteval-{kill.agent} {kill.number}")
    roots = (inject, *(HERE.parent.parent / part for part in ("common", "agents")))
    with box.living(PYTHONPATH=os.pathsep.join(map(str, roots))):
        story()
    points = {
        path.stem.removeprefix("spoteval-"): path.stat().st_size // 256
        for path in inject.glob("*.trace")
    }
    return Played(end_of(box), points, was_killed=0 < kill.number <= points.get(kill.agent, 0))


def _off(box: Box) -> None:
    box.until(lambda: box.state == "STOPPED", WITHIN_S, "the machine to go off by itself")


def _passes(box: Box, true: Callable[[], bool], what: str) -> None:
    """Ask the follower for a pass, and again after each answer, until it holds.

    Passes by the clock would be as many as the machine is slow: whoever counts writes needs the same ones each time.
    """
    asked = list[str]()

    def is_true() -> bool:
        if true():
            return True
        if not asked or requests.answer(box.disk, asked[-1]) is not None:
            asked.append(requests.ask(box.disk, requests.SOON, "kills", WITHIN_S, read_now()))
        return False

    box.until(is_true, WITHIN_S, what, every_s=0.5)


def _all_finished(box: Box) -> bool:
    found = progress(box.run)
    return not isinstance(found, Unreadable) and found.complete


def _witnessed(box: Box, *lines: str) -> bool:
    path = box.paths.witness
    return path.exists() and all(line in path.read_text() for line in lines)


def _published(box: Box, key: str) -> bool:
    key = manifest_key(RUN, key, 1)
    return (box.paths.store / key).exists()


def _told(box: Box) -> frozenset[str]:
    """Facts of the first life."""
    boots = box.paths.store / "instances" / INSTANCE / "boots"
    return frozenset(path.stem for path in boots.glob("000001-*/*.json"))


def _closed(box: Box) -> bool:
    return any(item.closed is not None for item in interruptions(box.run).values())
