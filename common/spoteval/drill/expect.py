"""What must have come of each stop of a drill. Pure: evidence in, expectations out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from spoteval.drill.plan import STOPS
from spoteval.drill.records import Evidence, Life
from spoteval.episode import Outcome
from spoteval.event import Event

HOOK, SALVAGED, RESTARTED, RESUMED, LATE = "hook", "salvaged", "restarted", "resumed", "late"
RESUMING, KEPT = "while-resuming", "kept"


@dataclass(frozen=True, slots=True)
class Expectation:
    """One thing that must have happened. `passed` None: not known yet. `stop` 0: it is about the whole drill."""

    stop: int
    what: str
    passed: bool | None
    text: str
    took_s: float | None = None

    def record(self) -> dict[str, object]:
        """As JSON."""
        return {
            "stop": self.stop,
            "what": self.what,
            "passed": self.passed,
            "took_s": None if self.took_s is None else round(self.took_s, 3),
            "text": self.text,
        }


@dataclass(frozen=True, slots=True)
class Case:
    """One stop: the life that it ended and the next one, where they came to be.

    `asked`: when the stop was asked for. `events`: the restarter's own, None where they cannot be seen.
    """

    number: int
    life: Life | None
    after: Life | None
    asked: datetime | None
    events: tuple[Event, ...] | None
    over: bool

    def said(
        self, what: str, passed: bool | None, text: str, took_s: float | None = None
    ) -> Expectation:
        """The expectation of this stop."""
        return Expectation(self.number, what, passed, text, took_s)

    @property
    def late(self) -> bool | None:
        """False once the next life has begun or all is over, else None: what is missing by then does not come."""
        return False if self.after is not None or self.over else None


def expectations(
    found: Evidence,
    asked: Sequence[datetime] = (),
    events: Iterable[Event] | None = None,
    *,
    given_up: bool = False,
) -> tuple[Expectation, ...]:
    """All of them, in the order in which they are met.

    `asked`: moments of the stops where the guest did not ask for them itself. `given_up`: nobody waits any longer, and
    what has not come has failed.
    """
    known = None if events is None else tuple(events)
    cases = [_case(found, number, asked, known) for number in range(1, STOPS + 1)]
    each = [
        judge(case) for case in cases for judge in (_hook, _salvaged, _restarted, _resumed, _late)
    ]
    whole = (*each[:5], _while_resuming(cases[1]), *each[5:], _kept(found))
    return tuple(_missed(item) for item in whole) if given_up else whole


def verdict(found: Iterable[Expectation]) -> bool | None:
    """False once one has failed, None while one is open, else True."""
    words = [item.passed for item in found]
    return False if False in words else None if None in words else True


def _case(
    found: Evidence, number: int, asked: Sequence[datetime], events: tuple[Event, ...] | None
) -> Case:
    life = found.lives[number - 1] if len(found.lives) >= number else None
    after = found.lives[number] if len(found.lives) > number else None
    own = asked[number - 1] if len(asked) >= number else None
    if own is None and life is not None:
        own = life.stop or (life.marker.opened.at.wall if life.marker is not None else None)
    return Case(number, life, after, own, events, found.over)


def _hook(case: Case) -> Expectation:
    marker = case.life.marker if case.life is not None else None
    if marker is None:
        return case.said(HOOK, case.late, "no marker of an interruption")
    if marker.closed is None:
        return case.said(HOOK, case.late, "the marker was never closed: cut short")
    window_s, took_s = marker.opened.window_s, marker.closed.total_s
    inside = window_s is None or took_s <= window_s
    window = "window unknown" if window_s is None else f"window {window_s:g} s"
    return case.said(HOOK, inside, f"marker opened, all done and closed; {window}", took_s)


def _salvaged(case: Case) -> Expectation:
    """What ran is marked when the run is resumed: a life that got to its episodes has settled."""
    life = case.life
    if life is None or life.marker is None:
        return case.said(SALVAGED, case.late, "no marker of an interruption")
    if life.episodes is None:
        return case.said(SALVAGED, passed=True, text="no episode was in flight")
    cut, files = len(life.cut), life.salvaged
    if not cut:
        went_on = case.over or (case.after is not None and case.after.episodes is not None)
        return case.said(SALVAGED, False if went_on else None, "no partial episode is marked yet")
    marked = all(outcome is Outcome.PREEMPTION_INTERRUPTED for outcome in life.cut)
    text = f"{cut} partial episodes, {files} files salvaged, " + (
        "each marked preemption-interrupted" if marked else "not each marked preemption-interrupted"
    )
    return case.said(SALVAGED, marked and files > 0, text)


def _restarted(case: Case) -> Expectation:
    """On the restarter host, by its own start request; the guest sees no more than that it is on again."""
    after, asked = case.after, case.asked
    took_s = _between(asked, after.began if after is not None else None)
    if case.events is None:
        known = after is not None
        text = "the machine was started" if known else "not started yet"
        return case.said(RESTARTED, True if known else _lost(case), text, took_s)
    until = after.began if after is not None else None
    start = _first(case.events, "start-asked", asked, until)
    running = _first(case.events, "running", start, None)
    if start is None or running is None:
        return case.said(RESTARTED, case.late, _no_start(case.events, asked), took_s)
    text = f"start asked for after {_between(asked, start) or 0.0:.1f} s, and it was RUNNING"
    return case.said(RESTARTED, passed=True, text=text, took_s=_between(asked, running))


def _resumed(case: Case) -> Expectation:
    """The last stop is over when episodes run; before it the next one comes, into the resume."""
    after, last = case.after, case.number == STOPS
    if after is None:
        return case.said(RESUMED, _lost(case), "not yet")
    at = after.episodes if last else after.resumed
    text = "episodes ran again" if last else "boot-resume took the run up"
    if at is None:
        return case.said(RESUMED, False if case.over else None, "not yet")
    return case.said(RESUMED, passed=True, text=text, took_s=_between(case.asked, at))


def _late(case: Case) -> Expectation:
    """The closing record is written when the last pass is over: it is always one of the late ones."""
    life = case.life
    if life is None or life.marker is None or life.marker.closed is None:
        return case.said(LATE, case.late, "no closing record that could reach the store")
    if life.arrived:
        return case.said(
            LATE, passed=True, text="records written after the last pass are in the store"
        )
    text = "not in the store yet" if life.arrived is False else "not known here yet"
    return case.said(LATE, _lost(case), text)


def _while_resuming(case: Case) -> Expectation:
    life = case.life
    if life is None or case.asked is None:
        return case.said(RESUMING, False if case.over else None, "no second stop yet")
    early = life.episodes is None
    text = "boot-resume was at work" if early else "episodes ran already"
    return case.said(RESUMING, early, text, _between(life.resumed, case.asked))


def _kept(found: Evidence) -> Expectation:
    """Over the whole drill: no finished episode was lost or run again."""
    twice = sorted({key for key in found.finished if found.finished.count(key) > 1})
    if twice:
        return Expectation(0, KEPT, passed=False, text=f"finished twice: {', '.join(twice)}")
    text = f"{len(found.finished)} of {found.intended or 'unknown'} episodes, each finished once"
    if found.intended is not None and len(found.finished) >= found.intended:
        return Expectation(0, KEPT, passed=True, text=text)
    return Expectation(0, KEPT, False if found.over else None, text)


def _missed(item: Expectation) -> Expectation:
    return item if item.passed is not None else replace(item, passed=False)


def _lost(case: Case) -> bool | None:
    return False if case.over else None


def _no_start(events: tuple[Event, ...], asked: datetime | None) -> str:
    """Why there is none yet, by the restarter's own events."""
    found = [item for item in events if asked is not None and item.at >= asked]
    failed = sum(item.kind == "capacity-failure" for item in found)
    if failed:
        return f"no capacity: {failed} failed starts; the restarter goes on trying"
    return "the restarter has not started it yet"


def _first(
    events: Iterable[Event], kind: str, since: datetime | None, until: datetime | None
) -> datetime | None:
    """The first of this kind; None also where nobody knows since when."""
    if since is None:
        return None
    found = (item.at for item in events if item.kind == kind and item.at >= since)
    at = min(found, default=None)
    return None if at is not None and until is not None and at > until else at


def _between(since: datetime | None, until: datetime | None) -> float | None:
    return None if since is None or until is None else max(0.0, (until - since).total_seconds())
