"""What the demo ends with: one block of text from values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spoteval.episode import Outcome
from spoteval.placement.spend import Spend
from spoteval.placement.stages import NAMES, STAGES
from spoteval.report.timeline import LEGEND, Strip
from spoteval.report.words import between, class_name, duration, money, seconds

_HEAD, _BASIS, _SUM, _WIDTH = 77, 78, 74, 80  # where the right ends of these lines stand
_INDENT = " " * 11


@dataclass(frozen=True, slots=True)
class Summary:
    """The values. `classes` and `attempts` are counts by class and by outcome; `stages` are medians in seconds."""

    intended: int
    finished: int
    lost: int
    run_twice: int
    duration_s: float
    strip: Strip
    stages: Mapping[str, float]
    restarts: int
    classes: Mapping[str, int]
    right: int
    wrong: int
    attempts: Mapping[str, int]
    spend: Spend | None
    look: Sequence[str]
    next: str


def render(values: Summary) -> list[str]:
    """The lines, none wider than 80 columns."""
    return [
        _head(values),
        *_node(values.strip),
        *_restart(values),
        *_counts(values),
        *_price(values),
        *_wrapped("look", values.look, "", _WIDTH),
        *_item("next", [values.next]),
    ]


def _head(values: Summary) -> str:
    said = (
        f" {values.finished} of {values.intended} finished · {values.lost} lost"
        f" · {values.run_twice} run twice (independent witness)"
    )
    return _right(said, duration(values.duration_s), _HEAD)


def _node(strip: Strip) -> list[str]:
    notes = strip.notes()
    return [
        *_item("node", [strip.cells]),
        *([_INDENT + notes] if notes else []),
        _INDENT + LEGEND,
    ]


def _restart(values: Summary) -> list[str]:
    if not values.stages:
        return _item("restart", ["none"])
    words = [
        f"{NAMES[stage]} {_figure(values, stage)}" for stage in STAGES if stage in values.stages
    ]
    words[0] += " s"
    return _wrapped("restart", words, f"(medians of {values.restarts}, S2 to S6)", _BASIS)


def _figure(values: Summary, stage: str) -> str:
    return seconds(values.stages[stage]).removesuffix(" s")


def _counts(values: Summary) -> list[str]:
    completed = values.classes.get(Outcome.COMPLETED, 0)
    others = {name: n for name, n in values.classes.items() if n and name != Outcome.COMPLETED}
    verdicts = f"completed {completed} ({values.right} right, {values.wrong} wrong)"
    rest = [f"{class_name(name)} {count}" for name, count in others.items()] or [
        "every other class 0"
    ]
    ended = sum(n for name, n in values.attempts.items() if Outcome(name).by_itself)
    cut = [f"{class_name(name)} {n}" for name, n in values.attempts.items() if _is_cut(name)]
    return [
        *_wrapped("episodes", [verdicts, *rest], f"= {sum(values.classes.values())}", _SUM),
        *_wrapped("attempts", [f"ended {ended}", *cut], f"= {sum(values.attempts.values())}", _SUM),
    ]


def _price(values: Summary) -> list[str]:
    spent = values.spend
    if spent is None:
        return _item("price", ["no start has a price"])
    rate = between(f"{spent.price_low:.2f}", f"{spent.price_high:.2f}")
    starts = f"{spent.starts} start{'' if spent.starts == 1 else 's'}"
    total = f"{money(spent.low, spent.high)} {spent.currency} over {starts} at {rate} {spent.currency}/h"
    completed = values.classes.get(Outcome.COMPLETED, 0)
    if not completed:
        return [_label("price") + total]
    each = f"{money(spent.low / completed, spent.high / completed)} {spent.currency}"
    return [_label("price") + total, f"{_INDENT}{each} per completed episode"]


def _is_cut(name: str) -> bool:
    return not Outcome(name).by_itself


def _wrapped(label: str, words: Sequence[str], end: str, width: int) -> list[str]:
    """Words over as many lines as they need; the end stands at the right of the last one."""
    lines = [_label(label) + words[0]]
    for word in words[1:]:
        longer = f"{lines[-1]} · {word}"
        if len(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(f"{_INDENT}· {word}")
    if len(lines[-1]) + 1 + len(end) > width:
        lines.append("")
    return [*lines[:-1], _right(lines[-1], end, width).rstrip()]


def _item(label: str, words: Sequence[str]) -> list[str]:
    return [_label(label) + " · ".join(words)]


def _label(word: str) -> str:
    return f" {word}".ljust(len(_INDENT))


def _right(left: str, right: str, width: int) -> str:
    """Both ends of one line."""
    return left + " " * max(1, width - len(left) - len(right)) + right
