"""What was tried to get lower than the policies that are shipped: margins, returns, orders, handing over."""

import math
from functools import partial

from spoteval.placement.policies import (
    LONGEST_FIRST,
    POLICIES,
    Margin,
    View,
    Wish,
    dual,
    greedy,
    slack_h,
)
from spoteval.placement.simulation.table import BASIS, Policies

SUM = Margin(longest=0.0)
"""Watches the sum of work alone."""
TWICE, HALF, NONE = Margin(0.5, 0.5), Margin(0.125, 0.125), Margin(0.0, 0.0, 0.0, 0.0)
SHORTER, LONGER = Margin(longest=1.0), Margin(longest=1.5)


def handing_over(view: View, margin: Margin = LONGEST_FIRST) -> Wish:
    """As greedy, but on demand hands over to spot when one failed try fits: it drains while the spot node starts."""
    spare_h = view.left_h - 2 * view.restart_h - margin.span_h(view._replace(spot_ready=True))
    if view.on_demand and view.on_demand_ready and view.offered and spare_h >= view.mean_h / 2:
        return Wish(spot=True, on_demand=False)
    if view.on_demand:
        return Wish(spot=False, on_demand=True)
    slack = slack_h(view, margin)
    if slack <= 0:
        return Wish(spot=False, on_demand=True)
    return Wish(spot=view.offered, on_demand=False, again_h=slack)


def early(view: View, restarts: float = 3.0) -> Wish:
    """As dual, but on demand joins before the net while no spot node is ready."""
    slack = slack_h(view._replace(on_demand_ready=False), LONGEST_FIRST)
    keeps = 6.0 if view.on_demand else 0.0 if view.spot_ready else restarts
    needed = slack <= keeps * view.restart_h
    again_h = slack - keeps * view.restart_h
    return Wish(view.offered, needed, again_h if again_h > 0 else math.inf)


TRIED: Policies = {
    BASIS: POLICIES[BASIS],
    "greedy": (greedy, "longest-first"),
    "greedy, half the margin": (partial(greedy, margin=HALF), "longest-first"),
    "greedy, twice the margin": (partial(greedy, margin=TWICE), "longest-first"),
    "greedy, the sum alone": (partial(greedy, margin=SUM), "longest-first"),
    "greedy, 1.0 of the longest": (partial(greedy, margin=SHORTER), "longest-first"),
    "greedy, 1.5 of the longest": (partial(greedy, margin=LONGER), "longest-first"),
    "greedy, no margin": (partial(greedy, margin=NONE), "longest-first"),
    "greedy, middle-first": (greedy, "middle-first"),
    "greedy, handing over to spot": (handing_over, "longest-first"),
    "greedy, handing over, half the margin": (partial(handing_over, margin=HALF), "longest-first"),
    "dual, 1 restart of slack": (partial(dual, returns=1.0), "longest-first"),
    "dual, 3 restarts": (partial(dual, returns=3.0), "longest-first"),
    "dual, 6 restarts (shipped)": (dual, "longest-first"),
    "dual, 12 restarts": (partial(dual, returns=12.0), "longest-first"),
    "dual, half the margin": (partial(dual, margin=HALF), "longest-first"),
    "dual, twice the margin": (partial(dual, margin=TWICE), "longest-first"),
    "dual, the sum alone": (partial(dual, margin=SUM), "longest-first"),
    "dual, no margin": (partial(dual, margin=NONE), "longest-first"),
    "dual, on demand earlier": (early, "longest-first"),
    "dual, middle-first": (dual, "middle-first"),
}
