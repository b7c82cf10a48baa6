"""What people and the guest do to an instance: touch files, holds and releases in the store, facts, ends.

They write past `spoteval.files`, so that a crash of the restarter does not cut their hands.
"""

from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from spoteval.files import encoded
from spoteval.hold import Hold
from spoteval.paths import InstancePaths
from spoteval.publication.keys import fact_key, hold_key, release_key

STOP_AFTER_S = 120.0


@dataclass
class People:
    """The truth about holds and runs of `gpu-1`."""

    store: Path
    paths: InstancePaths
    placed: dict[str, Hold] = field(default_factory=dict)
    lifted: set[str] = field(default_factory=set)
    run: int = 1
    over: bool = False
    work_left_s: float = 0.0

    @property
    def standing(self) -> set[str]:
        """Holds of the store that nobody lifted."""
        return set(self.placed) - self.lifted

    @property
    def held(self) -> bool:
        """Whether anything holds the instance."""
        return bool(self.standing) or self.paths.hold.exists()

    @property
    def wants_stop(self) -> bool:
        """Whether a hold that nobody lifted wants the instance off."""
        return any(self.placed[hold_id].ensure_stopped for hold_id in self.standing)

    @property
    def mirror(self) -> Path:
        """Where the restarter puts a file for each hold of the store."""
        return self.paths.hold.with_name("gpu-1.d")

    def put(self, key: str, record: dict[str, object]) -> None:
        """Create-only, as every put."""
        path = self.store / key
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.write_bytes(encoded(record))

    def fact(self, boot: int, name: str) -> None:
        """The guest says something about a boot."""
        self.put(fact_key("gpu-1", boot, f"s{boot}", name), {})

    def place(self, kind: str, *, ensure_stopped: bool) -> None:
        """A hold in the store."""
        hold_id = f"{kind}-{len(self.placed)}"
        hold = Hold(
            hold_id, "gpu-1", "sim", kind, ensure_stopped=ensure_stopped, stop_after_s=STOP_AFTER_S
        )
        self.placed[hold_id] = hold
        self.put(hold_key("gpu-1", hold_id), hold.record())

    def lift(self, dice: Random) -> None:
        """One hold less: by a release, or by removing the file that stands for it."""
        self.paths.hold.unlink(missing_ok=True)
        for hold_id in sorted(self.standing):
            mirrored = self.mirror / hold_id
            if mirrored.exists() and dice.random() < 0.5:
                mirrored.unlink()
            else:
                self.put(release_key("gpu-1", hold_id), {"id": hold_id})
            self.lifted.add(hold_id)

    def hold(self, dice: Random) -> None:
        """One of the ways to hold an instance."""
        if dice.random() < 0.4:
            self.paths.hold.write_text("sim")
        else:
            self.place("operator", ensure_stopped=dice.random() < 0.5)

    def insist(self) -> None:
        """Remove files once more that came back: the restarter died between writing one and noting that it had."""
        for hold_id in self.lifted:
            released = (self.store / release_key("gpu-1", hold_id)).exists()
            if not released:
                (self.mirror / hold_id).unlink(missing_ok=True)

    def end_run(self, boot: int) -> None:
        """The guest's work is done: hold, fact."""
        self.over = True
        self.place("end", ensure_stopped=True)
        self.fact(boot, f"ended-r{self.run}")

    def next_run(self, boot: int, work_s: float) -> None:
        """A person assigns another run."""
        self.run, self.over, self.work_left_s = self.run + 1, False, work_s
        self.fact(boot, f"run-r{self.run}-1")
