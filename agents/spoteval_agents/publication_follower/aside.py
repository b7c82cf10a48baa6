"""An attempt whose name in the store somebody else has: its bytes go beside it, and nothing is overwritten or merged.

Two machines that both believe in one disk, or a bucket that two runs of one name share, publish the same attempt. Who
comes second is answered 412. Where the journal tells that nothing of the attempt was ever meant from here, or that
nobody can know which of several contents the store has, the attempt goes whole below `conflicts/`, by the digest of its
manifest: the same bytes whenever they are put, so that what exists there is them.
"""

import hashlib
from collections.abc import Mapping
from contextlib import suppress

from spoteval.episode import Attempt
from spoteval.publication.keys import MANIFEST, conflict_prefix, part_tail
from spoteval.publication.manifest import manifest_bytes, parts_from
from spoteval.shape import Table
from spoteval_agents.publication_follower.numbers import attempt_id
from spoteval_agents.publication_follower.part import take_part
from spoteval_agents.publication_follower.sending import Done, Target
from spoteval_agents.publication_follower.work import Blob

CONFLICT = "conflict"
"""In a witness line: this attempt goes beside its name, also should the journal be lost."""


def note_conflict(target: Target, attempt: Attempt, line: Mapping[str, object]) -> None:
    """Write down, durable, that this attempt goes beside its name: also where this process ends before it did."""
    digest = hashlib.sha256(manifest_bytes(target.run, line)).hexdigest()
    prefix = conflict_prefix(target.run, attempt.key, attempt.number, digest)
    target.journal.conflict(target.run, attempt_id(attempt), prefix)


def is_aside(target: Target, attempt: Attempt, line: Mapping[str, object]) -> bool:
    """Whether this attempt goes beside its name: the journal says so, or its line, which outlives the journal."""
    if (target.run, attempt_id(attempt)) in target.journal.conflicts:
        return True
    if line.get(CONFLICT) is True:
        note_conflict(target, attempt, line)
        return True
    return False


def put_aside(target: Target, attempt: Attempt, line: Mapping[str, object], done: Done) -> None:
    """Put what the witness line names, the manifest last. Raises StoreError, OSError, Changed, ValueError.

    A part that is not any more what was witnessed is left out: the manifest tells what it was.
    """
    prefix = target.journal.conflicts[target.run, attempt_id(attempt)]
    parts = {part.name: part for part in attempt.parts}
    for entry in parts_from(Table(line, "finished.jsonl")):
        if entry.withheld is not None or entry.name not in parts:
            continue
        with suppress(FileNotFoundError):
            evidence = take_part(target, parts[entry.name])
            if evidence.blob == Blob(entry.sha256, entry.size):
                done.count(target.put(prefix + part_tail(entry.name), evidence), evidence.blob)
    done.files += target.store.put(prefix + MANIFEST, manifest_bytes(target.run, line)).is_ours
