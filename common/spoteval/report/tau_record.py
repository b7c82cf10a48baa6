"""`spoteval tau --json`: the figures with their units; null where there is no number."""

import math
from collections.abc import Mapping

from spoteval.placement.spot_math import interrupted_share
from spoteval.placement.tau import AtAge, Estimate, Starts
from spoteval.placement.waits import Tail


def record(known: Estimate, duration_h: float | None = None) -> dict[str, object]:
    """The estimate as one JSON object."""
    law = known.law
    return {
        "lives": known.lives,
        "preemptions": known.seen.preemptions,
        "censored": known.lives - known.seen.preemptions,
        "up_h": known.seen.hours,
        "tau_h": finite(known.seen.tau_h),
        "tau_ci95_h": [finite(bound) for bound in known.interval_h],
        "tau_ci95_widened_h": [finite(bound) for bound in known.widened_h],
        "tau_lower95_h": known.seen.lower_h(),
        "tau_median_bound_h": known.seen.median_bound_h,
        "weibull_shape": law.shape if law is not None else None,
        "weibull_scale_h": law.scale_h if law is not None else None,
        "weibull_p": law.p if law is not None else None,
        "clustered": known.clustered,
        "median_h": known.median_h,
        "dead_within_20min_share": known.fresh_risk,
        "by_age": [_age(one) for one in known.ages],
        "starts": _starts(known.starts) if known.starts is not None else None,
        "episode": risks(known, duration_h) if duration_h is not None else None,
        "kaplan_meier": [
            {"hours": step.hours, "share": step.share, "error": step.error} for step in known.steps
        ],
    }


def risks(known: Estimate, duration_h: float) -> dict[str, object]:
    """The risk of an episode of this duration, by each way to say it."""
    law = known.law
    useful = known.starts.useful if known.starts is not None else None
    after = useful.tau_h if useful is not None and useful.preemptions else None
    tau_h = known.seen.tau_h
    return {
        "duration_h": duration_h,
        "interrupted_share": interrupted_share(duration_h, tau_h),
        "interrupted_share_after_ready": None
        if after is None
        else interrupted_share(duration_h, after),
        "interrupted_share_on_a_fresh_machine": law.fresh(duration_h) if law else None,
        "interrupted_share_predicted": known.seen.predicted(duration_h),
        "interrupted_share_at_most": interrupted_share(duration_h, known.seen.lower_h()),
    }


def tail_record(known: Tail | None) -> dict[str, object] | None:
    """Waits in hours."""
    if known is None:
        return None
    names = {"median_h": known.median, "p90_h": known.p90, "longest_h": known.worst}
    return {"count": known.count, **names}


def tally_record(counts: Mapping[tuple[str, str], int]) -> list[dict[str, object]]:
    """What each end was counted as."""
    return [{"counted": word, "why": why, "lives": count} for (word, why), count in counts.items()]


def finite(value: float) -> float | None:
    """JSON has no infinity."""
    return value if math.isfinite(value) else None


def _age(one: AtAge) -> dict[str, object]:
    return {
        "from_h": one.low_h,
        "to_h": finite(one.high_h),
        "up_h": one.seen.hours,
        "preemptions": one.seen.preemptions,
        "tau_h": finite(one.seen.tau_h),
    }


def _starts(one: Starts) -> dict[str, object]:
    return {
        "count": one.count,
        "dead_before_ready": one.dead,
        "dead_before_ready_share": finite(one.dead_share),
        "dead_billed_h": one.dead_h,
        "ready_after_h": one.ready_h,
        "ready_assumed": one.assumed,
        "useful_h": one.useful.hours,
        "useful_tau_h": finite(one.useful.tau_h),
    }
