"""`spoteval tau` on a terminal: the figures, what they rest on, and what they do not say."""

import math
from collections.abc import Iterator, Mapping, Sequence

from spoteval.placement.lifetime import HOUR_S
from spoteval.placement.tau import AGES_H, AtAge, Estimate, Starts
from spoteval.placement.waits import Tail
from spoteval.placement.weibull import FEWEST_EVENTS
from spoteval.report.tau_record import risks
from spoteval.report.words import duration

_LABEL = 13
_FEW = 5


def lines(known: Estimate, duration_h: float | None = None) -> list[str]:
    """The estimate, its shape, its risks by age, and what small samples leave open."""
    return [
        *_tau(known),
        *_shape(known),
        *_ages(known.ages),
        *(_starts(known.starts) if known.starts is not None else ()),
        *(_episode(known, duration_h) if duration_h is not None else ()),
        *_restart(known),
    ]


def counted(counts: Mapping[tuple[str, str], int]) -> list[str]:
    """What each end was counted as, and why."""
    rows = [f"{count:>5}  {word}: {why}" for (word, why), count in counts.items()]
    return _rows("counted", rows)


def waits(known: Tail | None, refusals: int, still: int) -> list[str]:
    """Capacity waits apart: they are no uptime."""
    if known is None:
        return _rows("waits", ["none seen"])
    told = (
        f"{known.count} from start call to RUNNING: median {span(known.median)},"
        f" p90 {span(known.p90)}, longest {span(known.worst)}"
    )
    more = [f"{refusals} capacity failures"] if refusals else []
    more += [f"{still} still waiting at the end of the log"] if still else []
    return _rows("waits", [told, *more])


def span(hours: float) -> str:
    """Hours as people read them."""
    if math.isinf(hours):
        return "unbounded"
    return f"{hours:.2f} h" if 1 <= hours < 100 else duration(hours * HOUR_S)


def _tau(known: Estimate) -> Iterator[str]:
    seen, (low, high) = known.seen, known.interval_h
    basis = f"{seen.preemptions} preemptions in {seen.hours:.1f} h up, {known.lives} lives"
    if not seen.preemptions:
        yield from _rows(
            "tau",
            [
                f"above {span(seen.lower_h())} (one-sided 95 %): no preemption in {seen.hours:.1f} h",
                f"two-sided 95 % from {span(low)}; as likely as not above {span(seen.median_bound_h)}",
            ],
        )
        return
    rows = [f"{span(seen.tau_h)}  95 % {span(low)} to {span(high)}  ({basis})"]
    if known.clustered:
        wide = " to ".join(span(bound) for bound in known.widened_h)
        rows.append(f"lives are clustered: rather {wide}")
    if seen.preemptions < _FEW:
        rows.append(f"only {seen.preemptions} preemptions: the interval is the result, not tau")
    yield from _rows("tau", rows)


def _shape(known: Estimate) -> Iterator[str]:
    middle = known.median_h
    longest = max((step.hours for step in known.steps), default=0.0)
    rows = [
        f"median life {span(middle)}"
        if middle is not None
        else f"median life above {span(longest)}"
    ]
    law = known.law
    if law is None or not known.judged:
        rows.append(
            f"not enough events to judge clustering: {known.seen.preemptions} preemptions, {FEWEST_EVENTS} needed"
        )
    elif law.clustered:
        rows.append(
            f"clustered: Weibull shape {law.shape:.2f}, memoryless rejected (p {law.p:.2g})"
        )
    else:
        rows.append(f"Weibull shape {law.shape:.2f}: no clustering seen (p {law.p:.2g} against 1)")
    yield from _rows("shape", rows)


def _ages(ages: Sequence[AtAge]) -> Iterator[str]:
    rows = [
        f"{_age(one):<14}{one.seen.preemptions:>5} in {one.seen.hours:>8.1f} h   tau {span(one.seen.tau_h)}"
        for one in ages
        if one.seen.hours > 0
    ]
    yield from _rows("by age", rows)


def _age(one: AtAge) -> str:
    names = dict(zip(AGES_H, ("0", "20 min", "1 h", "4 h", "12 h", ""), strict=True))
    high = names[one.high_h]
    return f"{names[one.low_h]} to {high}" if high else f"above {names[one.low_h]}"


def _starts(starts: Starts) -> Iterator[str]:
    if not starts.count:
        return
    how = "assumed" if starts.assumed else "seen"
    useful = starts.useful
    dead = f"{starts.dead} of {starts.count} died before ready ({100 * starts.dead_share:.0f} %)"
    events = f"{useful.preemptions} in {useful.hours:.1f} h"
    rows = [
        f"{dead}, ready after {span(starts.ready_h)} ({how})",
        f"after it {span(useful.tau_h)} useful per preemption ({events})",
    ]
    two = starts.two_numbers
    if two is not None:
        rows.append(f"billed by useful time {two.billed_over_useful:.3f}")
    yield from _rows("starts", rows)


def _episode(known: Estimate, duration_h: float) -> Iterator[str]:
    names = {
        "interrupted_share": "interrupted, mean over all moments",
        "interrupted_share_after_ready": "once the server is ready",
        "interrupted_share_on_a_fresh_machine": "started with the machine",
        "interrupted_share_predicted": "next one, with so few events as these",
        "interrupted_share_at_most": "at most, with 95 % confidence",
    }
    found = risks(known, duration_h)
    rows = [
        f"{100 * share:5.1f} %  {name}"
        for key, name in names.items()
        if isinstance(share := found[key], float)
    ]
    yield from _rows(span(duration_h), rows)


def _restart(known: Estimate) -> Iterator[str]:
    """What a restart on purpose does to the risk."""
    if known.clustered is None:
        said = "unknown: too few preemptions to say whether a young machine is riskier"
    elif known.clustered:
        said = "a restart on purpose passes the riskiest time again: keep old machines"
    else:
        said = (
            "a restart on purpose does not lower the risk: an old machine is as good as a new one"
        )
    yield from _rows("restart", [said])


def _rows(label: str, rows: Sequence[str]) -> list[str]:
    heads = [label, *[""] * (len(rows) - 1)]
    return [f"{head:<{_LABEL}}{row}".rstrip() for head, row in zip(heads, rows, strict=True)]
