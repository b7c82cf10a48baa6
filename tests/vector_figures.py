"""From the inputs of a reference value to our figure of it: one function for each family of values."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from spoteval.placement import lifetime, spot_math, survival, weibull, yields

VECTORS = Path(__file__).resolve().parent / "data" / "vectors.json"
Figures = dict[str, float]


def vectors() -> list[dict[str, Any]]:
    """All reference values, hours unless named: id, inputs, expected."""
    found = json.loads(VECTORS.read_text())
    assert isinstance(found, list)
    return found


def figures(vector: dict[str, Any]) -> Figures:
    """Ours, under the names of the reference."""
    name = vector["id"]
    family = next(family for family in FAMILIES if name.startswith(family))
    return FAMILIES[family](**vector["inputs"])


def off(vector: dict[str, Any]) -> float:
    """The largest relative difference of its figures."""
    ours = figures(vector)
    assert ours.keys() == vector["expected"].keys(), vector["id"]
    return max(_off(float(value), ours[key]) for key, value in vector["expected"].items())


def _off(expected: float, ours: float) -> float:
    if math.isinf(expected) or expected == 0:
        return 0.0 if ours == expected else math.inf
    return abs(ours / expected - 1)


def _rerun(D_h: float, S_h: float, tau_h: float) -> Figures:
    return spot_math.rerun_fresh(D_h, S_h, tau_h)._asdict()


def _in_flight(N: int, D_h: float, tau_h: float) -> Figures:
    ends = spot_math.finished_per_preemption(N, D_h, tau_h)
    return {"kills": N, "finishes": ends, "share": ends and N / (N + ends)}


def _restart(S_min: float, P_min: float) -> Figures:
    over = spot_math.overhead_over_useful(S_min / 60, P_min / 60)
    return {
        "over_useful": over,
        "share_of_billed": spot_math.overhead_of_billed(S_min / 60, P_min / 60),
    }


def _useful(S_h: float, tau_h: float) -> Figures:
    share = spot_math.useful_share(S_h, tau_h)
    return {
        "useful": share,
        "useful_h_per_start": tau_h * share,
        "billed_per_useful": 1 / share,
        "p_dead_start": spot_math.interrupted_share(S_h, tau_h),
    }


def _cost(c_lo: float, c_hi: float, disk_per_h: float, **times: float) -> Figures:
    done = yields.completed(
        times["D_h"], times["S_h"], times["tau_h"], times["N"], wait_h=times["W_h"]
    )
    return {
        "node_h": done.node_h,
        "wall_h": done.wall_h,
        "cost_lo": done.cost(c_lo, disk_per_h),
        "cost_hi": done.cost(c_hi, disk_per_h),
    }


def _attempts(D_h: float, tau_h: float, m: int) -> Figures:
    done = yields.max_attempts(D_h, tau_h, m)
    return {"p_complete": done.completed, "attempts": done.attempts, "slot_h": done.slot_h}


def _remaining(D_h: float, B_h: float, tau_h: float) -> Figures:
    done = spot_math.remaining_budget(D_h, B_h, tau_h)
    return {"p_complete": done.completed, "slot_h": done.slot_h}


def _survivors(m_h: float, tau_h: float) -> Figures:
    return {"share": m_h / (m_h + tau_h), "mean_survivor_h": yields.survivor_mean_h(m_h, tau_h)}


def _lognormal(median_h: float, sigma: float, tau_h: float, B_h: float) -> Figures:
    durations = yields.Lognormal(median_h, sigma)
    return {
        "share": yields.first_try_share(durations, tau_h),
        "redraw_slot_h": yields.redrawn_slot_h(durations, tau_h),
        "own_slot_h": yields.same_slot_h(durations, tau_h, B_h),
    }


def _two(
    q_b: float,
    b_d_h: float,
    S_h: float,
    tau_u_h: float,
    D_h: float,
    N: int,
    c: float,
) -> Figures:
    two = yields.TwoNumbers(q_b, b_d_h, S_h, tau_u_h)
    node_h = two.node_h(D_h, N)
    return {"billed_per_useful": two.billed_over_useful, "node_h": node_h, "cost": c * node_h}


def _lives(uptimes_h: list[float], preempted: list[int]) -> list[lifetime.Life]:
    pairs = zip(uptimes_h, preempted, strict=True)
    return [lifetime.life(hours, bool(cut)) for hours, cut in pairs]


def _mle(uptimes_h: list[float], preempted: list[int]) -> Figures:
    seen = lifetime.exposure(_lives(uptimes_h, preempted))
    low, high = seen.interval_h()
    return {"T": seen.hours, "k": seen.preemptions, "tau": seen.tau_h, "lo": low, "hi": high}


def _wrong(uptimes_h: list[float], preempted: list[int], waits_h: float) -> Figures:
    """What tau must not be."""
    lives = _lives(uptimes_h, preempted)
    seen = lifetime.exposure(lives)
    dropped = lifetime.exposure(one for one in lives if one.preempted)
    return {
        "stops_counted": lifetime.Exposure(seen.hours, len(lives)).tau_h,
        "censored_dropped": dropped.tau_h,
        "waits_added": lifetime.Exposure(seen.hours + waits_h, seen.preemptions).tau_h,
    }


def _interval(T_h: float, k: int) -> Figures:
    seen = lifetime.Exposure(T_h, k)
    low, high = seen.interval_h()
    return {
        "tau": seen.tau_h,
        "lo": low,
        "hi": high,
        "one_sided_lo": seen.lower_h(),
        "median_bound": seen.median_bound_h,
    }


def _predictive(T_h: float, k: int, D_h: float) -> Figures:
    seen = lifetime.Exposure(T_h, k)
    upper = {} if k else {"p_upper": spot_math.interrupted_share(D_h, seen.lower_h())}
    return {"p_pred": seen.predicted(D_h), **upper}


def _survival(uptimes_h: list[float], preempted: list[int]) -> Figures:
    steps = survival.kaplan_meier(_lives(uptimes_h, preempted))
    ages = (0.4, 1.7, 3.2, 9.5)
    return {f"S_{age}".replace(".", "_"): survival.share_at(steps, age) for age in ages}


def _fit(t_h: list[float], preempted: list[int]) -> Figures:
    lives = _lives(t_h, preempted)
    found = weibull.fit(lives)
    assert found is not None
    rest = {"LR": found.ratio, "p": found.p, "tau_exp": lifetime.exposure(lives).tau_h}
    return {"k": found.shape, "scale": found.scale_h, **rest}


def _risk(k: float, scale_h: float, D_h: float, age_h: float) -> Figures:
    law = weibull.Weibull(k, scale_h, 0.0, 1.0)
    return {
        "mean_h": law.mean_h,
        "fresh": law.fresh(D_h),
        "aged": law.aged(D_h, age_h),
        "steady": law.steady(D_h),
        "exp_same_mean": spot_math.interrupted_share(D_h, law.mean_h),
    }


def _slots(a_h: float, b_h: float, tau_h: float) -> Figures:
    best = yields.optimal_slots(a_h, b_h, tau_h)
    return {
        "N_star": best.exact,
        "N_int": best.whole,
        "D_star": best.duration_h,
        "approx_D": best.rough_duration_h,
        "rate_per_useful_h": best.per_useful_h,
    }


def _kill(N: int, D_h: float) -> Figures:
    drained = yields.drain(N, D_h)
    return {
        "node_h": drained.node_h,
        "saved": drained.saved,
        "occupancy": drained.occupancy,
        "lost_slot_h": drained.lost_slot_h,
    }


def _blended(**named: float) -> Figures:
    mix = spot_math.Mix(
        named["input_tok"],
        named["output_tok"],
        named["cached_share"],
        named["p_in"],
        named["p_cached"],
        named["p_out"],
    )
    return {"per_mtok": mix.usd_per_mtok, "episode": mix.episode_usd}


def _blended_plain(**named: float) -> Figures:
    return {"per_mtok": _blended(**named)["per_mtok"]}


def _api(
    c: float,
    D_h: float,
    S_h: float,
    tau_h: float,
    N: int,
    api_episode: float,
) -> Figures:
    return {
        "spot_episode": yields.completed(D_h, S_h, tau_h, N).cost(c),
        "min_N": yields.fewest_slots(c, D_h, S_h, tau_h, api_episode),
    }


def _hosted(c: float, tok_per_s: float, **times: float) -> Figures:
    factor = _rerun(**times)["overhead_factor"]
    return {
        "ideal": spot_math.self_hosted_usd_per_mtok(c, tok_per_s),
        "with_overhead": spot_math.self_hosted_usd_per_mtok(c, tok_per_s, factor),
    }


def _run(R_h: float, tau_h: float) -> Figures:
    none, few = (yields.at_most_preemptions(R_h, tau_h, count) for count in (0, 5))
    return {"mean": R_h / tau_h, "p_none": none, "p_le5": few}


def _prices(segments: list[list[float]], completed: int) -> Figures:
    found = yields.price_range([(hours, price) for hours, price in segments], completed)
    return {"low": found.low, "recorded": found.recorded, "high": found.high}


def _clusters(N: int, n: int, p: float) -> Figures:
    return {"naive": yields.share_error(p, n), "batch": yields.share_error(p, n, N)}


FAMILIES: dict[str, Callable[..., Figures]] = {
    "p_int": lambda D_h, tau_h: {"p": spot_math.interrupted_share(D_h, tau_h)},
    "in_flight": _in_flight,
    "restart_overhead": _restart,
    "load": lambda GB, GBps: {"minutes": spot_math.load_min(GB, GBps)},
    "useful_share": _useful,
    "rerun_fresh": _rerun,
    "cost_per_completed": _cost,
    "max_attempts": _attempts,
    "rerun_remaining": _remaining,
    "survivor_bias": _survivors,
    "lognormal_mix": _lognormal,
    "two_number": _two,
    "tau_mle": _mle,
    "tau_wrong": _wrong,
    "tau_ci": _interval,
    "predictive": _predictive,
    "kaplan_meier": _survival,
    "weibull_fit": _fit,
    "weibull_risk": _risk,
    "optimal_N": _slots,
    "notice_saves": lambda D_h, notice_h, tau_h, N: {
        "saved": yields.notice_saves(D_h, notice_h, tau_h, N)
    },
    "drain_price": lambda D_h, S_h, tau_h: {"factor": yields.drain_price_factor(D_h, S_h, tau_h)},
    "drain_vs": _kill,
    "blended_price_h0": _blended_plain,
    "blended_price": _blended,
    "breakeven_price": lambda D_h, S_h, tau_h: {
        "ratio": yields.highest_price_ratio(D_h, S_h, tau_h)
    },
    "breakeven_tau": lambda D_h, S_h, ratio: {"tau_h": yields.shortest_tau_h(D_h, S_h, ratio)},
    "breakeven_api": _api,
    "selfhost": _hosted,
    "run_level": _run,
    "price_range": _prices,
    "cluster": _clusters,
}
