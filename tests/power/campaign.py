"""Stories are played in QEMU; each cut of them is carried to its end beside it, and its fate is kept at once."""

import argparse
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from lab import disk as disks
from lab import tools
from lab.image import Image
from lab.orphans import sweep
from lab.qemu import Qemu
from lab.shell import ENDING, Broken, Skipped
from parts import Found, Parts, cancelled, parts
from power.carry import Fate, carried, judged_at_the_cut, judged_at_the_end, verified
from power.guest import RUN, Plan
from power.plan import Cut, Story, short_story, stories
from power.plugged import Plugged
from power.prepared import Prepared, at_store, layers, prepared, qemu_image
from power.reading import Disk
from power.story import Taken, Teller
from power.worlds import World, Worlds
from show.lines import say

OWN = ("tests/power", "tests/lab")
SKIPS = 77
SHORT_PLAN = Plan(episodes=9)


@dataclass(slots=True)
class Killed:
    """A cut that was a KILL: what the disk was then. Its end is that of its own machine."""

    cut: Cut
    before: Disk
    fate: Fate


@dataclass(slots=True)
class Stage:
    """Where a campaign plays, and what all its stories share."""

    place: Path
    worlds: Worlds
    found: Prepared
    image: Image | None
    kept: Parts
    pool: Executor
    lock: threading.Lock = field(default_factory=threading.Lock)

    def keep(self, taken: Cut, fate: Fate, more: Found) -> None:
        """In the record, and on the screen."""
        record = {"name": taken.name, "phase": taken.phase, "by": taken.by, **more, **fate.record()}
        with self.lock:
            self.kept.add(taken.name, record)
        word = "good" if not fate.wrong else "; ".join(fate.wrong)[:300]
        say(f"cut {taken.name:>3} {taken.phase:<12} {taken.by} at {more['at_s']:.1f} s: {word}")


class Play:
    """One story: its forks go to the pool as they come, its kills wait for its end."""

    def __init__(self, stage: Stage, story: Story, wanted: frozenset[int]) -> None:
        self._stage, self._story, self._wanted = stage, story, wanted
        self._place = stage.place / story.name
        self._kills: list[tuple[Killed, Found]] = []
        self._forks: list[Future[None]] = []

    def whole(self) -> None:
        """Play it, then judge its kills at its end. Raises Broken where it never comes to that."""
        stage, place = self._stage, self._place
        world = stage.found.world.copy(self._story.name)
        place.mkdir(parents=True, exist_ok=True)
        disk = disks.copy(stage.found.disk, place / "disk")
        machine = self._machine(world, disk)
        try:
            Teller(self._story, machine, world, self._taken).play()
        finally:
            machine.remove()
        self._judge_kills(disk, world)
        for fork in self._forks:
            fork.result()
        world.drop()
        if all(_is_good(stage.kept.found.get(cut.name)) for cut in self._story.cuts):
            shutil.rmtree(place, ignore_errors=True)

    def _machine(self, world: World, disk: Path) -> Qemu | Plugged:
        stage, place, seed = self._stage, self._place / "machine", 1000 * (self._story.seed + 1)
        if stage.image is None:
            return Plugged(self._story.name, place, stage.found, world, disk, seed)
        return Qemu(self._story.name, place, stage.image, disk, seed, words=at_store(world))

    def _taken(self, taken: Taken) -> None:
        """Nothing here waits: the machine goes on."""
        if taken.cut.number not in self._wanted:
            taken.world.drop()
            return
        act = self._kill if taken.cut.by == "kill" else self._fork
        self._forks.append(self._stage.pool.submit(act, taken))

    def _image(self, taken: Taken) -> tuple[Path, Found]:
        image = taken.killed or self._place / f"cut-{taken.cut.name}.disk"
        seed, spoilt = self._story.seed * 1000 + taken.cut.number, None
        if taken.killed is None:
            spoilt = taken.moment.write(image, seed)
        writes = len(taken.moment.entries)
        return image, {
            "at_s": taken.at_s,
            "said": taken.said,
            "late": taken.late,
            "writes": writes,
            "spoilt": spoilt,
        }

    def _cuts(self, taken: Taken) -> int:
        """How many cuts its disk went through, this one included."""
        kills = (cut for cut in self._story.cuts if cut.by == "kill")
        return 1 + sum(cut.number < taken.cut.number for cut in kills)

    def _fork(self, taken: Taken) -> None:
        image, more = self._image(taken)
        place = self._place / f"cut-{taken.cut.name}"
        fate = carried(
            self._stage.found, image, taken.world, place, f"cut-{taken.cut.name}", self._cuts(taken)
        )
        self._done(taken, image, place, fate, more)

    def _kill(self, taken: Taken) -> None:
        """Read as the fork is; the machine itself is what goes on."""
        image, more = self._image(taken)
        fate, place = (
            Fate(more={"carried": "its own machine"}),
            self._place / f"cut-{taken.cut.name}",
        )
        disk = disks.found(image, self._stage.found.uuid, place)
        try:
            before = judged_at_the_cut(disk.point, taken.world, fate, self._cuts(taken))
        finally:
            disk.remove()
        image.unlink()
        taken.world.drop()
        self._kills.append((Killed(taken.cut, before, fate), more))

    def _done(self, taken: Taken, image: Path, place: Path, fate: Fate, more: Found) -> None:
        self._stage.keep(taken.cut, fate, more)
        taken.world.drop()
        if not fate.wrong:
            image.unlink()
            shutil.rmtree(place, ignore_errors=True)

    def _judge_kills(self, image: Path, world: World) -> None:
        """The end of the machine itself, after all that it went through."""
        for fork in self._forks:
            fork.result()
        found = self._stage.found
        disk = disks.found(image, found.uuid, self._place / "end")
        try:
            for killed, more in self._kills:
                fate = killed.fate
                judged_at_the_end(disk.point, killed.before, world, found.plan.episodes, fate)
                verified(
                    world, self._place / "pulled", disk.point / "spoteval" / "runs" / RUN, fate
                )
                self._stage.keep(killed.cut, fate, more)
        finally:
            disk.remove()


def main(argv: Sequence[str] | None = None) -> int:
    """0 when every cut cost nothing, 77 where this machine cannot play."""
    signal.signal(signal.SIGTERM, _given_up)
    options = _parser().parse_args(argv)
    try:
        tools.ready(emulates=True)
    except Skipped as reason:
        print(reason, file=sys.stderr)
        return SKIPS
    sweep()
    root = Path(options.keep or tempfile.mkdtemp(prefix="power-")).resolve()
    wanted = _numbers(options.cuts) if options.cuts else None
    what = "short" if wanted is None else "full"
    kept = parts(
        Path(options.record).resolve() if options.record else None, OWN, what=what, on=options.on
    )
    chosen = [short_story()] if wanted is None else list(stories())
    numbers = wanted or frozenset(cut.number for cut in chosen[0].cuts)
    try:
        _play(root, kept, chosen, numbers, options.at_once, options.on)
    finally:
        ENDING.set()
    good = _told(kept, numbers)
    if good and not options.keep:
        shutil.rmtree(root, ignore_errors=True)
    print(f"{kept.took_s:.0f} s" + ("" if good else f"; kept: {root}"))
    return 0 if good else 1


def _play(
    root: Path, kept: Parts, chosen: Sequence[Story], wanted: frozenset[int], at_once: int, on: str
) -> None:
    """Every story that has a cut which is wanted and not kept as good yet."""
    left = frozenset(number for number in wanted if not _is_good(kept.found.get(str(number))))
    due = [story for story in chosen if any(cut.number in left for cut in story.cuts)]
    if not due:
        return
    worlds, below = Worlds(), layers(root)
    plan = SHORT_PLAN if due[0].name == "short" else Plan()
    found = prepared(below, worlds, plan, root / "begin")
    booted = qemu_image(found, root / "image") if on == "qemu" else None
    with cancelled(ThreadPoolExecutor(at_once + 1)) as pool, ThreadPoolExecutor(at_once) as tellers:
        stage = Stage(root, worlds, found, booted, kept, pool)
        plays = [tellers.submit(Play(stage, story, left).whole) for story in due]
        for play, story in zip(plays, due, strict=True):
            try:
                play.result()
            except Broken as error:
                say(f"{story.name}: {error}")


def _told(kept: Parts, wanted: frozenset[int]) -> bool:
    """One line for each phase; whether all that is wanted is good."""
    found = [kept.found[str(number)] for number in sorted(wanted) if str(number) in kept.found]
    for phase in dict.fromkeys(item["phase"] for item in found):
        own = [item for item in found if item["phase"] == phase]
        kills = sum(item["by"] == "kill" for item in own)
        wrong = [f"{item['name']}: {'; '.join(item['wrong'])}" for item in own if item["wrong"]]
        print(f"{phase:<12} {len(own):>3} cuts, {kills} KILL, {len(wrong)} wrong")
        print("".join(f"    {text}\n" for text in wrong), end="")
    print(f"{len(found)} of {len(wanted)} cuts")
    return len(found) == len(wanted) and not any(item["wrong"] for item in found)


def _is_good(found: Found | None) -> bool:
    return found is not None and found["wrong"] == []


def _numbers(text: str) -> frozenset[int]:
    """`1-40`, or `7`, or both with commas."""

    def each() -> Iterator[int]:
        for part in text.split(","):
            first, _, last = part.partition("-")
            yield from range(int(first), int(last or first) + 1)

    return frozenset(each())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("tests/power/run", description=__doc__)
    parser.add_argument("--cuts", help="such as 1-40, of 1-100 (without: the short set)")
    parser.add_argument(
        "--on", choices=["qemu", "nspawn"], default="qemu", help="what is cut (qemu)"
    )
    parser.add_argument(
        "--at-once", type=int, default=2, help="machines that are cut at a time (2)"
    )
    parser.add_argument("--record", help="keep results here; good ones of the same sources count")
    parser.add_argument("--keep", help="play here, and keep what went wrong")
    return parser


def _given_up(*_: object) -> None:
    """Whoever waits for a machine gives up first: the pools end only when their work does."""
    ENDING.set()
    sys.exit(143)
