"""Settlement of the active run: what the last interruption cut is written down, each cut attempt once."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from spoteval.clock import Now, stamp
from spoteval.control.markers import Start, is_settled, last_start, missing_marker
from spoteval.control.runfiles import interruptions
from spoteval.episode import Attempt
from spoteval.files import append_lines, read_lines, write_new_record
from spoteval.harness.contract import Survey
from spoteval.interruption import Interruption
from spoteval.paths import RunPaths
from spoteval.run import RunRecord
from spoteval.settlement import closed_keys, settle, unsettled

Records = tuple[dict[str, object], ...]


@dataclass(frozen=True, slots=True)
class Settling:
    """What was done. `unfinished` counts by the harness's own files; None before these say what was intended."""

    settled: int
    interruption: str | None
    unfinished: int | None

    def record(self) -> dict[str, object]:
        """As `spoteval settle --json` prints it."""
        return {
            "settled": self.settled,
            "interruption": self.interruption,
            "unfinished": self.unfinished,
        }


def settle_run(run: RunRecord, paths: RunPaths, survey: Survey, session: str, now: Now) -> Settling:
    """Write the missing lines of settlement.jsonl and end the open interruptions; twice is as once.

    The run's unit must be empty. First the marker where none was left, then the lines, then `settled.json` of each
    interruption: what a crash leaves undone, the next call does under the same interruption.
    """
    finished, known = read_lines(paths.finished).records, read_lines(paths.settlement).records
    cut = _numbered(unsettled(cut_attempts(survey, finished), known), (*finished, *known))
    start = last_start(read_lines(paths.events).records, run)
    _mark(run, paths, start, session, bool(cut))
    marked = interruptions(paths)
    open_ones = _open(paths, marked, session, bool(cut))
    if cut:
        owner = (open_ones or _newest_counted(marked))[0]
        plan = run.plan.settlement
        lines = settle(cut, known, owner.opened.id, owner.cause, plan, now.wall)
        append_lines(paths.settlement, [line.record() for line in lines])
        known = (*known, *(line.record() for line in lines))
    for item in open_ones:
        _end(paths, item, run, start, now)
    first = open_ones[0].opened.id if open_ones else None
    return Settling(len(cut), first, unfinished(survey, finished, known))


def cut_attempts(survey: Survey, finished: Iterable[Mapping[str, object]]) -> tuple[Attempt, ...]:
    """Attempts that were cut: recorded so by the harness, or begun and never ended. Each once, by native id."""
    done = {str(record.get("native_id")) for record in finished}
    done |= {attempt.native_id for attempt in survey.attempts if attempt.finished}
    cut = (*(a for a in survey.attempts if not a.finished), *survey.in_flight)
    by_id: dict[str, Attempt] = {}
    for attempt in cut:
        if attempt.native_id not in done:
            by_id.setdefault(attempt.native_id, attempt)
    return tuple(by_id.values())


def unfinished(
    survey: Survey,
    finished: Iterable[Mapping[str, object]],
    settled: Iterable[Mapping[str, object]],
) -> int | None:
    """How many intended episodes are still to run: no attempt ended by itself, and none was cut for good.

    None while nobody knows the intended ones.
    """
    if survey.intended is None:
        return None
    done = {str(record.get("episode")) for record in finished} | closed_keys(settled)
    done |= {attempt.key for attempt in survey.attempts if attempt.finished}
    return len(set(survey.intended) - done)


def _numbered(cut: Iterable[Attempt], records: Records) -> tuple[Attempt, ...]:
    """A number for each: the adapter's, unless it gave none or the records know another attempt by it."""
    taken: defaultdict[str, set[int]] = defaultdict(set)
    for record in records:
        number = record.get("attempt")
        if isinstance(number, int):
            taken[str(record.get("episode"))].add(number)
    numbered = []
    for attempt in cut:
        known = taken[attempt.key]
        is_free = attempt.number > 0 and attempt.number not in known
        number = attempt.number if is_free else max(known, default=0) + 1
        known.add(number)
        numbered.append(replace(attempt, number=number))
    return tuple(numbered)


def _mark(run: RunRecord, paths: RunPaths, start: Start, session: str, has_cut: bool) -> None:
    """Write the marker that nobody could: the machine went without a word, or the run's processes did."""
    if not has_cut and start.session in ("", session):
        return
    opened = missing_marker(run, paths, start, interruptions(paths).values(), session)
    if opened is not None:
        write_new_record(paths.interruptions / opened.id / "opened.json", opened.record())


def _open(
    paths: RunPaths, marked: Mapping[str, Interruption], session: str, has_cut: bool
) -> list[Interruption]:
    """Interruptions that count and are not settled, oldest first: the run was up for the first of them alone,
    since it never starts before all are settled.

    One that this session still has open is left to whoever is at work on it, unless it did cut something, which only
    the first of them can have done: to settle another is to end its records before they are written.
    """
    found = [item for _, item in sorted(marked.items()) if item.counts]
    waiting = [item for item in found if not is_settled(paths, item.opened.id)]
    return [
        item
        for item in waiting
        if item.closed is not None
        or item.opened.session != session
        or (has_cut and item is waiting[0])
    ]


def _newest_counted(marked: Mapping[str, Interruption]) -> list[Interruption]:
    """For attempts that show only after their interruption was settled."""
    return [item for _, item in sorted(marked.items(), reverse=True) if item.counts]


def _end(paths: RunPaths, item: Interruption, run: RunRecord, start: Start, now: Now) -> None:
    record = {
        "id": item.opened.id,
        "at": stamp(now.wall),
        "policy": run.plan.settlement,
        "start": stamp(start.at),
    }
    write_new_record(paths.interruptions / item.opened.id / "settled.json", record)
