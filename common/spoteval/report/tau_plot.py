"""Survival of machines as a picture, on the terminal and as SVG. A square-root axis shows young deaths."""

import math
from collections.abc import Callable, Iterator, Sequence

from spoteval.placement.survival import Step, share_at
from spoteval.placement.tau import Estimate
from spoteval.report.tau_lines import span

_SEEN, _MEMORYLESS, _BOTH = "█", "·", "▓"
_WIDE, _HIGH = 64, 10
_LEFT, _TOP, _W, _H = 60.0, 30.0, 560.0, 300.0
_TICKS_H = (0.25, 0.5, 1, 2, 4, 8, 12, 24, 48, 96, 168, 336, 720)


def plot(known: Estimate) -> list[str]:
    """Share still up (█) against hours, beside a memoryless law with the same tau (·)."""
    end_h = _end_h(known)
    if end_h is None:
        return []
    ages = [_age((column + 0.5) / _WIDE, end_h) for column in range(_WIDE)]
    seen = [share_at(known.steps, age) for age in ages]
    law = [math.exp(-age / known.seen.tau_h) for age in ages]
    rows = [_row(level, seen, law) for level in range(_HIGH, 0, -1)]
    return [
        *rows,
        f"     └{'─' * _WIDE}",
        f"      {_axis(end_h)}",
        f"      {_SEEN} still up (Kaplan-Meier)  {_MEMORYLESS} memoryless, same tau  {_BOTH} both",
    ]


def _row(level: int, seen: Sequence[float], law: Sequence[float]) -> str:
    share = level / _HIGH
    label = f"{100 * share:3.0f} %" if level % 2 == 0 else " " * 5
    cells = zip(seen, law, strict=True)
    line = "".join(_cell(share, one, other) for one, other in cells)
    return f"{label}│{line}".rstrip()


def _cell(share: float, seen: float, law: float) -> str:
    floor = share - 1 / _HIGH / 2
    on_law = abs(law - share) <= 1 / _HIGH / 2
    if seen > floor:
        return _BOTH if on_law else _SEEN
    return _MEMORYLESS if on_law else " "


def _axis(end_h: float) -> str:
    line = [" "] * (_WIDE + 8)
    free = 0
    for tick in _ticks(end_h):
        place, label = round(_place(tick, end_h) * _WIDE), span(tick).removesuffix(".00 h")
        label = label if label.endswith("min") else f"{tick:g} h"
        if place >= free and place + len(label) <= len(line):
            line[place : place + len(label)] = label
            free = place + len(label) + 1
    return "".join(line).rstrip()


def svg(known: Estimate) -> str:
    """The same as a drawing that stands alone: curve, 95 % band, and both laws. Raises ValueError without a death."""
    end_h = _end_h(known)
    if end_h is None:
        raise ValueError("no preemption: there is no curve to draw")
    parts = [*_frame(end_h), _band(known.steps, end_h), _stairs(known.steps, end_h)]
    parts.append(_curve(lambda age: math.exp(-age / known.seen.tau_h), end_h, "#c0392b", "6 4"))
    if (law := known.law) is not None:
        parts.append(_curve(lambda age: 1 - law.fresh(age), end_h, "#2471a3", "2 3"))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _W + 20:g} {_TOP + _H + 60:g}"'
        ' font-family="sans-serif" font-size="12">'
    )
    return "\n".join([head, *parts, *_legend(known), "</svg>", ""])


def _frame(end_h: float) -> Iterator[str]:
    yield f'<rect x="{_LEFT:g}" y="{_TOP:g}" width="{_W:g}" height="{_H:g}" fill="none" stroke="#888"/>'
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = _y(share)
        yield f'<text x="{_LEFT - 8:g}" y="{y + 4:.1f}" text-anchor="end">{100 * share:g} %</text>'
    free = 0.0
    for tick in _ticks(end_h):
        x = _x(tick, end_h)
        if x >= free:
            free = x + 34
            yield f'<text x="{x:.1f}" y="{_TOP + _H + 18:g}" text-anchor="middle">{tick:g} h</text>'
            yield f'<path d="M{x:.1f} {_TOP + _H:g}v-5" stroke="#888"/>'


def _legend(known: Estimate) -> Iterator[str]:
    words = [
        "line: still up (Kaplan-Meier), band 95 %",
        f"dashed: memoryless, tau {span(known.seen.tau_h)}",
    ]
    if known.law is not None:
        words.append(f"dotted: Weibull, shape {known.law.shape:.2f}")
    yield f'<text x="{_LEFT:g}" y="{_TOP - 10:g}">{known.lives} lives, {known.seen.preemptions} preemptions</text>'
    yield f'<text x="{_LEFT:g}" y="{_TOP + _H + 42:g}">{" · ".join(words)}</text>'


def _stairs(steps: Sequence[Step], end_h: float) -> str:
    path = f"M{_x(0, end_h):.1f} {_y(1):.1f}"
    for step in steps:
        path += f"H{_x(step.hours, end_h):.1f}V{_y(step.share):.1f}"
    return f'<path d="{path}H{_x(end_h, end_h):.1f}" fill="none" stroke="#222" stroke-width="1.5"/>'


def _band(steps: Sequence[Step], end_h: float) -> str:
    upper, lower = [(0.0, 1.0)], [(0.0, 1.0)]
    for step in steps:
        for line, share in ((upper, _up(step)), (lower, _down(step))):
            line += [(step.hours, line[-1][1]), (step.hours, share)]
    for line in (upper, lower):
        line.append((end_h, line[-1][1]))
    points = " ".join(f"{_x(h, end_h):.1f},{_y(s):.1f}" for h, s in [*upper, *reversed(lower)])
    return f'<polygon points="{points}" fill="#222" fill-opacity="0.12"/>'


def _curve(share: Callable[[float], float], end_h: float, colour: str, dashes: str) -> str:
    ages = [_age(index / 120, end_h) for index in range(121)]
    points = " ".join(f"{_x(age, end_h):.1f},{_y(share(age)):.1f}" for age in ages)
    return (
        f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-dasharray="{dashes}"/>'
    )


def _up(step: Step) -> float:
    return min(1.0, step.share + 1.96 * step.error)


def _down(step: Step) -> float:
    return max(0.0, step.share - 1.96 * step.error)


def _end_h(known: Estimate) -> float | None:
    """Until the last death: what comes after it is flat."""
    return known.steps[-1].hours * 1.05 if known.steps and known.steps[-1].hours > 0 else None


def _ticks(end_h: float) -> list[float]:
    return [0, *(tick for tick in _TICKS_H if tick <= end_h)]


def _age(place: float, end_h: float) -> float:
    return end_h * place * place


def _place(age_h: float, end_h: float) -> float:
    return math.sqrt(age_h / end_h)


def _x(age_h: float, end_h: float) -> float:
    return _LEFT + _W * _place(min(age_h, end_h), end_h)


def _y(share: float) -> float:
    return _TOP + _H * (1 - share)
