"""All states of one recording: built, mounted, read, and what was wrong with each."""

import json
import multiprocessing
import shutil
import tempfile
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from replay.image import Image, mounted, private_mounts
from replay.log import DiskLog, read_log
from replay.reading import Published, Reader
from replay.recorder import BASE, DEMO, LOG, TIMES
from replay.states import DiskState, states
from spoteval.demo.layout import RUN, DemoPaths
from spoteval.paths import DurablePaths

SLACK_NS = 20_000_000
"""The stamps of files come from a clock with ticks of 4 ms."""
WHERE = Path("/dev/shm")
SHOWN = 20
PART = 250
"""So many states a process reads before it ends: its mounts end with it."""


@dataclass(frozen=True, slots=True)
class Recording:
    """What the recorder left."""

    folder: Path
    log: DiskLog
    seen: tuple[tuple[int, int], ...]
    """(entries that may have been begun, time) of each look, both growing."""
    store: tuple[Published, ...]
    url: str

    def known_at(self, cut: int) -> Mapping[str, Published]:
        """What the store held when the disk was at this entry, or before it."""
        at = bisect_right(self.seen, (cut, 1 << 62)) - 1
        if at < 0:
            return {}
        by_ns = self.seen[at][1] - SLACK_NS
        return {item.key: item for item in self.store if item.at_ns <= by_ns}


@dataclass(slots=True)
class Found:
    """What came of some states."""

    states: int = 0
    bad: int = 0
    held: int = 0
    """States before which the store had something that could be denied."""
    stored_alone: int = 0
    """Witnessed episodes whose evidence only the store had, summed over the states."""
    kinds: Counter[str] = field(default_factory=Counter)
    shown: list[str] = field(default_factory=list)

    def add(self, state: DiskState, wrong: Sequence[str], known: int) -> None:
        """One more state, before which the store had so many objects."""
        self.states += 1
        self.held += known > 0
        self.bad += bool(wrong)
        self.kinds.update({why.partition(":")[0] for why in wrong})
        if wrong and len(self.shown) < SHOWN:
            self.shown.append(f"state {state.number} at entry {state.cut}: {wrong[0]}")

    def join(self, other: "Found") -> None:
        """The same of other states."""
        self.states += other.states
        self.bad += other.bad
        self.held += other.held
        self.stored_alone += other.stored_alone
        self.kinds += other.kinds
        self.shown = [*self.shown, *other.shown][:SHOWN]

    def record(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "states": self.states,
            "bad": self.bad,
            "held": self.held,
            "stored_alone": self.stored_alone,
            "kinds": dict(self.kinds),
            "shown": self.shown,
        }


def opened(folder: Path) -> Recording:
    """A recording. Raises BadLog and OSError."""
    log, paths = read_log(folder / LOG), DemoPaths(folder / DEMO)
    times = json.loads((folder / TIMES).read_text())
    seen = tuple((log.before(size), at_ns) for at_ns, size in times["looks"])
    store = tuple(
        Published(key, at_ns, (paths.store / key).read_bytes())
        for key, at_ns in times["objects"].items()
    )
    return Recording(folder, log, seen, store, paths.store_url)


def replayed(
    folder: Path, most: int, seed: int, workers: int, told: Callable[[Found], None] = lambda _: None
) -> Found:
    """About `most` states, on so many processes; `told` hears after each part. Raises what a worker could not get
    over."""
    whole = Found()
    firsts = range(0, most, PART)
    jobs = [(folder, most, seed, first, PART) for first in firsts]
    with multiprocessing.get_context("fork").Pool(workers, maxtasksperchild=1) as pool:
        for found in pool.imap_unordered(_part, jobs):
            whole.join(found)
            told(whole)
    return whole


def _part(job: tuple[Path, int, int, int, int]) -> Found:
    """States `first` to `first + count` of all; the last part takes what is left over."""
    folder, most, seed, first, count = job
    recording = opened(folder)
    private_mounts()
    scratch = Path(tempfile.mkdtemp(prefix="replay-", dir=WHERE))
    found = Found()
    try:
        image, reader = Image(folder / BASE, scratch, recording.log), Reader(recording.url)
        point = scratch / "point"
        point.mkdir()
        last = None if first + count >= most else first + count
        for state in islice(states(recording.log.entries, most, seed), first, last):
            known = _known(recording, state)
            found.add(state, _wrong(known, reader, image.take(state), point), len(known))
        found.stored_alone = reader.stored_alone
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return found


def _known(recording: Recording, state: DiskState) -> Mapping[str, Published]:
    known = recording.known_at(state.cut).items()
    return {key: item for key, item in known if key.startswith(f"runs/{RUN}/")}


def _wrong(known: Mapping[str, Published], reader: Reader, file: Path, point: Path) -> list[str]:
    try:
        with mounted(file, point):
            return reader.problems(DurablePaths(point), RUN, known)
    except OSError as error:
        return [f"not mounted: {error}"]
