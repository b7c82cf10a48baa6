"""The status screen: 80 columns, one line a subject, a subject without facts left out."""

from collections.abc import Callable, Sequence

from spoteval.report.eta import Eta, between, spare
from spoteval.report.fold import FACTS, INDENT, WIDTH, folded, line, right
from spoteval.report.status import INTERRUPTED, Source, Status
from spoteval.report.status_below import holds, night, published, restarts, rules, spent
from spoteval.report.words import class_name, duration, moment
from spoteval.settlement import MODEL_SERVER
from spoteval.shape import Unreadable

_BAR = 39
_ALWAYS = ("completed", "model_failure", "harness_error", INTERRUPTED)
_NAMES = {INTERRUPTED: "interrupted"}


def screen(status: Status) -> list[str]:
    """All lines."""
    parts: tuple[Callable[[Status], list[str]], ...] = (
        _episodes,
        _classes,
        _attempts,
        night,
        restarts,
        published,
        spent,
        holds,
        rules,
    )
    below = [text for part in parts for text in part(status)]
    return [*_head(status), *([""] if below else []), *below]


def title(status: Status) -> str:
    """Run, label, instance and state."""
    words = [status.run.name, status.run.plan.label] if status.run else ["no run"]
    return "  ".join([*words, status.instance, _state(status)])


def _head(status: Status) -> list[str]:
    guest, restarter = _age(status.guest), _age(status.restarter).removesuffix(" old")
    facts = f"facts: guest {guest}, restarter {restarter}"
    more = [f"needs you: {need.text} → {need.command}" for need in status.needs[1:]]
    said = [f"  {status.second_line}", *(f"  {text}" for text in more)]
    first = right(title(status), moment(status.at), WIDTH)
    if len(said) == 1 and len(said[0]) + 2 + len(facts) <= FACTS:
        return [*first, *right(said[0], facts, FACTS)]
    return [*first, *(part for text in said for part in folded(text)), f"  {facts}"]


def _state(status: Status) -> str:
    if status.state is None:
        return "state not seen" if not status.over else "over"
    over = ", over" if status.over else ""
    if status.restarter.stale:
        return f"last seen {status.state} {duration(status.restarter.age_s or 0.0)} ago{over}"
    long = f" {duration(status.state_s)}" if status.state_s is not None else ""
    return f"{status.state}{long}{over}"


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
        words.append(f"{status.in_flight} in flight{_when(status)}")
    if intended is None:
        return [line("episodes", " · ".join([*words, "how many are intended is not known yet"]))]
    if status.closed:
        words.append(f"{status.closed} cut for good")
    left = intended - finished - status.closed - (status.in_flight or 0)
    words.append(f"{max(0, left)} to go")
    share = f"{100 * finished / intended:.0f} % of {intended}" if intended else "of 0"
    first = right(line("episodes", " · ".join(words)), share, WIDTH)
    second = INDENT + bar(finished, status.in_flight or 0, intended)
    return [*first, second + _done(status), *_deadline(status)]


def _when(status: Status) -> str:
    """What the guest said last is not what is now."""
    return f" {duration(status.guest.age_s or 0.0)} ago" if status.guest.stale else ""


def bar(finished: int, in_flight: int, intended: int, cells: int = _BAR) -> str:
    """What is finished, in flight and to go; nothing is rounded up to finished, and what flies is seen."""
    done = finished * cells // max(1, intended)
    share = round(in_flight * cells / max(1, intended))
    flying = min(cells - done, max(share, 1 if in_flight else 0))
    return "█" * done + "▓" * flying + "░" * (cells - done - flying)


def _done(status: Status) -> str:
    """When it may be done, behind the bar."""
    if isinstance(status.eta, Eta):
        return f"  done {between(status.eta, status.at)}"
    return "  done: not measured yet" if isinstance(status.eta, Unreadable) else ""


def _deadline(status: Status) -> list[str]:
    deadline = status.run.plan.deadline if status.run else None
    if deadline is None:
        return []
    left_s = (deadline - status.at).total_seconds()
    when = f"in {duration(left_s)}" if left_s >= 0 else f"passed {duration(-left_s)} ago"
    if isinstance(status.eta, Eta) and left_s >= 0:
        when = spare(status.eta, deadline)
    return [f"{INDENT}deadline {deadline:%a %H:%M}: {when}"]


def _classes(status: Status) -> list[str]:
    found = status.classes
    shown = [name for name in found if name in _ALWAYS or (found[name] and name != "not_run")]
    words = [f"{_NAMES.get(name, class_name(name))} {found[name]}" for name in shown]
    return _words("classes", words)


def _attempts(status: Status) -> list[str]:
    if status.progress is None:
        return []
    ended = len(status.progress.finished)
    by_server = sum(attempt.origin == MODEL_SERVER for attempt in status.progress.cut)
    cut = len(status.progress.cut) - by_server
    words = [f"{ended} ended"]
    if cut:
        count = status.preemptions
        by = f" by {count} preemption{'' if count == 1 else 's'}" if count else ""
        words.append(f"{cut} cut{by} ({100 * cut / (ended + cut):.0f} %)")
    if by_server:
        words.append(f"{by_server} cut by a dead model server")
    if status.run is not None:
        words.append(status.run.plan.settlement.replace("_", " "))
    return _words("attempts", words)


def _words(label: str, words: Sequence[str]) -> list[str]:
    return folded(line(label, " · ".join(words)), INDENT) if words else []
