"""Finished episodes, several at a time: durable and hashed, meant, put, witnessed, their manifests last.

What has to be durable in between is so for all of them with one write each.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from spoteval.episode import Attempt, Extra, Part
from spoteval.files import append_lines
from spoteval.publication.keys import manifest_key, part_key
from spoteval.publication.manifest import PartEntry, manifest_bytes, witness_line
from spoteval.store.contract import Put, StoreError, StoreRefused
from spoteval_agents.publication_follower.ahead import Ahead
from spoteval_agents.publication_follower.aside import CONFLICT, note_conflict, put_aside
from spoteval_agents.publication_follower.evidence import Below, Evidence
from spoteval_agents.publication_follower.journal import held
from spoteval_agents.publication_follower.lanes import Each, Failed, Lanes, Seldom
from spoteval_agents.publication_follower.numbers import attempt_id
from spoteval_agents.publication_follower.part import take_part
from spoteval_agents.publication_follower.screen import secret_of
from spoteval_agents.publication_follower.sending import Done, Target
from spoteval_agents.publication_follower.work import Begun, Blob, PutEpisode

AWAY_AFTER = 3
"""Errors of the store in a row, of which a batch concludes that it is away."""
_Taken = tuple[Part, str, Evidence]


@dataclass(slots=True)
class _Episode:
    """One of a batch on its way."""

    work: PutEpisode
    taken: list[_Taken]
    earlier: dict[str, tuple[Blob, ...]]
    is_first: bool
    """Whether nothing of it was ever put from here: then what exists is somebody else's."""
    above: frozenset[str]
    """Folders whose names lead to it, which it may share with others of the batch."""
    is_aside: bool = False
    """Whether its name in the store is taken."""
    done: Done = field(default_factory=Done)
    entries: list[PartEntry] = field(default_factory=list)
    line: dict[str, object] = field(default_factory=dict)
    manifest: bytes = b""

    @property
    def attempt(self) -> Attempt:
        """What is published."""
        return self.work.attempt


def publish_batch(
    target: Target, works: Sequence[PutEpisode], lanes: Lanes, go_on: Callable[[], bool]
) -> tuple[list[Done | Failed | None], bool]:
    """Publish fresh episodes; of each what was done, what failed, or None where it was not tried.

    Beside it whether the store seems to be away. Raises OSError where our own journal or witness cannot be written.
    """
    answers: dict[int, Done | Failed | None] = {}
    batch = dict[int, _Episode]()
    for number, found in enumerate(lanes.near(lambda work: _prepared(target, work), works, go_on)):
        if isinstance(found, _Episode):
            batch[number] = found
        else:
            answers[number] = found
    batch = _sync_above(target, batch, answers)
    _begin(target, list(batch.values()))
    away = _Away()
    batch = _sent_parts(target, batch, answers, lanes, go_on, away)
    if batch:
        for item in batch.values():
            extras = [_told(target, extra) for extra in item.attempt.extras]
            item.line = witness_line(target.screen.told(item.attempt), item.entries, extras)
            if item.is_aside:
                item.line = {**item.line, CONFLICT: True}
                note_conflict(target, item.attempt, item.line)
        lines = [item.line for item in batch.values()]
        append_lines(target.paths.finished, lines, alone=True)
    batch = _sent_manifests(target, batch, answers, lanes, go_on)
    for number, item in batch.items():
        answers[number] = item.done
    if batch:
        target.journal.finish(
            target.run,
            [(attempt_id(item.attempt), item.attempt.number) for item in batch.values()],
        )
    return [answers.get(number) for number in range(len(works))], away.times >= AWAY_AFTER


class _NotTried(Exception):
    """The store is away by what others have seen of it."""


def _always() -> bool:
    return True


def _heeding(go_on: Callable[[], bool]) -> Callable[[], bool]:
    """Go on in any case; it is asked all the same, since calls that wait hear through it what is urgent."""

    def asked() -> bool:
        go_on()
        return True

    return asked


def _sent_parts(
    target: Target,
    batch: dict[int, _Episode],
    answers: dict[int, Done | Failed | None],
    lanes: Lanes,
    go_on: Callable[[], bool],
    away: "_Away",
) -> dict[int, _Episode]:
    """The parts of all; what was begun beside others is also ended, without asking again whether there is time."""
    ahead = Ahead(target.store)
    rows = {number: _row(target, item.taken) for number, item in batch.items()}
    begun = ahead.try_rows(rows, Seldom(go_on), lanes.count)
    target = replace(target, store=ahead)

    def act(item: _Episode) -> None:
        _send(target, item, away)

    ended = {number: item for number, item in batch.items() if number in begun}
    fresh = {number: item for number, item in batch.items() if number not in begun}
    passed = _stage(ended, answers, lanes.near, act, _heeding(go_on))
    passed |= _stage(fresh, answers, lanes.each, act, go_on)
    return dict(sorted(passed.items()))


def _row(target: Target, taken: Sequence[_Taken]) -> list[tuple[str, bytes]]:
    """Parts that are put whole, in order; none after one that is not."""
    found = list[tuple[str, bytes]]()
    for _, key, evidence in taken:
        if evidence.secret is not None or key in target.journal.put:
            continue
        if (
            evidence.data is None
            or evidence.blob.size > target.parts_above
            or target.journal.is_taken(key)
        ):
            break
        found.append((key, evidence.data))
    return found


def _sent_manifests(
    target: Target,
    batch: dict[int, _Episode],
    answers: dict[int, Done | Failed | None],
    lanes: Lanes,
    go_on: Callable[[], bool],
) -> dict[int, _Episode]:
    """The manifests of all, whether there is time or not: they make episodes of what is sent already."""
    ahead = Ahead(target.store)
    for item in batch.values():
        item.manifest = manifest_bytes(target.run, item.line)
    rows = {
        number: [] if item.is_aside else [(_manifest_key(target, item), item.manifest)]
        for number, item in batch.items()
    }
    begun = ahead.try_rows(rows, _always, lanes.count)
    target = replace(target, store=ahead)
    each = lanes.near if len(begun) == len(batch) else lanes.each
    return _stage(batch, answers, each, lambda item: _manifest(target, item), _heeding(go_on))


def _stage(
    batch: dict[int, _Episode],
    answers: dict[int, Done | Failed | None],
    each: Each,
    act: Callable[[_Episode], None],
    go_on: Callable[[], bool],
) -> dict[int, _Episode]:
    """One step of all; returns those that took it, and files the answers of the others."""
    items = list(batch.items())
    passed = dict[int, _Episode]()

    def carried(pair: tuple[int, _Episode]) -> int:
        act(pair[1])
        return pair[0]

    found = each(carried, items, go_on)
    for (number, item), answer in zip(items, found, strict=True):
        if isinstance(answer, Failed):
            answers[number] = None if isinstance(answer.error, _NotTried) else answer
        elif answer is None:
            answers[number] = None
        else:
            passed[number] = item
    return passed


def _prepared(target: Target, work: PutEpisode) -> _Episode:
    """All bytes of the episode durable and hashed, and their names durable too, but for those `above`."""
    attempt = work.attempt
    if len({part.name for part in attempt.parts}) < len(attempt.parts):
        raise ValueError(f"{attempt.key}: two parts of one name")
    taken = list[_Taken]()
    with Below(target.paths.root) as below:
        for part in attempt.parts:
            key = part_key(target.run, attempt.key, attempt.number, part.name)
            is_file = part.member is None
            read = below.take(part.path, target.screen) if is_file else take_part(target, part)
            taken.append((part, key, read))
        below.sync()
    earlier = {key: target.journal.intents(key) for _, key, _ in taken}
    is_first = target.journal.is_first(target.run, attempt_id(attempt))
    return _Episode(work, taken, earlier, is_first, below.above)


def _sync_above(
    target: Target, batch: dict[int, _Episode], answers: dict[int, Done | Failed | None]
) -> dict[int, _Episode]:
    """The folders that lead to the episodes, each once for all of them; returns those whose folders are durable."""
    failed = dict[str, Exception]()
    for name in sorted({name for item in batch.values() for name in item.above}):
        try:
            with Below(target.paths.root) as below:
                below.sync_folder(name)
        except (OSError, ValueError) as error:
            failed[name] = error
    for number, item in batch.items():
        for name in item.above & failed.keys():
            answers[number] = Failed(failed[name])
    return {number: item for number, item in batch.items() if not item.above & failed.keys()}


def _begin(target: Target, batch: Sequence[_Episode]) -> None:
    """Numbers and what is meant, on the disk before the first byte is sent."""
    begun = dict[tuple[str, str], Begun]()
    for item in batch:
        meant = [
            (key, evidence.blob)
            for _, key, evidence in item.taken
            if evidence.secret is None
            and key not in target.journal.put
            and evidence.blob not in item.earlier[key]
        ]
        name = attempt_id(item.attempt)
        if meant or (target.run, name) not in target.journal.begun:
            begun[name] = Begun(item.attempt.number, meant)
    target.journal.begin(target.run, begun)


@dataclass(slots=True)
class _Away:
    """How often in a row the store did not answer, for all lanes together."""

    times: int = 0


def _send(target: Target, item: _Episode, away: _Away) -> None:
    """The parts of one episode, one after another."""
    try:
        for taken in item.taken:
            if away.times >= AWAY_AFTER:
                raise _NotTried
            item.entries.append(_entry(taken, _carried(target, item, taken, away)))
    except _Foreign:
        item.is_aside = True
        item.entries = [_entry(taken, taken[2].blob) for taken in item.taken]
    item.done.withheld += [
        f"{entry.name} {secret_of(entry.withheld)}" for entry in item.entries if entry.withheld
    ]
    item.taken.clear()  # its bytes are not needed any more


def _entry(taken: _Taken, found: Blob) -> PartEntry:
    part, _, evidence = taken
    return PartEntry(part.name, found.size, found.sha256, evidence.mode, withheld=evidence.secret)


def _carried(target: Target, item: _Episode, taken: _Taken, away: _Away) -> Blob:
    """One part, sent unless it holds a secret; returns what the store holds of it."""
    _, key, evidence = taken
    if evidence.secret is not None:
        return evidence.blob
    try:
        found = _sent(target, key, evidence, item)
    except StoreError as error:
        away.times += not isinstance(error, StoreRefused)
        raise
    away.times = 0
    return found


class _Foreign(Exception):
    """The store holds bytes under the name of a part that are not known to be ours."""


def _sent(target: Target, key: str, evidence: Evidence, item: _Episode) -> Blob:
    """What was put before a crash stays what the attempt's part is, whatever the harness made of its file since.

    With a lost journal nothing was meant before, and what exists is what this very attempt put.
    """
    known, earlier = target.journal.put.get(key), item.earlier[key]
    if known is None and not target.journal.is_taken(key):
        answer = target.put(key, evidence)
        if not (answer is Put.EXISTS and item.is_first):
            known = held(answer, evidence.blob, earlier or (evidence.blob,))
        item.done.count(answer, evidence.blob)
    if known is None:
        target.journal.taken(key)
        raise _Foreign
    return known


def _manifest_key(target: Target, item: _Episode) -> str:
    return manifest_key(target.run, item.attempt.key, item.attempt.number)


def _manifest(target: Target, item: _Episode) -> None:
    """Written last: from here on the episode is published."""
    if not item.is_aside:
        answer = target.store.put(_manifest_key(target, item), item.manifest)
        item.done.episodes = int(answer.is_ours)
        if answer is Put.EXISTS and item.is_first:
            item.is_aside = True
            note_conflict(target, item.attempt, item.line)
    if item.is_aside:
        put_aside(target, item.attempt, item.line, item.done)


def _told(target: Target, extra: Extra) -> Extra:
    """As a record may tell it: a link's target can hold a secret."""
    found = os.fsencode(extra.target) if extra.target is not None else b""
    secret = target.screen.needles.found_in(found)
    return extra if secret is None else replace(extra, target=f"withheld: {secret_of(secret)}")
