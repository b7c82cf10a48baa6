"""What to run on when a run has a deadline: pure functions, which the simulator plays against traces.

A policy sees hours and no future. It wishes for a spot node while there is one, and for an on-demand node when the
time left is what the safety net needs: episodes that a preemption cuts start over.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal, NamedTuple

SPARE_H = 5 / 60
"""What every safety net has besides: two polls, and a start call that is answered late."""
_NEVER = math.inf


class View(NamedTuple):
    """What is known at a moment. Work is in node-hours, by estimates, of what is not finished."""

    left_h: float
    """Until the deadline."""
    work_h: float
    """Episodes that wait, those in flight on spot from their beginning, the rest of those on demand; over slots."""
    mean_h: float
    """Mean duration of an episode."""
    p90_h: float
    longest_h: float
    """Of what waits or is in flight on spot."""
    restart_h: float
    offered: bool
    """Whether the pool has a spot node now, ours included."""
    spot: bool
    """Whether one is ours."""
    spot_ready: bool
    on_demand: bool
    """Whether an on-demand node is ours and still admits episodes."""
    on_demand_ready: bool
    waiting: int
    """Episodes that nobody has begun, or that were cut."""


class Wish(NamedTuple):
    """What should run now. An on-demand node that is no longer wished for drains; a spot node is given up at once.

    `again_h`: look again after so long, if nothing happens before. `settled`: it is the same to the end.
    """

    spot: bool
    on_demand: bool
    again_h: float = _NEVER
    settled: bool = False


Policy = Callable[[View], Wish]
Order = Literal["fifo", "longest-first", "middle-first"]
"""Middle-first: a young spot node takes the middle of the queue, so that what it loses is short; then longest-first."""
YOUNG_RESTARTS = 6.0
"""Until when a node is young: so many restarts after it was ready."""
LONGEST_LATE = 1.5
"""The longest episodes begin while so many times their duration is left to do: else they end alone."""


class Margin(NamedTuple):
    """What a safety net keeps besides work and start: shares of the p90 and the mean duration, and of a restart.

    `restarts` is kept when no spot node is ready: starting one may fail and cost as long again. The longest episode
    needs so many times its estimate (`longest`), however little work is left beside it.
    """

    p90: float = 0.25
    mean: float = 0.25
    restarts: float = 1.5
    longest: float = 1.25

    def hours(self, view: View) -> float:
        """The whole of it, but for the longest."""
        waiting = 0.0 if view.spot_ready else self.restarts * view.restart_h
        return self.p90 * view.p90_h + self.mean * view.mean_h + SPARE_H + waiting

    def span_h(self, view: View) -> float:
        """How long one node that is never taken needs, margin included: no less than the longest episode."""
        work_h, margin_h = view.work_h, self.hours(view)
        tail_h = self.p90 * view.p90_h + self.mean * view.mean_h
        return max(work_h, self.longest * view.longest_h - tail_h) + margin_h


LONGEST_FIRST = Margin()
FIRST_COME = Margin(p90=1.25, mean=0.5)
"""The tail of a queue in any order is as long as its longest episode; one that is longest-first has hardly any."""


def slack_h(view: View, margin: Margin) -> float:
    """Time left beyond the safety net: work over all slots, the start of an on-demand node, the margin.

    The longest episode is watched beside the sum: one long one that was cut late misses the deadline by itself.
    """
    start_h = 0.0 if view.on_demand_ready else view.restart_h
    return view.left_h - start_h - margin.span_h(view)


def on_demand_only(_: View) -> Wish:
    """Never spot."""
    return Wish(spot=False, on_demand=True, settled=True)


def spot_only(view: View) -> Wish:
    """Never on demand, whatever becomes of the deadline."""
    return Wish(spot=view.offered, on_demand=False)


def place_in(waiting: Sequence[tuple[float, int]], work_h: float, young: bool, order: Order) -> int:
    """Which of the waiting episodes is next, by its index; they are in order, the longest or first come at the end.

    `work_h`: what waits, over all slots; `young`: the asking node is spot and not long ready.
    """
    if order != "middle-first" or not young or waiting[-1][0] * LONGEST_LATE > work_h:
        return len(waiting) - 1
    return len(waiting) // 2


def greedy(view: View, margin: Margin = LONGEST_FIRST) -> Wish:
    """One node: spot, or nothing, until the safety net; then on demand to the end."""
    slack = slack_h(view, margin)
    if view.on_demand or slack <= 0:
        return Wish(spot=False, on_demand=True, settled=True)
    return Wish(spot=view.offered, on_demand=False, again_h=slack)


def dual(view: View, margin: Margin = LONGEST_FIRST, returns: float = 6.0) -> Wish:
    """As greedy, but spot goes on beside on demand, and on demand drains once slack is back.

    Slack is back when a ready spot node could be lost and the net would still hold, with `returns` restarts to spare.
    Fewer of them switch on demand off and on again, which costs a start and a drain each time. A spot node is begun
    beside another only while there is work for more than two restarts.
    """
    alone = slack_h(view, margin) - (view.restart_h if view.on_demand_ready else 0.0)
    keeps = returns * view.restart_h if view.on_demand else 0.0
    needed = alone <= keeps
    wanted = view.offered and (view.spot or not needed or view.work_h > 2 * view.restart_h)
    again_h = alone - keeps if alone > keeps else _NEVER
    return Wish(spot=wanted, on_demand=needed, again_h=again_h)


POLICIES: Mapping[str, tuple[Policy, Order]] = {
    "on-demand, first come": (on_demand_only, "fifo"),
    "on-demand, longest-first": (on_demand_only, "longest-first"),
    "spot only, longest-first": (spot_only, "longest-first"),
    "greedy, first come": (partial(greedy, margin=FIRST_COME), "fifo"),
    "greedy, longest-first": (greedy, "longest-first"),
    "greedy, middle-first": (greedy, "middle-first"),
    "dual, longest-first": (dual, "longest-first"),
    "dual, middle-first": (dual, "middle-first"),
}
"""By name: the rule, and the order in which episodes are admitted."""
ONE_NODE = tuple(name for name in POLICIES if name.startswith("greedy"))
TWO_NODES = tuple(name for name in POLICIES if name.startswith("dual"))
