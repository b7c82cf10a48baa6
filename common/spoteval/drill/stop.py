"""A stop that the guest itself announces and asks for."""

from dataclasses import dataclass

from spoteval.clock import read_now
from spoteval.config.guest import GuestConfig
from spoteval.control.boot import Boot
from spoteval.control.eventlog import log_event
from spoteval.control.facts import DRILL_STOP, put_fact
from spoteval.event import REHEARSAL, Event
from spoteval.files import touch
from spoteval.paths import DurablePaths, HostPaths
from spoteval.store.contract import Store


@dataclass(frozen=True, slots=True)
class Stopper:
    """This guest, in this boot, with the drill's run."""

    config: GuestConfig
    paths: HostPaths
    disk: DurablePaths
    boot: Boot
    run: str

    def stop(self, number: int, store: Store) -> None:
        """Say so in the store, write it down, ask for the power to be switched off.

        Raises StoreError where the store does not take the fact: a machine that goes off unannounced is held, as one
        that a person stopped. Then nothing was stopped.
        """
        now = read_now()
        detail: dict[str, object] = {"stop": number, "run": self.run, REHEARSAL: True}
        boot, instance = self.boot, self.config.instance
        put_fact(store, instance, boot.seq, boot.session, DRILL_STOP, detail)
        event = Event(now.wall, DRILL_STOP, "drill", instance, boot.session, detail=detail)
        log_event(self.disk.run(self.run).events, event)
        touch(self.paths.poweroff, f"drill: stop {number} of {self.run}")
