"""Plays one policy against one window of a market: what it cost, when it was done, what was cut."""

import bisect
import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from spoteval.placement.policies import YOUNG_RESTARTS, Order, Policy, View, Wish, place_in
from spoteval.placement.simulation.market import Market, next_h, offered

_SOON_H = 1e-6
_LATEST = 10.0
"""A run that is not over after so many times its deadline is given up."""


@dataclass(frozen=True, slots=True)
class Job:
    """Episodes with their true durations and what is believed of them, hours; prices per node-hour."""

    durations: Sequence[float]
    estimates: Sequence[float]
    slots: int
    restart_h: float
    deadline_h: float
    spot_price: float
    on_demand_price: float = 1.0

    @property
    def work_h(self) -> float:
        """Node-hours with all slots busy."""
        return math.fsum(self.durations) / self.slots


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it. Hours are billed node-hours; `over_h` is when the last episode ended, infinite if never."""

    spot_h: float
    on_demand_h: float
    cost: float
    over_h: float
    missed: bool
    cut: int
    finished: int


@dataclass(slots=True)
class _Node:
    """A node of ours: its slots hold the end, the number and the believed end of episodes."""

    began_h: float
    ready_h: float
    spot: bool = False
    ends_h: float = math.inf
    """Of a spot node: the preemption, which only the engine knows."""
    slots: list[tuple[float, int, float]] = field(default_factory=list)
    believed_h: float = 0.0
    """The estimates of what is in flight."""
    admits: bool = True

    def next_h(self, now: float) -> float:
        """When something happens here: it is ready, an episode ends, it is lost."""
        if now < self.ready_h:
            return min(self.ready_h, self.ends_h)
        return min(self.slots[0][0], self.ends_h) if self.slots else self.ends_h


@dataclass(slots=True)
class _Play:
    """The state of one run."""

    job: Job
    market: Market
    order: Order
    now: float = 0.0
    waiting: list[tuple[float, int]] = field(default_factory=list)
    """By estimate, the next one at the end of the list."""
    waiting_h: float = 0.0
    spot: _Node | None = None
    on_demand: _Node | None = None
    spot_h: float = 0.0
    on_demand_h: float = 0.0
    cut: int = 0
    finished: int = 0

    def nodes(self) -> tuple[_Node, ...]:
        if self.spot is None:
            return () if self.on_demand is None else (self.on_demand,)
        return (self.spot,) if self.on_demand is None else (self.spot, self.on_demand)

    def wait(self, number: int) -> None:
        """Put an episode into the queue, at its place."""
        estimate = self.job.estimates[number]
        place = (-float(number), number) if self.order == "fifo" else (estimate, number)
        bisect.insort(self.waiting, place)
        self.waiting_h += estimate

    def fill(self, node: _Node) -> None:
        """Refill the slots of a ready node."""
        if not node.admits or self.now < node.ready_h:
            return
        while self.waiting and len(node.slots) < self.job.slots:
            number = self.waiting.pop(self.pick(node))[1]
            self.waiting_h -= self.job.estimates[number]
            estimate = self.job.estimates[number]
            node.believed_h += estimate
            end = (self.now + self.job.durations[number], number, self.now + estimate)
            heapq.heappush(node.slots, end)

    def finish(self, node: _Node) -> None:
        """Take out what has ended by now."""
        while node.slots and node.slots[0][0] <= self.now:
            node.believed_h -= self.job.estimates[heapq.heappop(node.slots)[1]]
            self.finished += 1

    def longest_h(self) -> float:
        """The longest episode that waits or may be cut, by estimate."""
        believed = self.job.estimates
        waiting = self.waiting if self.order == "fifo" else self.waiting[-1:]
        longest = [believed[number] for _, number in waiting]
        if self.spot is not None:
            longest += [believed[number] for _, number, _ in self.spot.slots]
        return max(longest, default=0.0)

    def rest_h(self, node: _Node) -> float:
        """What is believed to be left of the episodes in flight."""
        now = self.now
        return sum([end - now for _, _, end in node.slots if end > now])

    def pick(self, node: _Node) -> int:
        """Where in the queue the next episode of this node stands."""
        if self.order != "middle-first":
            return -1
        old_h = node.ready_h + YOUNG_RESTARTS * self.job.restart_h
        young = node.spot and self.now <= old_h
        return place_in(self.waiting, self.waiting_h / self.job.slots, young, self.order)

    def close(self, node: _Node) -> None:
        """Power a node off, or lose it: what is in flight starts over."""
        hours = self.now - node.began_h
        if node.spot:
            self.spot_h, self.spot = self.spot_h + hours, None
        else:
            self.on_demand_h, self.on_demand = self.on_demand_h + hours, None
        self.cut += len(node.slots)
        for _, number, _ in node.slots:
            self.wait(number)


def play(job: Job, market: Market, policy: Policy, order: Order = "longest-first") -> Outcome:
    """From the first moment of the market to the last episode."""
    run = _Play(job, market, order)
    for number in range(len(job.durations)):
        run.wait(number)
    mean, p90 = _believed(job)
    while run.finished < len(job.durations) and run.now < _LATEST * job.deadline_h:
        wish = policy(_view(run, mean, p90))
        _obey(run, wish)
        if wish.settled and run.spot is None and run.on_demand is not None:
            _run_out(run, run.on_demand)
        elif not _step(run, wish):
            break
    done = run.finished == len(job.durations)
    for node in run.nodes():
        run.close(node)
    over = run.now if done else math.inf
    cost = run.spot_h * job.spot_price + run.on_demand_h * job.on_demand_price
    missed = over > job.deadline_h
    return Outcome(run.spot_h, run.on_demand_h, cost, over, missed, run.cut, run.finished)


def _believed(job: Job) -> tuple[float, float]:
    ordered = sorted(job.estimates)
    return math.fsum(ordered) / len(ordered), ordered[math.ceil(0.9 * len(ordered)) - 1]


def _view(run: _Play, mean: float, p90: float) -> View:
    job, spot, other = run.job, run.spot, run.on_demand
    slot_h = run.waiting_h
    if spot is not None:
        slot_h += spot.believed_h
    if other is not None:
        slot_h += run.rest_h(other)
    return View(
        left_h=job.deadline_h - run.now,
        work_h=slot_h / job.slots,
        mean_h=mean,
        p90_h=p90,
        longest_h=run.longest_h(),
        restart_h=job.restart_h,
        offered=spot is not None or offered(run.market, run.now) is not None,
        spot=spot is not None,
        spot_ready=spot is not None and run.now >= spot.ready_h,
        on_demand=other is not None and other.admits,
        on_demand_ready=other is not None and other.admits and run.now >= other.ready_h,
        waiting=len(run.waiting),
    )


def _obey(run: _Play, wish: Wish) -> None:
    """Start and stop nodes. Nothing is started for which no episode waits."""
    if run.spot is not None and not wish.spot:
        run.close(run.spot)
    if wish.spot and run.spot is None and run.waiting:
        spell = offered(run.market, run.now)
        if spell is not None:
            run.spot = _Node(run.now, run.now + run.job.restart_h, spot=True, ends_h=spell[1])
    other = run.on_demand
    if other is not None:
        other.admits = wish.on_demand
    elif wish.on_demand and run.waiting:
        run.on_demand = _Node(run.now, run.now + run.job.restart_h)
    for node in run.nodes():
        run.fill(node)
    for node in run.nodes():
        ready_and_empty = not node.slots and run.now >= node.ready_h
        if (not node.admits and not node.slots) or (ready_and_empty and not run.waiting):
            run.close(node)


def _step(run: _Play, wish: Wish) -> bool:
    """On to the next thing that happens; False where nothing ever will."""
    at = run.now + max(_SOON_H, wish.again_h)
    if run.spot is None:
        at = min(at, next_h(run.market, run.now))
    for node in run.nodes():
        at = min(at, node.next_h(run.now))
    if math.isinf(at):
        return False
    run.now = at
    for node in run.nodes():
        run.finish(node)
        if node.ends_h <= at:
            run.close(node)
    return True


def _run_out(run: _Play, node: _Node) -> None:
    """To the last episode on this node alone, which nothing cuts and about which nobody is asked any more."""
    run.now = max(run.now, node.ready_h)
    run.fill(node)
    while node.slots:
        run.now = node.slots[0][0]
        run.finish(node)
        run.fill(node)
