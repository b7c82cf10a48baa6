"""A disk as a cut left it, carried to the end of its run, and everything that is held against it."""

import shutil
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lab import disk as disks
from lab.nspawn import Nspawn, until
from lab.shell import Broken
from power.guest import RUN, Link, Plan, configure
from power.judge import altered, denied, lost
from power.prepared import Prepared, machine
from power.reading import Disk, read_disk, rerun
from power.worlds import World
from s3_server import PREFIX, free_port
from spoteval.publication.pull import pull
from spoteval.publication.tree import Difference
from spoteval.publication.verify import compare, verify
from spoteval.shape import Unreadable

END_S, LOOK_EVERY_S = 240.0, 0.5
FAST = 0.05
"""The pace of what is left of the run: it was cut in real time, and is carried on as fast as it goes."""


@dataclass(slots=True)
class Fate:
    """What a cut came to."""

    counts: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)

    def count(self, name: str, found: list[str]) -> None:
        """How many, and which."""
        self.counts[name] = len(found)
        self.wrong += found

    def record(self) -> dict[str, Any]:
        """As the record has it."""
        return {**self.counts, **self.more, "wrong": self.wrong}


def judged_at_the_cut(point: Path, world: World, fate: Fate, cuts: int) -> Disk:
    """The disk by itself, after so many cuts, and against the store of the same instant."""
    disk, objects = read_disk(point, cuts), objects_of(world)
    fate.count("unreadable", list(disk.unreadable))
    fate.count("denied", list(denied(disk, objects)))
    published = sum(name.endswith("/MANIFEST.json") for name in objects)
    fate.more |= {"finished": len(disk.witness), "published": published, "step": disk.step}
    return disk


def judged_at_the_end(point: Path, before: Disk, world: World, intended: int, fate: Fate) -> None:
    """Nothing of what was finished is lost or was run again; all of it is published and verified."""
    objects = objects_of(world)
    fate.count("lost", list(lost(before, objects)))
    fate.count("rerun", [f"episode {key} began again" for key in sorted(rerun(point, before))])
    missing = list(altered(objects, intended))
    fate.count("altered", missing)
    fate.more["completed"] = not missing and f"runs/{RUN}/end.json" in objects
    if not fate.more["completed"]:
        fate.wrong.append("the run did not come to its end")


def verified(world: World, place: Path, run_dir: Path, fate: Fate) -> None:
    """Pulled, every byte read again, and the store held against the disk."""
    shutil.rmtree(place, ignore_errors=True)
    store = world.store()
    pulled, again = pull(store, RUN, place), verify(place)
    differences = list(pulled.differences)
    differences += [] if isinstance(again, Unreadable) else list(again.differences)
    differences += [
        item for item in compare(store, RUN, run_dir).differences if not _is_behind(item)
    ]
    fate.wrong += [f"verify: {item}" for item in differences]
    fate.more["verified"] = not differences and not isinstance(again, Unreadable)
    shutil.rmtree(place, ignore_errors=True)


def carried(found: Prepared, image: Path, world: World, place: Path, name: str, cuts: int) -> Fate:
    """Mounted, read, booted by nspawn, carried to its end, verified. What it leaves is removed where all went well."""
    fate, began_s = Fate(more={"carried": "nspawn"}), time.monotonic()
    place.mkdir(parents=True, exist_ok=True)
    try:
        disk = disks.found(image, found.uuid, place / "mounted")
    except Broken as error:
        fate.count("unreadable", [str(error)])
        return fate
    try:
        before = judged_at_the_cut(disk.point, world, fate, cuts)
        host = machine(name, place / "host", found.layers, disk)
        try:
            _to_the_end(host, found, world, fate)
        finally:
            host.remove()
        judged_at_the_end(disk.point, before, world, found.plan.episodes, fate)
        verified(world, place / "pulled", disk.point / "spoteval" / "runs" / RUN, fate)
    except (Broken, OSError, ValueError) as error:
        fate.wrong.append(f"{type(error).__name__}: {error}"[:500])
    finally:
        disk.remove()
        world.close()
    fate.more["carried_s"] = round(time.monotonic() - began_s, 1)
    return fate


def objects_of(world: World) -> dict[str, bytes]:
    """What a store holds, by the product's keys."""
    return {name.removeprefix(f"{PREFIX}/"): data for name, data in world.objects().items()}


def _to_the_end(host: Nspawn, found: Prepared, world: World, fate: Fate) -> None:
    """Off by itself; or on, where the run had been ended whole before the cut."""
    plan = _fast(found)
    configure(host.root, plan, Link(f"http://127.0.0.1:{world.serve()}", free_port(), found.uuid))
    host.boot()
    began_s = time.monotonic()
    try:
        until(lambda: host.is_down or _was_ended(host), END_S, "the end", every_s=LOOK_EVERY_S)
    except Broken as error:
        said = host.journal("-u", "spoteval-*", "-n", "12", "-o", "cat")
        raise Broken(f"{error}; {said[-1500:]}") from None
    fate.more["ended"] = "off" if host.is_down else "ended before"
    fate.more["end_s"] = round(time.monotonic() - began_s, 1)


def _was_ended(host: Nspawn) -> bool:
    try:
        said = host.journal("-u", "spoteval-end-handler", "-n", "5", "-o", "cat")
    except Broken:
        return False  # it is being written
    return "decision=ended" in said


def _is_behind(item: Difference) -> bool:
    """The last events of a run, its end among them, come after its last pass: what is published of them is the same."""
    return item.what.startswith("behind:")


def _fast(found: Prepared) -> Plan:
    return replace(found.plan, pace=FAST, load_s=0.3, stubborn_s=0.0)
