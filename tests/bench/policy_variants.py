"""What was tried to get lower than the policies that are shipped: margins, returns, orders, handing over."""

import math
from functools import partial

from spoteval.placement.policies import (
    LONGEST_FIRST,
    POLICIES,
    SPARE_H,
    Margin,
    View,
    Wish,
    dual,
    greedy,
    slack_h,
)
from spoteval.placement.simulation.table import BASIS, Policies

HALF, NONE = Margin(0.25, 0.25, 1.5), Margin(0.0, 0.0, 0.0)


def handing_over(view: View, margin: Margin = LONGEST_FIRST) -> Wish:
    """As greedy, but on demand hands over to spot when one failed try fits: it drains while the spot node starts."""
    tail_h = margin.p90 * view.p90_h + margin.mean * view.mean_h + SPARE_H
    spare_h = view.left_h - view.work_h - 2 * view.restart_h - tail_h
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
    slack = slack_h(view._replace(on_demand_ready=False), HALF)
    keeps = 6.0 if view.on_demand else 0.0 if view.spot_ready else restarts
    needed = slack <= keeps * view.restart_h
    again_h = slack - keeps * view.restart_h
    return Wish(view.offered, needed, again_h if again_h > 0 else math.inf)


TRIED: Policies = {
    BASIS: POLICIES[BASIS],
    "greedy": (greedy, "longest-first"),
    "greedy, half the margin": (partial(greedy, margin=HALF), "longest-first"),
    "greedy, no margin": (partial(greedy, margin=NONE), "longest-first"),
    "greedy, middle-first": (greedy, "middle-first"),
    "greedy, handing over to spot": (handing_over, "longest-first"),
    "greedy, handing over, half the margin": (partial(handing_over, margin=HALF), "longest-first"),
    "dual, 1 restart of slack": (partial(dual, returns=1.0), "longest-first"),
    "dual, 3 restarts": (partial(dual, returns=3.0), "longest-first"),
    "dual, 6 restarts (shipped)": (dual, "longest-first"),
    "dual, 12 restarts": (partial(dual, returns=12.0), "longest-first"),
    "dual, the whole margin": (partial(dual, margin=LONGEST_FIRST), "longest-first"),
    "dual, no margin": (partial(dual, margin=NONE), "longest-first"),
    "dual, on demand earlier": (early, "longest-first"),
    "dual, middle-first": (dual, "middle-first"),
}
