"""Carries out one work at a time: parts first, then the witness, the manifest last."""

from collections.abc import Mapping
from contextlib import suppress

from spoteval.episode import Attempt, Part
from spoteval.publication.keys import manifest_key, part_key
from spoteval.publication.manifest import manifest_bytes, parts_from
from spoteval.shape import Table
from spoteval_agents.publication_follower.aside import is_aside, put_aside
from spoteval_agents.publication_follower.changing import take_state
from spoteval_agents.publication_follower.evidence import Changed, OpenLog, take
from spoteval_agents.publication_follower.growing import publish_log, publish_state
from spoteval_agents.publication_follower.ledger import PUBLISHED
from spoteval_agents.publication_follower.numbers import attempt_id
from spoteval_agents.publication_follower.part import take_part
from spoteval_agents.publication_follower.screen import Withheld, secret_of
from spoteval_agents.publication_follower.sending import Done, Target, send
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
    if isinstance(work, PutEpisode) and work.line is not None:
        return _episode(target, work, work.line)
    if isinstance(work, PutOnce):
        return _once(target, work)
    if isinstance(work, PutLog):
        with OpenLog(work.path, target.paths.root, target.screen) as log:
            if work.is_new:
                log.refuse_secret(0, log.size)
            return publish_log(target, work.name, log, whole=work.is_new)
    if isinstance(work, PutState):
        whole, seen = take_state(target, work.name, work.path)
        whole.refuse_secret()
        return publish_state(target, work.name, whole, seen)
    if isinstance(work, PutWithheld):
        return _again(target, work)
    raise TypeError(f"{work.name}: unknown work")


def _once(target: Target, work: PutOnce) -> Done:
    """What exists under the key is this file: it is never rewritten, and nobody else writes there."""
    done, evidence = Done(), take(work.path, target.paths.root, screen=target.screen)
    evidence.refuse_secret()
    send(target, work.key, evidence, (evidence.blob,), done)
    return done


def _episode(target: Target, work: PutEpisode, line: Mapping[str, object]) -> Done:
    """A line that the witness has is the truth: the manifest is made from it alone."""
    done, attempt = Done(), work.attempt
    if is_aside(target, attempt, line):
        put_aside(target, attempt, line, done)
        target.journal.finish(target.run, [(attempt_id(attempt), attempt.number)])
        return done
    _send_again(target, attempt, line, done)
    key = manifest_key(target.run, attempt.key, attempt.number)
    if not target.journal.ledger(target.run).has(attempt_id(attempt), PUBLISHED):
        answer = target.store.put(key, manifest_bytes(target.run, line))
        done.episodes = int(answer.is_ours)
        target.journal.finish(target.run, [(attempt_id(attempt), attempt.number)])
    return done


def _again(target: Target, work: PutWithheld) -> Done:
    """A part that was withheld is sent once it holds no configured secret any more, if it is the witnessed bytes."""
    done, held = Done(), list[str]()
    parts = {part.name: part for part in work.attempt.parts}
    for entry in work.entries:
        part = parts.get(entry.name)
        evidence = take_part(target, part) if part is not None else None
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


def _send_again(target: Target, attempt: Attempt, line: Mapping[str, object], done: Done) -> None:
    """With a lost journal, ask for the parts again where their files still hold the witnessed bytes.

    Where they do not, the witness is trusted: its line was written after they were put.
    """
    witnessed = {part.name: part for part in parts_from(Table(line, "finished.jsonl"))}
    for part in attempt.parts:
        key, entry = _key(target, attempt, part), witnessed.get(part.name)
        if entry is None or entry.withheld is not None or key in target.journal.put:
            continue
        with suppress(OSError, ValueError, Changed):
            evidence = take_part(target, part)
            if evidence.blob == Blob(entry.sha256, entry.size):
                done.count(target.put(key, evidence), evidence.blob)


def _key(target: Target, attempt: Attempt, part: Part) -> str:
    return part_key(target.run, attempt.key, attempt.number, part.name)
