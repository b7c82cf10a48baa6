"""A cut held against the store of its instant, and against the end to which its run was carried."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from power.episodes import answer
from power.guest import RUN
from power.reading import Digests, Disk, digest
from spoteval.publication.keys import attempt_prefix, manifest_key
from spoteval.publication.manifest import manifest_bytes, manifest_from
from spoteval.shape import Unreadable

Objects = Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Attempt:
    """A published attempt: where it lies, its manifest, and its parts by sha256 as the manifest says."""

    key: str
    number: int
    manifest: bytes
    parts: Digests


def published(objects: Objects) -> dict[str, Attempt]:
    """Every finished attempt with a manifest, by its episode. Raises ValueError for one that nobody can read."""
    found: dict[str, Attempt] = {}
    for name, data in objects.items():
        words = name.split("/")
        if words[:2] != ["runs", RUN] or words[-1] != "MANIFEST.json" or words[2] != "episodes":
            continue
        manifest = manifest_from(data, name)
        if isinstance(manifest, Unreadable):
            raise ValueError(manifest.why)
        if manifest.attempt.outcome is None or not manifest.attempt.outcome.by_itself:
            continue
        parts = {part.name: part.sha256 for part in manifest.parts}
        found[words[3]] = Attempt(words[3], int(words[4]), data, parts)
    return found


def denied(disk: Disk, objects: Objects) -> Iterator[str]:
    """What the store holds of episodes and the disk does not: a power cut must not take back what was published."""
    for key, attempt in published(objects).items():
        line = disk.witness.get(key)
        if line is None:
            yield f"episode {key}: published, the disk has no witness of it"
        elif manifest_bytes(RUN, line) != attempt.manifest:
            yield f"episode {key}: its manifest differs from the disk's witness"
        yield from _parts_denied(disk, attempt)
    yield from _loose(disk, objects)


def _parts_denied(disk: Disk, attempt: Attempt) -> Iterator[str]:
    own = disk.ended.get(attempt.key, {})
    for name, sha256 in attempt.parts.items():
        if own.get(name) != sha256:
            yield f"episode {attempt.key}: {name} is published, the disk has other bytes or none"


def _loose(disk: Disk, objects: Objects) -> Iterator[str]:
    """Parts that were sent before their manifest: the disk has to know of the end of their episode, and the bytes."""
    for name, data in objects.items():
        words = name.split("/", 5)
        if words[:3] != ["runs", RUN, "episodes"] or words[-1] == "MANIFEST.json":
            continue
        key, part = words[3], words[5]
        if f"{attempt_prefix(RUN, key, int(words[4]))}MANIFEST.json" in objects:
            continue
        own = disk.ended.get(key)
        if own is None:
            yield f"episode {key}: {part} was sent, the disk knows nothing of its end"
        elif own.get(part) != digest(data):
            yield f"episode {key}: {part} was sent, the disk has other bytes or none"


def lost(before: Disk, objects: Objects) -> Iterator[str]:
    """Finished episodes of the cut disk that the end does not have, or has otherwise."""
    after = published(objects)
    for key, line in before.witness.items():
        if key not in after:
            yield f"episode {key}: finished before the cut, not published at the end"
        elif after[key].manifest != manifest_bytes(RUN, line):
            yield f"episode {key}: another manifest than the witness had before the cut"


def altered(objects: Objects, intended: int) -> Iterator[str]:
    """Published episodes whose bytes are not what the program writes; or that are not there."""
    found = published(objects)
    for key in (str(number) for number in range(1, intended + 1)):
        attempt = found.get(key)
        if attempt is None:
            yield f"episode {key}: not published"
            continue
        data = objects.get(attempt_prefix(RUN, key, attempt.number) + "answer")
        if data != answer(key):
            yield f"episode {key}: {manifest_key(RUN, key, attempt.number)}: its answer is not the program's"
