"""From the keys of a run to the files of its tree, as they lay on the guest's disk."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from spoteval.publication.keys import MANIFEST, original, original_path, run_prefix
from spoteval.store.contract import Stored

Segment = tuple[int, int, Stored]
"""Offset, length, object."""

_GENERATION = re.compile(r"(\d+)-(\d+)")
_NUMBER = re.compile(r"(\d+)(\.json)?")
_APART = "heartbeat"
"""Signs of life: in the store for those who operate, not part of the tree."""
_CONFLICTS = "conflicts"


@dataclass(frozen=True, slots=True)
class Published:
    """One attempt in the store. Without a manifest it is not published, whatever parts there are."""

    episode: str
    number: int
    manifest: Stored | None
    parts: tuple[Stored, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """What the keys of a run say. `whole` and `logs` are by path in the tree."""

    attempts: tuple[Published, ...] = ()
    whole: Mapping[str, Stored] = field(default_factory=dict)
    logs: Mapping[str, tuple[Segment, ...]] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    """Attempts that met another's under their name, by what all of their keys begin with: no part of the tree."""


@dataclass(slots=True)
class _Sorted:
    """Keys of one run by kind, while they are read."""

    attempts: dict[tuple[str, int], list[Stored]] = field(default_factory=dict)
    generations: dict[str, dict[tuple[int, ...], Stored]] = field(default_factory=dict)
    logs: dict[tuple[str, str], dict[int, list[Segment]]] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    conflicts: set[str] = field(default_factory=set)


def layout(run: str, objects: Iterable[Stored]) -> Layout:
    """Sort the objects below `runs/<run>/`: newest generations, newest incarnations, attempts with their manifest."""
    found = _Sorted()
    for item in objects:
        words = item.key.removeprefix(run_prefix(run)).split("/")
        if words[0] == _CONFLICTS and len(words) > 4:
            found.conflicts.add(run_prefix(run) + "/".join(words[:4]))
        elif words[0] != _APART and not _take(found, words, item):
            found.unknown.append(item.key)
    return Layout(
        attempts=tuple(
            _published(name, number, items)
            for (name, number), items in sorted(found.attempts.items())
        ),
        whole={path: items[max(items)] for path, items in sorted(found.generations.items())},
        logs=_logs(found.logs),
        unknown=tuple(found.unknown),
        conflicts=tuple(sorted(found.conflicts)),
    )


def tree_path(parts: list[str]) -> str:
    """The path that the parts of a key encode, byte for byte, or the parts themselves where it would leave the tree."""
    path = original_path("/".join(parts))
    inside = all(part not in ("", ".", "..") and "\0" not in part for part in path.split("/"))
    return path if inside else "/".join(parts)


def attempt_folder(item: Published) -> str:
    """Where the files of an attempt lie in the tree: the safe name of the episode is one folder."""
    key = (item.manifest or item.parts[0]).key.split("/")
    return "/".join(["episodes", key[3], str(item.number)])


def _take(found: _Sorted, words: list[str], item: Stored) -> bool:
    """Whether the object is of a kind we know; then it is filed."""
    kind, rest = words[0], words[1:]
    if kind == "episodes" and len(rest) >= 3 and rest[1].isdigit():
        found.attempts.setdefault((original(rest[0]), int(rest[1])), []).append(item)
        return True
    if kind == "log":
        return _take_segment(found, rest, item)
    return _take_whole(found, kind, rest, item)


def _take_whole(found: _Sorted, kind: str, rest: list[str], item: Stored) -> bool:
    path, generation = _whole(kind, rest)
    if path is None:
        return False
    found.generations.setdefault(path, {})[generation] = item
    return True


def _whole(kind: str, rest: list[str]) -> tuple[str | None, tuple[int, ...]]:
    """Path in the tree and generation of a file that is published whole."""
    if kind == "end.json" and not rest:
        return "end.json", ()
    if not rest:
        return None, ()
    number = _NUMBER.fullmatch(rest[-1])
    if kind == "record" and len(rest) == 1 and number:
        return "run.json", (int(number[1]),)
    if kind == "epochs" and len(rest) == 1 and number:
        return f"epochs/{rest[0]}", ()
    if kind == "interruptions" and len(rest) >= 2:
        return tree_path([kind, *rest]), ()
    generation = _GENERATION.fullmatch(rest[-1])
    if kind == "state" and len(rest) >= 2 and generation:
        return tree_path(rest[:-1]), (int(generation[1]), int(generation[2]))
    return None, ()


def _take_segment(found: _Sorted, rest: list[str], item: Stored) -> bool:
    """log/<host>/<name>/<incarnation>/<offset>-<length>, and what begins an incarnation."""
    if len(rest) != 4 or not rest[2].isdigit():
        return False
    span = _GENERATION.fullmatch(rest[3])
    if span is not None:
        name = (rest[0], tree_path([rest[1]]))
        incarnations = found.logs.setdefault(name, defaultdict(list))
        incarnations[int(rest[2])].append((int(span[1]), int(span[2]), item))
    return span is not None or rest[3].endswith(".json")


def _logs(
    found: Mapping[tuple[str, str], Mapping[int, list[Segment]]],
) -> dict[str, tuple[Segment, ...]]:
    """The newest incarnation of each log. Where several hosts wrote a run, each has a folder of its own."""
    hosts = {host for host, _ in found}
    return {
        name if len(hosts) == 1 else f"hosts/{host}/{name}": tuple(
            sorted(incarnations[max(incarnations)], key=lambda segment: segment[:2])
        )
        for (host, name), incarnations in sorted(found.items())
    }


def _published(episode: str, number: int, items: list[Stored]) -> Published:
    manifest = next((item for item in items if item.key.split("/")[5:] == [MANIFEST]), None)
    return Published(episode, number, manifest, tuple(item for item in items if item != manifest))
