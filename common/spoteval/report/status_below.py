"""The lower half of the status screen: the night, restarts, publication, money, holds."""

import statistics
from datetime import datetime, timedelta

from spoteval.clock import stamp
from spoteval.hold import Hold
from spoteval.line import flat
from spoteval.placement.stages import medians
from spoteval.report.fold import INDENT, WIDTH, folded, line
from spoteval.report.holds import FileHold
from spoteval.report.status import Status
from spoteval.report.timeline import axis, scaled
from spoteval.report.words import duration, money
from spoteval.shape import Unreadable

_NIGHT, _NIGHT_S = 36, 12 * 3600.0
_LEGEND = "█ work  ▒ restart  · off"


def night(status: Status) -> list[str]:
    """The last twelve hours as a strip, and the hours below it."""
    if not status.pieces:
        return []
    since = max(status.pieces[0].began, status.at - timedelta(seconds=_NIGHT_S))
    until = max(status.at, since + timedelta(seconds=_NIGHT))
    hours = INDENT + axis(since, until, _NIGHT)
    return [
        line("night", scaled(status.pieces, since, until, _NIGHT)),
        f"{hours.ljust(len(INDENT) + _NIGHT)} {_LEGEND}",
    ]


def restarts(status: Status) -> list[str]:
    """How many, how long, and how often there was no capacity."""
    done = [restart for restart in status.restarts if restart.done]
    if not done and not status.capacity_failures:
        return []
    words = [str(len(done))]
    if done:
        total = duration(statistics.median(restart.total_s for restart in done))
        words.append(f"median {total}{_of_it(total, medians(done).get('S5'))}")
    if status.capacity_failures:
        many = "" if status.capacity_failures == 1 else "s"
        words.append(f"{status.capacity_failures} capacity failure{many}")
    return [line("restarts", " · ".join(words))]


def _of_it(total: str, server_s: float | None) -> str:
    """The server's share, its unit left out where it is the same."""
    if server_s is None:
        return ""
    value, _, unit = duration(server_s).partition(" ")
    same = total.partition(" ")[2] == unit
    return f", of it server start {value}" + ("" if same else f" {unit}")


def published(status: Status) -> list[str]:
    """What is in the store, when it was last looked after, and what holds a secret."""
    if status.published is None or status.finished is None:
        return []
    passed = "not seen" if status.passed_s is None else f"{duration(status.passed_s)} ago"
    words = [
        f"{status.published} of {status.finished}",
        f"last pass {passed}",
        f"withheld {'unknown' if status.withheld is None else status.withheld}",
    ]
    return [line("published", " · ".join(words))]


def spent(status: Status) -> list[str]:
    """The range, the share of an episode, and what an hour costs now, where that is known now."""
    found = status.spend
    if found is None:
        return []
    limit = status.rules.limits.spend if status.rules is not None else None
    of = f" of {limit.amount:g}" if limit is not None and limit.currency == found.currency else ""
    words = [f"{money(found.low, found.high)}{of} {found.currency}"]
    if status.finished:
        each = money(found.low / status.finished, found.high / status.finished)
        words.append(f"{each} per episode")
    if found.now is not None and not status.restarter.stale:
        words.append(f"now {found.now:.2f} {found.currency}/h")
    return [line("spent", " · ".join(words))]


def holds(status: Status) -> list[str]:
    """The four files and what stands in the store."""
    words = [f"{file.name} {_hold_word(file)}" for file in status.holds.files if file.seen]
    unseen = [file.name for file in status.holds.files if not file.seen]
    words += [f"not seen here: {', '.join(unseen)}"] if unseen else []
    lines = _wrapped("holds", words)
    if isinstance(status.holds.store, Unreadable):
        away = f"{INDENT}store not readable here: {status.holds.store.why}"
        return [*lines, *folded(away, f"{INDENT}  ")]
    return [*lines, *(text for hold in status.holds.store for text in _stored(status, hold))]


def rules(status: Status) -> list[str]:
    """How far each stop rule is, the grant, and the run that the instance is for."""
    known = status.rules
    if known is None:
        return [line("rules", "the restarter counts: not seen from here")]
    pointer = "no run" if known.run is None else f"{known.run}, generation {known.generation}"
    return [
        *_wrapped("rules", known.words(status.spend)),
        *_wrapped("grant", known.grant()),
        line("assigned", pointer),
    ]


def _stored(status: Status, hold: Hold) -> list[str]:
    """A hold of the store, on more lines where one is too long."""
    by = f"({flat(hold.by)}{_since(status, hold.at)})"
    name, reason = flat(hold.id), flat(hold.reason)
    whole = f'{INDENT}store {name} "{reason}" {by}'
    if len(whole) <= WIDTH:
        return [whole]
    return [f"{INDENT}store {name} {by}", *folded(f'{INDENT}  "{reason}"', f"{INDENT}  ")]


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


def _wrapped(label: str, words: list[str]) -> list[str]:
    """Words over as many lines as they need."""
    lines = [line(label, words[0])]
    for word in words[1:]:
        longer = f"{lines[-1]} · {word}"
        if len(longer) <= WIDTH:
            lines[-1] = longer
        else:
            lines.append(f"{INDENT}· {word}")
    return [part for text in lines for part in folded(text, INDENT)]
