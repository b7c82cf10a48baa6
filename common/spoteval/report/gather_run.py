"""What the run adds to a status: progress, when it may be done, what needs a person."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from spoteval.control.runfiles import Progress
from spoteval.event import Event
from spoteval.report.eta import Eta, eta, pace
from spoteval.report.needs import Need, held_needs, merged, open_needs
from spoteval.report.run_facts import RunFacts
from spoteval.report.status import Status
from spoteval.run import RunRecord
from spoteval.shape import Reading, Unreadable


def with_run(
    known: Status, run: RunFacts | None, events: tuple[Event, ...], serves: bool
) -> Status:
    """The status with its run, and everything that needs a person. `serves`: on the restarter host."""
    if run is None:
        needs = (*_dead(known, serves), *merged(_held(known), open_needs(events, None)))
        return replace(known, needs=needs)
    known = replace(
        known,
        run=run.record if isinstance(run.record, RunRecord) else None,
        over=run.over,
        progress=run.progress if isinstance(run.progress, Progress) else None,
        in_flight=run.in_flight,
        published=_published(run),
        withheld=run.withheld,
    )
    known = replace(known, eta=_eta(known, run.events))
    finished, published = known.finished, known.published
    left = None if finished is None or published is None else max(0, finished - published)
    broken = (*_broken(known, run), *_dead(known, serves))
    return replace(known, needs=(*broken, *merged(_held(known), open_needs(events, left))))


def _published(run: RunFacts) -> int | None:
    """Of the finished ones that are intended: others may lie in the store, of a start that named more."""
    if run.published is None:
        return None
    finished = run.progress.finished_keys if isinstance(run.progress, Progress) else run.published
    return len(run.published & finished)


def _eta(known: Status, events: Iterable[Event]) -> Reading[Eta] | None:
    """None where there is nothing to wait for. What is old, or held, tells nothing of when."""
    finished, intended = known.finished, known.intended
    if known.over or finished is None or intended is None:
        return None
    left = intended - finished - known.closed
    if left <= 0:
        return None
    if known.guest.stale or known.restarter.stale:
        return Unreadable("the facts are stale")
    if known.holds.held:
        return Unreadable("held")
    began = _began(events)
    if began is None:
        return Unreadable("no episode has begun")
    return eta(finished, left, pace(known.pieces, began), known.at)


def _began(events: Iterable[Event]) -> datetime | None:
    return min((event.at for event in events if event.kind == "first-episode"), default=None)


def _broken(known: Status, run: RunFacts) -> tuple[Need, ...]:
    """What no agent can mend: records that cannot be read, and agents that do not run."""
    found = (item.why for item in (run.record, run.progress) if isinstance(item, Unreadable))
    needs = tuple(Need(known.at, why, "spoteval pull RUN DIR") for why in found)
    if known.guest.here and known.state is None and not known.over:
        return (*needs, Need(known.at, "no agent of spoteval runs here", "spoteval check"))
    return needs


def _dead(known: Status, serves: bool) -> tuple[Need, ...]:
    """Without a restarter nothing is started, whatever its files say."""
    if not serves or known.restarter.here:
        return ()
    text = "the restarter does not run here: nothing is started"
    return (Need(known.at, text, "systemctl enable --now spoteval-restarter"),)


def _held(known: Status) -> tuple[Need, ...]:
    store = known.holds.store
    if isinstance(store, Unreadable):
        return ()
    return held_needs(known.instance, store, known.over, known.at)
