"""`spoteval place`: the decision, the figures that it rests on, and what was assumed."""

from collections.abc import Iterator

from spoteval.placement.advice import (
    TAUS_H,
    Advice,
    Reason,
    Workload,
    least_tau_h,
    net_h,
    prices,
    rerun,
    settlements,
    spot_ratio,
)
from spoteval.placement.spot_math import interrupted_share
from spoteval.placement.yields import fewest_slots
from spoteval.report.tau_lines import span

_LABEL = 12


def lines(work: Workload, decided: Advice) -> Iterator[str]:
    """What the terminal shows."""
    yield f"{'decision':<{_LABEL}}{decided.verdict.value}"
    yield from _labelled("because", [_reason(one) for one in decided.reasons])
    yield from _labelled("first", [_reason(one) for one in decided.first])
    taus = TAUS_H if work.tau_h is None else (work.tau_h,)
    yield from _labelled(
        "by tau" if work.tau_h is None else "at tau", [_at(work, tau) for tau in taus]
    )
    if work.tau_h is not None:
        yield from _labelled("settlement", list(_settled(work, work.tau_h)))
    yield from _labelled("break-even", list(_breaks(work)))
    if work.deadline_h is not None:
        yield from _labelled("safety net", list(_net(work)))
    yield from _labelled(
        "apart", ["CPU-only parts (sandboxes, judges by API, stores): a small machine, on demand"]
    )
    yield from _labelled("assumed", list(assumptions(work)))


def record(work: Workload, decided: Advice) -> dict[str, object]:
    """The decision as one JSON object: what is printed, and what is kept with a run."""
    taus = TAUS_H if work.tau_h is None else (work.tau_h,)
    return {
        "decision": decided.verdict.value,
        "because": [[one.row, one.so] for one in decided.reasons],
        "first": [[one.row, one.so] for one in decided.first],
        "episode_h": work.episode_h,
        "restart_h": work.restart_h,
        "slots": work.slots,
        "tau_h": work.tau_h,
        "scored": work.scored,
        "currency": work.currency,
        "at_tau": [_tau_record(work, tau) for tau in taus],
        "break_even_spot_over_on_demand": spot_ratio(work) if work.tau_h is not None else None,
        "break_even_tau_h": least_tau_h(work),
        "safety_net_h": net_h(work) if work.deadline_h is not None else None,
        "assumed": list(assumptions(work)),
    }


def assumptions(work: Workload) -> Iterator[str]:
    """All of them."""
    yield "preemptions strike at random with mean life tau, whatever the machine's age"
    if work.clustered:
        yield "lives cluster on this pool: more starts die before ready than this says (spoteval tau, starts)"
    yield f"every episode takes {span(work.episode_h)}, and as long when it is run again"
    yield f"{work.slots} in flight all the time, all cut by one preemption, run again from scratch"
    yield f"{span(work.restart_h)} from preemption until it serves, billed; waits for capacity are not"
    yield "prices stay as they are; disks, addresses and the restarter are not in them"


def _at(work: Workload, tau_h: float) -> str:
    cut = 100 * interrupted_share(work.episode_h, tau_h)
    factor = rerun(work, tau_h).overhead_factor
    each = " · ".join(f"{one.place} {_money(one.each)}" for one in prices(work, tau_h))
    money = f"; {work.currency} per completed episode: {each}" if each else ""
    return f"{span(tau_h)}: {cut:.1f} % cut, billed by useful {factor:.2f}{money}"


def _settled(work: Workload, tau_h: float) -> Iterator[str]:
    for name, done in settlements(work, tau_h):
        yield f"{name}: {100 * done.completed:.1f} % complete, {done.slot_h:.2f} useful slot-hours each"


def _breaks(work: Workload) -> Iterator[str]:
    if work.tau_h is not None:
        yield f"spot pays below {spot_ratio(work):.2f} of the on-demand price"
    if (least := least_tau_h(work)) is not None:
        yield f"at these prices spot pays above tau {span(least)}"
    if work.api_episode and work.spot is not None and work.tau_h is not None:
        slots = fewest_slots(
            work.spot, work.episode_h, work.restart_h, work.tau_h, work.api_episode
        )
        yield f"spot is cheaper than the API above {slots:.1f} slots"


def _net(work: Workload) -> Iterator[str]:
    yield f"on demand when the time left is the work left, over all slots, plus {span(net_h(work))}"
    yield "longest episodes first: they end together, and the net can be that narrow"
    if work.work_h is not None and work.deadline_h is not None:
        spare = work.deadline_h - work.work_h - net_h(work)
        told = f"{span(spare)} to try spot first" if spare > 0 else "none: on demand from the start"
        yield f"{span(work.work_h)} of work until {span(work.deadline_h)}: {told}"


def _tau_record(work: Workload, tau_h: float) -> dict[str, object]:
    again = rerun(work, tau_h)
    return {
        "tau_h": tau_h,
        "interrupted_share": interrupted_share(work.episode_h, tau_h),
        "billed_over_useful": again.overhead_factor,
        "node_h_per_completed": again.billed_h / work.slots,
        "per_completed_episode": {one.place: one.each for one in prices(work, tau_h)},
    }


def _reason(one: Reason) -> str:
    return f"{one.row}: {one.so}"


def _money(amount: float) -> str:
    return f"{amount:.2f}" if amount >= 1 else f"{amount:.3f}"


def _labelled(label: str, told: list[str]) -> Iterator[str]:
    for index, line in enumerate(told):
        yield f"{label if not index else '':<{_LABEL}}{line}"
