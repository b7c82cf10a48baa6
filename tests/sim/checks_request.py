"""I1, I2 and I6, judged by the truth at the moment at which a request goes out, before it takes effect."""

from dataclasses import dataclass, field

from sim.fault_plan import Faults
from sim.truth import LATE_S, Asked, StopAsked, Truth, Violated, owner_in
from sim.virtual_host import VirtualHost

DEFINITE = frozenset(["auth", "quota", "gone", "conflict", "price", "rate"])
"""Answers that say for certain that nothing was begun."""
FRESH_S = 15.0


@dataclass
class AtRequest:
    """`releases_at_stop`: how many releases there had been at our own last stop under a hold.

    `could_know`: the holds that a LIST would have named when the price of this start was answered.
    """

    truth: Truth
    starts_in_cycle: int = 0
    releases_at_stop: int | None = None
    could_know: set[str] = field(default_factory=set)

    def price(self, host: VirtualHost) -> None:
        """A price is answered: only from here on a LIST is the last one before a start."""
        self.could_know = self.truth.holds_listable(host)

    def start(self, host: VirtualHost, faults: Faults) -> None:
        """A start request goes out."""
        self._held(host)
        self._wanted(host, faults)
        self._one_at_a_time(host)
        self._no_circle()
        self.truth.starts += 1
        self.truth.asked = Asked(self.truth.now_s, host.name)

    def stop(self, host: VirtualHost) -> None:
        """A stop request goes out."""
        truth = self.truth
        last = truth.stops_of_life.get(host.name)
        if last is not None and host.confused_s < last.at_s:
            wait_s = stop_every_s(last.count)
            if truth.now_s - last.at_s < wait_s - 1.0:
                raise Violated("I6", f"two stop requests within {wait_s:.0f} s")
        count = last.count + 1 if last is not None else 1
        truth.stops[host.name] = StopAsked(truth.now_s, count, truth.cloud.boot)
        truth.own_stops[truth.cloud.boot, host.name] = truth.now_s
        if truth.people.held:
            self.releases_at_stop = truth.people.releases

    def _held(self, host: VirtualHost) -> None:
        held = (self.could_know & self.truth.people.standing) | self.truth.holds_in(host)
        if held or host.paths.hold.exists():
            raise Violated("I1", f"started while held by {sorted(held) or 'a touch file'}")
        listed_s = host.store.listed[0]
        if self.truth.now_s - listed_s >= FRESH_S:
            raise Violated("I1", f"started on holds read {self.truth.now_s - listed_s:.0f} s ago")
        owner = owner_in(host.store.keys)
        if 16 in self.truth.rows and (owner is None or owner.identity != host.identity):
            raise Violated("I1", "started by one who is not the owner")

    def _wanted(self, host: VirtualHost, faults: Faults) -> None:
        if host.provider.dear or "no-price" in faults:
            raise Violated("I1", "started above the cap, or without a price")
        people = self.truth.people
        ended = f"/ended-r{people.run}.json"
        if any(key.endswith(ended) for key in host.store.keys):
            raise Violated("I1", "started after the run was over")
        if host.clock.synced and people.past_deadline_s > FRESH_S:
            raise Violated("I1", "started after the deadline")
        if not people.fits or (host.clock.synced and people.past_until_s > FRESH_S):
            raise Violated("I1", "started outside the grant")

    def _one_at_a_time(self, host: VirtualHost) -> None:
        self.starts_in_cycle += 1
        if self.starts_in_cycle > 1 or self._open(host):
            raise Violated("I2", "two start requests are open")

    def _open(self, host: VirtualHost) -> bool:
        """Whether the last request may still come to RUNNING: it has not, and its window is open."""
        asked, ran_s = self.truth.asked, self.truth.cloud.last_start_s
        if asked is None or asked.seen_on or (ran_s is not None and ran_s >= asked.at_s):
            return False
        looks = asked.polls + 1  # this cycle looked, too
        if asked.reply is not None and asked.reply.kind in DEFINITE and looks >= 2:
            return False
        unheard_s = 0.0 if asked.host == host.name else LATE_S  # of a new owner, by the old one
        return self.truth.now_s - asked.at_s < self.truth.poll.start_window_s - unheard_s

    def _no_circle(self) -> None:
        if self.releases_at_stop == self.truth.people.releases:
            raise Violated("I6", "our own start undoes our own stop: nobody released a hold")
        self.releases_at_stop = None


def stop_every_s(count: int) -> float:
    """Seconds that must lie between the stop request with this number, from 1, and the next one."""
    return min(1800.0, 120.0 * 2.0 ** min(count - 1, 10))
