"""Carries out one work at a time: parts first, then the witness, the manifest last."""

from collections.abc import Mapping
from contextlib import suppress
from functools import partial

from spoteval.episode import Attempt, Part
from spoteval.files import append_line
from spoteval.publication.keys import manifest_key, part_key, safe_path
from spoteval.publication.manifest import PartEntry, manifest_bytes, parts_from, witness_line
from spoteval.shape import Table
from spoteval.store.contract import StoreError
from spoteval_agents.publication_follower.evidence import Changed, Evidence, take
from spoteval_agents.publication_follower.growing import publish_log, publish_state
from spoteval_agents.publication_follower.numbers import attempt_id
from spoteval_agents.publication_follower.screen import Withheld, secret_of
from spoteval_agents.publication_follower.sending import Done, Target, send, send_known
from spoteval_agents.publication_follower.work import (
    Blob,
    PutEpisode,
    PutLog,
    PutOnce,
    PutState,
    PutWithheld,
    Work,
)


def carry(target: Target, work: Work) -> Done:
    """Publish one thing. Raises OSError, StoreError, Changed, ValueError: then it waits for the next pass."""
    if isinstance(work, PutEpisode):
        return _episode(target, work)
    if isinstance(work, PutOnce):
        return _once(target, work)
    if isinstance(work, PutLog):
        # In memory, however large.
        whole = take(work.path, target.paths.root, work.path.read_bytes, target.screen)
        whole.refuse_secret()
        return publish_log(target, work.name, whole)
    if isinstance(work, PutState):
        whole = take(work.path, target.paths.root, screen=target.screen)
        whole.refuse_secret()
        return publish_state(target, work.name, whole)
    if isinstance(work, PutWithheld):
        return _again(target, work)
    raise TypeError(f"{work.name}: unknown work")


def _once(target: Target, work: PutOnce) -> Done:
    """What exists under the key is this file: it is never rewritten, and nobody else writes there."""
    done, evidence = Done(), take(work.path, target.paths.root, screen=target.screen)
    evidence.refuse_secret()
    send(target, work.key, evidence, (evidence.blob,), done)
    return done


def _episode(target: Target, work: PutEpisode) -> Done:
    """Parts, witness, manifest. A line that the witness has is the truth: the manifest is made from it alone."""
    done, attempt = Done(), work.attempt
    if work.line is None:
        entries = _send_parts(target, attempt, done)
        line: Mapping[str, object] = witness_line(target.screen.told(attempt), entries)
        append_line(target.paths.finished, line)
    else:
        line = work.line
        _send_again(target, attempt, line, done)
    key = manifest_key(target.run, attempt.key, attempt.number)
    if key not in target.journal.put:
        answer = send_known(target, key, manifest_bytes(target.run, line))
        done.episodes = int(answer.is_ours)
    return done


def _send_parts(target: Target, attempt: Attempt, done: Done) -> list[PartEntry]:
    """All bytes are durable and hashed before the first is sent. Returns what the store holds under each name."""
    if len({part.name for part in attempt.parts}) < len(attempt.parts):
        raise ValueError(f"{attempt.key}: two parts of one name")
    taken = [(part, _key(target, attempt, part), _take(target, part)) for part in attempt.parts]
    earlier = {key: target.journal.intents(key) for _, key, _ in taken}
    meant = [
        (key, item.blob)
        for _, key, item in taken
        if item.secret is None and key not in target.journal.put and item.blob not in earlier[key]
    ]
    target.journal.give_number(target.run, attempt_id(attempt), attempt.number, meant)
    entries = []
    for part, key, item in taken:
        if item.secret is None:
            found = _send_part(target, key, item, earlier[key], done)
        else:
            found = item.blob
            done.withheld.append(f"{_name(part)} {secret_of(item.secret)}")
        entries.append(
            PartEntry(_name(part), found.size, found.sha256, item.mode, withheld=item.secret)
        )
    return entries


def _again(target: Target, work: PutWithheld) -> Done:
    """A part that was withheld is sent once it holds no configured secret any more, if it is the witnessed bytes."""
    done, held = Done(), list[str]()
    parts = {_name(part): part for part in work.attempt.parts}
    for entry in work.entries:
        part = parts.get(entry.name)
        evidence = _take(target, part) if part is not None else None
        if part is None or evidence is None or evidence.blob != Blob(entry.sha256, entry.size):
            held.append(f"{entry.name} is not what it was when it was withheld")
        elif evidence.secret is not None:
            held.append(f"{entry.name} {secret_of(evidence.secret)}")
        else:
            key = _key(target, work.attempt, part)
            if evidence.blob not in target.journal.intents(key):
                target.journal.intend([(key, evidence.blob)])
            send(target, key, evidence, (evidence.blob,), done)
    if held:
        raise Withheld("; ".join(held))
    return done


def _send_part(
    target: Target, key: str, evidence: Evidence, earlier: tuple[Blob, ...], done: Done
) -> Blob:
    """What was put before a crash stays what the attempt's part is, whatever the harness made of its file since."""
    known = target.journal.put.get(key)
    if known is None and not target.journal.is_taken(key):
        # With a lost journal nothing was meant before, and what exists is what this very attempt put.
        known = send(target, key, evidence, earlier or (evidence.blob,), done)
    if known is None:
        raise StoreError(f"{target.store.url}/{key}: holds bytes that are not known to be ours")
    return known


def _send_again(target: Target, attempt: Attempt, line: Mapping[str, object], done: Done) -> None:
    """With a lost journal, ask for the parts again where their files still hold the witnessed bytes.

    Where they do not, the witness is trusted: its line was written after they were put.
    """
    witnessed = {part.name: part for part in parts_from(Table(line, "finished.jsonl"))}
    for part in attempt.parts:
        key, entry = _key(target, attempt, part), witnessed.get(_name(part))
        if entry is None or entry.withheld is not None or key in target.journal.put:
            continue
        with suppress(OSError, ValueError, Changed):
            evidence = _take(target, part)
            if evidence.blob == Blob(entry.sha256, entry.size):
                send(target, key, evidence, (evidence.blob,), done)


def _take(target: Target, part: Part) -> Evidence:
    read = None if part.member is None else partial(target.read_part, part)
    return take(part.path, target.paths.root, read, target.screen)


def _key(target: Target, attempt: Attempt, part: Part) -> str:
    return part_key(target.run, attempt.key, attempt.number, _name(part))


def _name(part: Part) -> str:
    """Its name as text: what cannot stand in a record is percent-encoded, so that it blocks no episode."""
    try:
        part.name.encode()
    except UnicodeEncodeError:
        return safe_path(part.name)
    return part.name
