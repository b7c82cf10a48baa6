"""What people do to an instance, and the truth about its holds and its runs.

They write past `spoteval.files`, so that a crash of the restarter does not cut their hands.
"""

import json
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from restarter_story import NOON
from sim.virtual_cloud import VirtualCloud
from sim.virtual_store import Shelf
from spoteval.clock import stamp
from spoteval.control.owner import owner_among
from spoteval.files import encoded
from spoteval.hold import Hold, hold_from
from spoteval.paths import InstancePaths
from spoteval.publication.keys import fact_key, hold_key, owner_key, record_key, release_key
from spoteval.run import RunPlan, RunRecord, StopRules
from spoteval.shape import Table

STOP_AFTER_S, INSIST_S = 120.0, 120.0
WORLD = "world"
HOLDS, RELEASES = "instances/gpu-1/holds/", "instances/gpu-1/releases/"
OWNERS = "instances/gpu-1/owner/"


@dataclass
class Removed:
    """The file of a hold that a person removed: when last, after how many deaths, and how often it came back."""

    file: Path
    at_s: float
    deaths: int
    returned: int = 0


@dataclass
class People:
    """The truth about holds and runs of `gpu-1`. `hosts`: what each restarter host keeps on its disk.

    `unheard`: holds whose file was removed, until their release is written. `foreign`: releases that no person asked
    for. `changed_s`: when people last let something go on. `deaths`: how often a restarter has died.
    """

    shelf: Shelf
    hosts: list[InstancePaths] = field(default_factory=list)
    placed: dict[str, Hold] = field(default_factory=dict)
    lifted: set[str] = field(default_factory=set)
    console_stops: set[int] = field(default_factory=set)
    unheard: dict[str, Removed] = field(default_factory=dict)
    deaths: int = 0
    touched: bool = False
    foreign: list[str] = field(default_factory=list)
    owners: list[str] = field(default_factory=list)
    run: int = 0  # number of the one that is assigned
    over_since_s: float | None = None
    deadline_s: float | None = None
    work_left_s: float = 0.0
    releases: int = 0
    changed_s: float = 0.0
    until_s: float = 0.0  # the end of the grant
    fits: bool = True  # whether the grant allows this type
    edits: int = 0  # of the grant

    @property
    def standing(self) -> set[str]:
        """Holds of the store that nobody lifted."""
        return self.placed.keys() - self.lifted

    @property
    def held(self) -> bool:
        """Whether anything holds the instance."""
        return bool(self.standing) or self.touched

    @property
    def unwritten(self) -> bool:
        """Whether a removed file stands for a release that no restarter has written yet."""
        keys = (release_key("gpu-1", hold_id) for hold_id in self.unheard)
        return any(key not in self.shelf.objects for key in keys)

    def came_back(self, paths: InstancePaths) -> bool:
        """Whether a removed file lies on this host again: the hold stands until it is removed once more."""
        if not self.unheard:
            return False
        mirror = paths.hold.with_name("gpu-1.d")
        return any((mirror / hold_id).exists() for hold_id in self.unheard)

    @property
    def stubborn(self) -> list[str]:
        """Holds whose file came back more often than restarters died: one before the removal may have caused it."""
        return sorted(
            hold_id
            for hold_id, removed in self.unheard.items()
            if removed.returned > self.deaths - removed.deaths + 1
        )

    @property
    def over(self) -> bool:
        """Whether the run needs no machine any more: it has ended, or its deadline has passed."""
        return self.over_since_s is not None or self.past_deadline_s > 0

    @property
    def over_from_s(self) -> float:
        """Since when it is over, if it is."""
        ends = (self.over_since_s, self.deadline_s)
        return min(end for end in ends if end is not None)

    @property
    def past_until_s(self) -> float:
        """Seconds since the end of the grant, 0 before it."""
        return max(0.0, self.shelf.seconds() - self.until_s)

    @property
    def granted(self) -> bool:
        """Whether the grant allows a start now, whatever was started or spent."""
        return self.fits and self.past_until_s == 0.0

    @property
    def past_deadline_s(self) -> float:
        """Seconds since the deadline, 0 before it and without one."""
        if self.deadline_s is None:
            return 0.0
        return max(0.0, self.shelf.seconds() - self.deadline_s)

    def told(self, key: str, data: bytes, by: str) -> Hold | None:
        """Something was put: holds of the restarter are holds, releases of nobody are a wrong.

        Returns a restarter's own hold.
        """
        if key.startswith(OWNERS):
            self.owners.append(key)
        if by == WORLD:
            return None
        if key.startswith(RELEASES):
            self.changed_s = self.shelf.seconds()
        if key.startswith(RELEASES) and (hold_id := json.loads(data)["id"]) not in self.lifted:
            self.foreign.append(hold_id)
        hold = hold_from(Table(json.loads(data), key)) if key.startswith(HOLDS) else None
        if not isinstance(hold, Hold):
            return None
        self.placed[hold.id] = hold
        return hold

    def put(self, key: str, record: dict[str, object]) -> None:
        """Create-only, as every put."""
        self.shelf.put(key, encoded(record), WORLD)

    def fact(self, boot: int, name: str) -> None:
        """The guest says something about a boot."""
        self.put(fact_key("gpu-1", boot, f"s{boot}", name), {})

    # Holds

    def place(self, kind: str, *, ensure_stopped: bool) -> None:
        """A hold in the store."""
        hold_id = f"{kind}-{len(self.placed)}"
        hold = Hold(
            hold_id, "gpu-1", "sim", kind, ensure_stopped=ensure_stopped, stop_after_s=STOP_AFTER_S
        )
        self.placed[hold_id] = hold
        self.put(hold_key("gpu-1", hold_id), hold.record())

    def touch(self) -> None:
        """A touch file on every host: people stop an instance wherever it may be started from."""
        self.touched = True
        for paths in self.hosts:
            paths.hold.write_text("sim")

    def lift(self, luck: float) -> None:
        """No hold any more: by releases, or by removing the files that stand for them; luck says which."""
        self.touched = False
        for paths in self.hosts:
            paths.hold.unlink(missing_ok=True)
        now_s = self.shelf.seconds()
        for hold_id in sorted(self.standing):
            files = [paths.hold.with_name("gpu-1.d") / hold_id for paths in self.hosts]
            mirrored = [path for path in files if path.exists()]
            by_hand = bool(mirrored) and luck < 0.5
            self.lifted.add(hold_id)
            if by_hand:
                mirrored[0].unlink()
                self.unheard[hold_id] = Removed(mirrored[0], now_s, self.deaths)
            else:
                self.put(release_key("gpu-1", hold_id), {"id": hold_id})
        self.releases, self.changed_s = self.releases + 1, now_s

    def insist(self) -> None:
        """Remove files once more that came back: a restarter died between writing one and noting that it had."""
        now_s = self.shelf.seconds()
        due = [(key, item) for key, item in self.unheard.items() if now_s - item.at_s >= INSIST_S]
        for hold_id, removed in due:
            if release_key("gpu-1", hold_id) in self.shelf.objects:
                del self.unheard[hold_id]
                continue
            removed.at_s = now_s
            removed.returned += removed.file.exists()
            for paths in self.hosts:
                (paths.hold.with_name("gpu-1.d") / hold_id).unlink(missing_ok=True)

    def console_stop(self, cloud: VirtualCloud) -> None:
        """Somebody stops the machine at the provider's console, and places no hold."""
        self.console_stops.add(cloud.boot)
        cloud.ask("stop")

    def console_start(self, cloud: VirtualCloud) -> None:
        """Somebody starts a machine at the provider's console that nothing holds: impatient, or to look at what
        is left of a run that is over."""
        if cloud.state == "STOPPED" and not self.held:
            cloud.ask("start")

    def mend(self, later_s: float) -> bool:
        """Somebody corrects the grant where it allows nothing; whether there was anything to correct."""
        if self.granted:
            return False
        if self.past_until_s > 0:
            self.until_s = self.shelf.seconds() + later_s
        self.fits, self.changed_s, self.edits = True, self.shelf.seconds(), self.edits + 1
        return True

    def misfit(self) -> None:
        """Somebody strikes this type from the grant."""
        self.fits, self.edits = False, self.edits + 1

    def adopt(self, identity: str, host: str) -> None:
        """Move the instance to this host, typed there: listed there at once, and elsewhere when it is."""
        owner = owner_among(key.removeprefix(OWNERS).removesuffix(".json") for key in self.owners)
        if owner is None or owner.identity == identity:
            return
        key = owner_key("gpu-1", owner.number + 1, identity)
        self.shelf.put(key, encoded({"identity": identity, "at": stamp(NOON)}), host)

    # Runs

    def end_run(self, boot: int, *, hold: bool) -> None:
        """The guest's work is done: it says so, and places its hold unless its enders are dead."""
        self.over_since_s = self.shelf.seconds()
        if hold:
            self.place("end", ensure_stopped=True)
        self.fact(boot, f"ended-r{self.run}")

    def next_run(
        self, boot: int, work_s: float, deadline_s: float | None, rules: StopRules
    ) -> None:
        """A person finishes what is left of the last run and assigns another, with its record."""
        if self.run > 0 and self.over_since_s is None:
            self.fact(boot, f"ended-r{self.run}")
        self.run, self.over_since_s, self.work_left_s = self.run + 1, None, work_s
        self.deadline_s, self.changed_s = deadline_s, self.shelf.seconds()
        deadline = NOON + timedelta(seconds=deadline_s) if deadline_s is not None else None
        plan = RunPlan("inspect", "fresh_budget", deadline=deadline, stop_rules=rules)
        record = RunRecord(f"r{self.run}", "gpu-1", 1, NOON, plan)
        self.put(record_key(record.name, 1), record.record())
        self.fact(boot, f"run-r{self.run}-1")
