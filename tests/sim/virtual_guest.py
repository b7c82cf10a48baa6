"""The guest of the virtual world: it says what it does by facts, works, ends its run, or fails at any of that."""

from dataclasses import dataclass
from functools import lru_cache

from sim.virtual_cloud import VirtualCloud
from sim.virtual_people import People
from spoteval.local.market import drawn
from spoteval.local.node_decide import Step

SILENT, POWEROFF = 0.1, 0.06
EPISODES_S = 900.0
"""How many lives put no fact at all; how many are powered off by somebody logged in; how long episodes take."""


@lru_cache(maxsize=4096)
def luck(seed: int, what: str, number: int) -> float:
    """In [0, 1), always the same for the same question."""
    return drawn(seed, what, number).random()


@dataclass
class VirtualGuest:
    """`calm`: it never fails. `idle`: it never switches itself off, and no hold of its own wants it off."""

    people: People
    seed: int
    calm: bool = False
    idle: bool = False

    def changed(self, cloud: VirtualCloud, step: Step) -> None:
        """A new phase has begun."""
        boot, silent = cloud.boot, self.silent(cloud.boot)
        if step.deed == "boot" and not silent:
            self.people.fact(boot, "booted")
            self.people.fact(boot, f"run-r{self.people.run}-1")
        if step.what == "serving" and not silent:
            self.people.fact(boot, "healthy")
            self.people.fact(boot, "first-episode")
        if step.deed == "notice" and not silent:
            self.people.fact(boot, "notice")
        if len(cloud.history) > 1 and step.phases and cloud.history[-2].name == "serving":
            self._worked(cloud)

    def acts(self, cloud: VirtualCloud) -> None:
        """Its work done it ends the run and itself, or leaves that to others."""
        if cloud.history[-1].name != "serving" or self.silent(cloud.boot):
            return
        served_s = cloud.seconds - cloud.began_s
        if served_s >= EPISODES_S:
            self.people.fact(cloud.boot, "finished-25")
        if self.people.over_since_s is None and served_s >= self.people.work_left_s:
            self._ends(cloud)
        elif self._powered_off(cloud.boot) and served_s > 600:
            cloud.power_off()

    def silent(self, boot: int) -> bool:
        """Whether this life puts no facts: its boot has failed."""
        return not self.calm and luck(self.seed, "silent", boot) < SILENT

    def _powered_off(self, boot: int) -> bool:
        return not self.calm and luck(self.seed, "poweroff", boot) < POWEROFF

    def _ends(self, cloud: VirtualCloud) -> None:
        """Properly; or its own hold stands and it hangs; or both of its enders are dead."""
        way = 1.0 if self.idle else luck(self.seed, "end", self.people.run)
        self.people.end_run(cloud.boot, hold=self.calm or way < 0.7)
        if self.calm or way < 0.45:
            cloud.power_off()

    def _worked(self, cloud: VirtualCloud) -> None:
        """A life has ended its work: what it did counts, and the run may be over, found out in its last breath."""
        if self.silent(cloud.boot):
            return
        self.people.work_left_s -= cloud.history[-2].length_s
        if self.people.work_left_s <= 0 and self.people.over_since_s is None:
            self.people.end_run(cloud.boot, hold=True)
