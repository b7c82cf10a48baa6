"""The plan of work of a pass, and the line about it. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime

from spoteval.decision import Decision
from spoteval.episode import Attempt, attempt_from
from spoteval.event import NEEDS_YOU, Event
from spoteval.publication.keys import (
    end_key,
    interruption_key,
    manifest_key,
    part_key,
    record_key,
)
from spoteval.publication.manifest import PartEntry, parts_from
from spoteval.publication.own import Manner
from spoteval.shape import ShapeError, Table
from spoteval_agents.publication_follower.numbers import attempt_id, numbers
from spoteval_agents.publication_follower.work import (
    AttemptId,
    Kind,
    Known,
    OnDisk,
    Outcome,
    Plan,
    PutEpisode,
    PutLog,
    PutOnce,
    PutState,
    PutWithheld,
    Seen,
    Work,
    withheld_name,
)

AGENT = "publication-follower"
SMALL_BYTES = 1 << 20
"""Salvage up to this size is published as it appears, more of it with the final pass, or when its folder is over."""


def plan(seen: Seen, known: Known) -> Plan:
    """Everything of the run that is not published yet, in the order in which it goes.

    Records and markers, finished episodes smallest first, logs, salvage, state files; what failed last time comes
    after all else, so that it blocks nothing.
    """
    works = [*_own(seen, known), *_episodes(seen, known), *_harness_state(seen, known)]
    works.sort(key=lambda work: (work.name in known.failed, _rank(work), work.size, work.name))
    return Plan(tuple(works), (*seen.complaints, *_rewritten(seen, known)))


def chosen(works: tuple[Work, ...], kind: Kind, is_over: bool) -> tuple[Work, ...]:
    """What a pass of this kind takes on. `is_over`: the run has ended, its files change no more."""
    return tuple(work for work in works if _is_due(work, kind, is_over))


def decide(outcome: Outcome, away_s: float | None) -> Decision:
    """The line of a pass. `away_s`: how long nothing could be published until now, None where all was well."""
    pairs = {
        "episodes": outcome.episodes,
        "files": outcome.files,
        "bytes": outcome.bytes,
        "backlog": outcome.backlog,
        "withheld": len(outcome.withheld),
        "requests": outcome.requests,
        "took_ms": round(outcome.took_s * 1000),
    }
    if outcome.audit_ms is not None:
        pairs["audit_ms"] = outcome.audit_ms
    return Decision(_word(outcome), pairs, why=_why(outcome, away_s), agent=AGENT)


def nothing(word: str, why: str) -> Decision:
    """The line of a cycle that may not publish at all."""
    return Decision(word, why=why, agent=AGENT)


def unclaimed(left: int) -> Decision:
    """The line while this boot has not claimed an epoch: two machines may hold the same disk.

    `left`: finished episodes that are not published.
    """
    why = "nothing is published until this boot has claimed the run's next epoch"
    return Decision("wait", {"stage": "epoch", "left": left}, why=why, agent=AGENT)


def stuck(outcome: Outcome, failing_s: float, instance: str, session: str, at: datetime) -> Event:
    """The call for a person: what fails, since when, and what lies on the disk alone."""
    first = outcome.errors[0] if outcome.errors else "unknown"
    reason = (
        f"publication stuck {failing_s / 60:.0f} min: {first}; "
        f"{outcome.left} episodes only on the disk"
    )
    return _call(reason, instance, session, at)


def altered(what: str, instance: str, session: str, at: datetime) -> Event:
    """The call for a person about a file that is not any more what was published of it."""
    reason = f"{what}; what is published stays as it was (spoteval verify compares)"
    return _call(reason, instance, session, at)


def withheld(name: str, why: str, instance: str, session: str, at: datetime) -> Event:
    """The call for a person. It names file and credential, never the secret."""
    reason = f"withheld: {name} {why} (replace the key, then restart the follower: docs/secrets.md)"
    return _call(reason, instance, session, at)


def conflicting(prefix: str, instance: str, session: str, at: datetime) -> Event:
    """The call for a person about an attempt whose name in the store somebody else has."""
    return _call(conflict_text(prefix), instance, session, at)


def conflict_text(prefix: str) -> str:
    """What a person should know of an attempt that was put below `prefix`."""
    _, _, _, episode, attempt, _ = prefix.rstrip("/").split("/")
    taken = f"episodes/{episode}/{attempt} in the store has bytes that were not put from here"
    return f"conflict: {taken}; ours are in {prefix} (docs/publication.md)"


def _call(reason: str, instance: str, session: str, at: datetime) -> Event:
    plain = "".join(char if char.isprintable() else "?" for char in reason)
    return Event(at, NEEDS_YOU, AGENT, instance, session=session, reason=plain)


def _word(outcome: Outcome) -> str:
    if outcome.episodes or outcome.files:
        return "published"
    if outcome.away:
        return "store-away"
    if outcome.errors:
        return "failed"
    return "rebuilt" if outcome.requests else "idle"


def _why(outcome: Outcome, away_s: float | None) -> str | None:
    """The sentence for people: what failed first, then what they should know, then good news."""
    said = [*outcome.errors, *outcome.complaints]
    if said:
        more = f" (and {len(said) - 1} more)" if len(said) > 1 else ""
        return f"{said[0]}{more}"
    if away_s is not None:
        return f"publishing again after {away_s:.0f} s"
    if _word(outcome) == "rebuilt":
        return "the journal did not know what the store has already; nothing was published twice"
    return None


def _is_due(work: Work, kind: Kind, is_over: bool) -> bool:
    if kind is Kind.LAST:
        return isinstance(work, PutLog) or (isinstance(work, PutOnce) and not work.is_bulk)
    if kind is Kind.FINAL or is_over:
        return True
    if isinstance(work, PutState) and work.of_harness:
        return kind is Kind.REGULAR and not work.is_early
    return not (isinstance(work, PutOnce) and work.is_bulk)


def _rank(work: Work) -> int:
    """Where a work stands: what says most about the run goes first, what is largest and least urgent last."""
    if isinstance(work, PutOnce):
        return 3 if _is_salvage(work.name) else 0
    if isinstance(work, PutWithheld):
        return 3
    return 1 if isinstance(work, PutEpisode) else 2 if isinstance(work, PutLog) else 4


def _is_salvage(name: str) -> bool:
    return name.split("/")[2:3] == ["salvage"]


def _own(seen: Seen, known: Known) -> Iterator[Work]:
    for file in seen.own:
        if file.manner in (Manner.RECORD, Manner.ONCE):
            key = _once_key(seen, file)
            if key not in known.put and not _is_growing(seen, file) and not _is_held(known, file):
                yield PutOnce(file.name, file.ident.size, key, file.path, _is_bulk(seen, file))
        elif known.read.get(file.name) != file.ident and not _is_held(known, file):
            if file.manner is Manner.LOG:
                known_inode = known.read[file.name].inode if file.name in known.read else None
                is_new = known_inode != file.ident.inode
                yield PutLog(file.name, file.ident.size, file.path, is_new)
            else:
                yield PutState(file.name, file.ident.size, file.path)


def _is_bulk(seen: Seen, file: OnDisk) -> bool:
    """Salvage that can wait, and may still be written to."""
    large = _is_salvage(file.name) and file.ident.size > SMALL_BYTES
    return large and file.name.split("/")[1] not in seen.over


def _once_key(seen: Seen, file: OnDisk) -> str:
    if file.manner is Manner.RECORD:
        return record_key(seen.run, seen.generation)
    folder, _, rest = file.name.partition("/")
    if folder == "interruptions":
        interruption, _, name = rest.partition("/")
        return interruption_key(seen.run, interruption, name)
    return end_key(seen.run)


def _is_growing(seen: Seen, file: OnDisk) -> bool:
    """A log inside an interruption is one object, so it waits until nobody appends to it."""
    parts = file.name.split("/")
    of_interruption = parts[0] == "interruptions" and len(parts) == 3
    return of_interruption and parts[2].endswith(".jsonl") and parts[1] not in seen.over


def _rewritten(seen: Seen, known: Known) -> Iterator[str]:
    """Files that are never rewritten, and were: the published bytes stay."""
    for file in seen.own:
        if file.manner in (Manner.RECORD, Manner.ONCE):
            put = known.put.get(_once_key(seen, file))
            if put is not None and put.size != file.ident.size:
                yield f"{file.name}: changed after it was published ({put.size} bytes then)"


def _harness_state(seen: Seen, known: Known) -> Iterator[Work]:
    for file in seen.state:
        if known.read.get(file.name) != file.ident and not _is_held(known, file):
            is_early = file.name in known.recent
            yield PutState(
                file.name, file.ident.size, file.path, of_harness=True, is_early=is_early
            )


def _is_held(known: Known, file: OnDisk) -> bool:
    """Whether the file as it is now was withheld; a changed one is looked at again."""
    held = known.held.get(file.name)
    return held is not None and held.ident == file.ident


def _episodes(seen: Seen, known: Known) -> Iterator[Work]:
    """Finished attempts without a manifest in the store: those on the disk, and those of which only the witness is."""
    lines, on_disk = _lines(seen), _finished(seen)
    for name, number in numbers(seen, known).items():
        attempt, line = replace(on_disk[name], number=number), lines.pop(name, None)
        yield from _unpublished(seen, known, attempt, line)
        yield from _withheld_before(seen, known, attempt, line)
    for line in lines.values():
        witnessed = attempt_from(line)
        if isinstance(witnessed, Attempt):
            yield from _unpublished(seen, known, witnessed, line)


def _unpublished(
    seen: Seen, known: Known, attempt: Attempt, line: Mapping[str, object] | None
) -> Iterator[Work]:
    """A published attempt whose witness line was lost is witnessed again: by these lines a run is complete."""
    published = _is_published(seen, known, attempt)
    if line is None or not published:
        size = seen.sizes.get(attempt_id(attempt), 0)
        yield PutEpisode(f"{attempt.key} attempt {attempt.number}", size, attempt, line)


def _is_published(seen: Seen, known: Known, attempt: Attempt) -> bool:
    key = manifest_key(seen.run, attempt.key, attempt.number)
    return known.is_published(attempt_id(attempt)) or key in known.put


def _withheld_before(
    seen: Seen, known: Known, attempt: Attempt, line: Mapping[str, object] | None
) -> Iterator[Work]:
    """What an earlier process withheld of a published attempt: the secrets may be others by now."""
    name = f"{attempt.key} attempt {attempt.number}"
    published = _is_published(seen, known, attempt)
    if line is None or not published or withheld_name(name) in known.held:
        return
    missing = tuple(
        part
        for part in _lacking(line)
        if part_key(seen.run, attempt.key, attempt.number, part.name) not in known.put
    )
    if missing:
        size = sum(part.size for part in missing)
        yield PutWithheld(withheld_name(name), size, attempt, missing)


def _lacking(line: Mapping[str, object]) -> tuple[PartEntry, ...]:
    """The parts that were withheld when the line was written. Most lines have none: they are not read whole."""
    parts = line.get("parts")
    raw = parts if isinstance(parts, list) else []
    if not any(isinstance(part, dict) and part.get("withheld") for part in raw):
        return ()
    try:
        entries = parts_from(Table(line, "finished.jsonl"))
    except ShapeError:
        return ()
    return tuple(part for part in entries if part.withheld is not None)


def _finished(seen: Seen) -> dict[AttemptId, Attempt]:
    found = dict[AttemptId, Attempt]()
    for attempt in seen.attempts:
        if attempt.finished:
            found.setdefault(attempt_id(attempt), attempt)
    return found


def _lines(seen: Seen) -> dict[AttemptId, Mapping[str, object]]:
    found = dict[AttemptId, Mapping[str, object]]()
    for line in seen.witness:
        found.setdefault((str(line.get("episode")), str(line.get("native_id"))), line)
    return found
