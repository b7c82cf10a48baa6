"""The status screen: 80 columns, one line a subject, a subject without facts left out."""

import statistics
from collections.abc import Callable
from datetime import datetime, timedelta

from spoteval.clock import stamp
from spoteval.hold import Hold
from spoteval.line import flat
from spoteval.placement.stages import medians
from spoteval.report.holds import FileHold
from spoteval.report.status import INTERRUPTED, Source, Status
from spoteval.report.timeline import axis, scaled
from spoteval.report.words import class_name, duration, moment, money
from spoteval.shape import Unreadable

WIDTH, _FACTS = 80, 78
_BAR, _NIGHT = 39, 36
_INDENT = " " * 13
_NIGHT_S = 12 * 3600.0
_LEGEND = "█ work  ▒ restart  · off"
_ALWAYS = ("completed", "model_failure", "harness_error", INTERRUPTED)
_NAMES = {INTERRUPTED: "interrupted"}


def screen(status: Status) -> list[str]:
    """All lines."""
    parts: tuple[Callable[[Status], list[str]], ...] = (
        _episodes,
        _classes,
        _attempts,
        _night,
        _restarts,
        _published,
        _spent,
        _holds,
    )
    below = [line for part in parts for line in part(status)]
    return [*_head(status), *([""] if below else []), *below]


def _head(status: Status) -> list[str]:
    guest, restarter = _age(status.guest), _age(status.restarter).removesuffix(" old")
    facts = f"facts: guest {guest}, restarter {restarter}"
    words = [status.run.name, status.run.plan.label] if status.run else ["no run"]
    title = "  ".join([*words, status.instance, _state(status)])
    said = [f"  {status.second_line}"]
    said += [f"  needs you: {need.text} → {need.command}" for need in status.needs[1:]]
    if len(said) == 1 and len(said[0]) + 2 + len(facts) <= _FACTS:
        return [_right(title, moment(status.at), WIDTH), _right(said[0], facts, _FACTS)]
    return [_right(title, moment(status.at), WIDTH), *said, f"  {facts}"]


def _state(status: Status) -> str:
    if status.state is None:
        return "state not seen" if not status.over else "over"
    long = f" {duration(status.state_s)}" if status.state_s is not None else ""
    seen = "last seen " if status.restarter.stale else ""
    return f"{seen}{status.state}{long}{', over' if status.over else ''}"


def _age(source: Source) -> str:
    if source.here:
        return "here"
    if source.age_s is None:
        return "not seen"
    return f"{'STALE, ' if source.stale else ''}{duration(source.age_s)} old"


def _episodes(status: Status) -> list[str]:
    finished, intended = status.finished, status.intended
    if finished is None:
        return []
    words = [f"{finished} finished"]
    if status.in_flight is not None:
        words.append(f"{status.in_flight} in flight")
    if intended is None:
        return [_line("episodes", " · ".join([*words, "how many are intended is not known yet"]))]
    words.append(f"{max(0, intended - finished - (status.in_flight or 0))} to go")
    share = f"{100 * finished / intended:.0f} % of {intended}" if intended else "of 0"
    first = _right(_line("episodes", " · ".join(words)), share, WIDTH)
    return [first, _INDENT + bar(finished, status.in_flight or 0, intended), *_deadline(status)]


def bar(finished: int, in_flight: int, intended: int, cells: int = _BAR) -> str:
    """What is finished, in flight and to go; nothing is rounded up to finished, and what flies is seen."""
    done = finished * cells // max(1, intended)
    share = round(in_flight * cells / max(1, intended))
    flying = min(cells - done, max(share, 1 if in_flight else 0))
    return "█" * done + "▓" * flying + "░" * (cells - done - flying)


def _deadline(status: Status) -> list[str]:
    deadline = status.run.plan.deadline if status.run else None
    if deadline is None:
        return []
    left_s = (deadline - status.at).total_seconds()
    when = f"in {duration(left_s)}" if left_s >= 0 else f"passed {duration(-left_s)} ago"
    return [f"{_INDENT}deadline {deadline:%a %H:%M}: {when}"]


def _classes(status: Status) -> list[str]:
    found = status.classes
    shown = [name for name in found if name in _ALWAYS or (found[name] and name != "not_run")]
    words = [f"{_NAMES.get(name, class_name(name))} {found[name]}" for name in shown]
    return [_line("classes", " · ".join(words))] if words else []


def _attempts(status: Status) -> list[str]:
    if status.progress is None:
        return []
    ended, cut = len(status.progress.finished), len(status.progress.cut)
    words = [f"{ended} ended"]
    if cut:
        by = f" by {_count(status.preemptions, 'preemption')}" if status.preemptions else ""
        words.append(f"{cut} cut{by} ({100 * cut / (ended + cut):.0f} %)")
    if status.run is not None:
        words.append(status.run.plan.settlement.replace("_", " "))
    return [_line("attempts", " · ".join(words))]


def _night(status: Status) -> list[str]:
    if not status.pieces:
        return []
    since = max(status.pieces[0].began, status.at - timedelta(seconds=_NIGHT_S))
    until = max(status.at, since + timedelta(seconds=_NIGHT))
    hours = _INDENT + axis(since, until, _NIGHT)
    return [
        _line("night", _strip(status, since, until)),
        f"{hours.ljust(len(_INDENT) + _NIGHT)} {_LEGEND}",
    ]


def _strip(status: Status, since: datetime, until: datetime) -> str:
    return scaled(status.pieces, since, until, _NIGHT)


def _restarts(status: Status) -> list[str]:
    done = [restart for restart in status.restarts if restart.done]
    if not done and not status.capacity_failures:
        return []
    words = [str(len(done))]
    if done:
        total = duration(statistics.median(restart.total_s for restart in done))
        words.append(f"median {total}{_of_it(total, medians(done).get('S5'))}")
    if status.capacity_failures:
        words.append(_count(status.capacity_failures, "capacity failure"))
    return [_line("restarts", " · ".join(words))]


def _of_it(total: str, server_s: float | None) -> str:
    """The server's share, its unit left out where it is the same."""
    if server_s is None:
        return ""
    value, _, unit = duration(server_s).partition(" ")
    same = total.partition(" ")[2] == unit
    return f", of it server start {value}" + ("" if same else f" {unit}")


def _published(status: Status) -> list[str]:
    if status.published is None or status.finished is None:
        return []
    return [_line("published", f"{status.published} of {status.finished}")]


def _spent(status: Status) -> list[str]:
    spent = status.spend
    if spent is None:
        return []
    words = [f"{money(spent.low, spent.high)} {spent.currency}"]
    if status.finished:
        words.append(
            f"{money(spent.low / status.finished, spent.high / status.finished)} per episode"
        )
    if spent.now is not None:
        words.append(f"now {spent.now:.2f} {spent.currency}/h")
    return [_line("spent", " · ".join(words))]


def _holds(status: Status) -> list[str]:
    words = [f"{file.name} {_hold_word(file)}" for file in status.holds.files if file.seen]
    unseen = [file.name for file in status.holds.files if not file.seen]
    words += [f"not seen here: {', '.join(unseen)}"] if unseen else []
    lines = _wrapped("holds", words)
    if isinstance(status.holds.store, Unreadable):
        return [*lines, f"{_INDENT}store not readable here: {status.holds.store.why}"]
    return [*lines, *(line for hold in status.holds.store for line in _stored(status, hold))]


def _stored(status: Status, hold: Hold) -> list[str]:
    """A hold of the store, on two lines where one is too long."""
    by = f"({flat(hold.by)}{_since(status, hold.at)})"
    name, reason = flat(hold.id), flat(hold.reason)
    whole = f'{_INDENT}store {name} "{reason}" {by}'
    if len(whole) <= WIDTH:
        return [whole]
    return [f"{_INDENT}store {name} {by}", f'{_INDENT}  "{reason}"']


def _since(status: Status, at: datetime | None) -> str:
    if at is None:
        return ""
    age_s = (status.at - at).total_seconds()
    return f", {duration(age_s)} ago" if age_s >= 0 else f", {stamp(at)}"


def _hold_word(file: FileHold) -> str:
    if file.text is None:
        return "none"
    if isinstance(file.text, Unreadable):
        return "unreadable"
    return f'"{flat(file.text)}"' if file.text else "placed"


def _count(number: int | None, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _wrapped(label: str, words: list[str]) -> list[str]:
    """Words over as many lines as they need."""
    lines = [_line(label, words[0])]
    for word in words[1:]:
        longer = f"{lines[-1]} · {word}"
        if len(longer) <= WIDTH:
            lines[-1] = longer
        else:
            lines.append(f"{_INDENT}· {word}")
    return lines


def _line(label: str, text: str) -> str:
    return f"  {label}".ljust(len(_INDENT)) + text


def _right(left: str, right: str, width: int) -> str:
    return left + " " * max(2, width - len(left) - len(right)) + right
