"""What the product's own readers make of a disk after a power cut, and what the store knew by then."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

from spoteval.control.boot import recorded_boot
from spoteval.control.enders import enders
from spoteval.control.ending import read_end
from spoteval.control.runfiles import (
    active_run,
    interruptions,
    over,
    progress,
    read_intended,
    read_run,
)
from spoteval.files import read_lines, read_record
from spoteval.harness.registry import adapter
from spoteval.paths import DurablePaths, RunPaths
from spoteval.publication.keys import original, part_key
from spoteval.run import RunRecord
from spoteval.shape import Table, Unreadable
from spoteval_agents.publication_follower.journal import Journal

CACHES = ("publication", "decisions", "requests", "busy", "spare")
"""Below these, a file that cannot be read is read as `no state`: what is lost with it is asked again. In `spare` lies
space for the next marker, which is no record yet."""


@dataclass(frozen=True, slots=True)
class Published:
    """One object of the store: when it was there, in nanoseconds, and its bytes."""

    key: str
    at_ns: int
    data: bytes


Memo = dict[bytes, tuple[tuple[str, ...], frozenset[str]]]
"""What a reader made of these very bytes: states differ in few files, and a reader says the same of the same."""


@dataclass(slots=True)
class Reader:
    """Reads one disk after the other."""

    url: str
    stored_alone: int = 0
    """Witnessed episodes, summed over all disks, of which the store alone had the evidence."""
    _memo: Memo = field(default_factory=dict)

    def problems(self, disk: DurablePaths, run: str, store: Mapping[str, Published]) -> list[str]:
        """Everything that is wrong with this disk, in words; empty where every record is read and nothing is denied.

        `store`: what was there before the power went.
        """
        if not disk.root.exists():
            return [f"published, and the disk is empty: {key}" for key in store]
        paths = disk.run(run)
        found = [*_files(disk), *_records(disk), *_run(paths), *_denied(paths, run, store)]
        for path in sorted(disk.publication.glob("*.jsonl")):
            found += self._known(path, partial(_journal, path, self.url))[0]
        record = read_run(paths)
        if isinstance(record, RunRecord):
            wrong, ended = self._known(paths.work, partial(_harness, paths, record))
            found += [*wrong, *self._lost(paths, record, ended, store)]
        return found

    def _lost(
        self,
        paths: RunPaths,
        record: RunRecord,
        ended: frozenset[str],
        store: Mapping[str, Published],
    ) -> Iterator[str]:
        """Every witnessed episode has its evidence on the disk, or in the store and does not begin again."""
        lines = [
            line for line in read_lines(paths.finished).records if line["episode"] not in ended
        ]
        if not lines:
            return
        begins = _begins_again(record, paths)
        for line in lines:
            key = str(line["episode"])
            if begins(key):
                yield f"finished, and would be run again: {key}"
            elif not all(_is_stored(record.name, line, part, store) for part in _parts(line)):
                yield f"finished, and its evidence is gone: {key}"
            else:
                self.stored_alone += 1

    def _known(
        self, place: Path, read: Callable[[], tuple[tuple[str, ...], frozenset[str]]]
    ) -> tuple[tuple[str, ...], frozenset[str]]:
        key = _digest(place)
        if key not in self._memo:
            self._memo[key] = read()
        return self._memo[key]


def _files(disk: DurablePaths) -> Iterator[str]:
    """Every JSON file and every file of lines, whoever wrote it. A name that begins with a dot is half-written."""
    for path in sorted(disk.root.rglob("*")):
        place = path.relative_to(disk.root)
        half = any(part.startswith(".") for part in place.parts)
        if "work" in place.parts or half or not path.is_file():
            continue
        is_cache = place.parts[0] in CACHES
        if path.suffix == ".json" and not is_cache and not isinstance(read_record(path), Table):
            yield f"{place}: unreadable ({path.stat().st_size} bytes)"
        elif path.suffix == ".jsonl":
            yield from _lines(path, str(place), is_cache)


def _lines(path: Path, place: str, is_cache: bool) -> Iterator[str]:
    """At most the last line may be torn: it was being written."""
    count = path.read_bytes().count(b"\n") + 1
    torn = [number for number in read_lines(path).torn if number < count - 1]
    if torn and not is_cache:
        yield f"{place}: torn before its end, lines {torn}"


def _records(disk: DurablePaths) -> Iterator[str]:
    """What the agents read when they start."""
    if disk.active.exists() and isinstance(found := active_run(disk), Unreadable):
        yield f"active: {found.why}"
    if disk.boot.exists() and isinstance(boot := recorded_boot(disk), Unreadable):
        yield f"boot: {boot.why}"
    if isinstance(intents := enders(disk.enders), Unreadable):
        yield f"enders: {intents.why}"
    if isinstance(sentinel := read_record(disk.sentinel), Unreadable):
        yield f"sentinel: {sentinel.why}"


def _run(paths: RunPaths) -> Iterator[str]:
    """The run by its readers: record, intended, progress, markers, the harness's own files."""
    if not paths.record.exists():
        return
    record = read_run(paths)
    if isinstance(record, Unreadable):
        yield f"run record: {record.why}"
        return
    for found in (read_intended(paths), progress(paths), read_end(paths)):
        if isinstance(found, Unreadable):
            yield found.why
    for folder in paths.interruptions.iterdir() if paths.interruptions.is_dir() else ():
        if (folder / "opened.json").exists() and folder.name not in interruptions(paths):
            yield f"interruption {folder.name}: its marker cannot be read"


def _journal(path: Path, url: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """The follower's journal, as it starts."""
    return tuple(_raised(partial(Journal, path, url), f"publication/{path.name}")), frozenset()


def _harness(paths: RunPaths, record: RunRecord) -> tuple[tuple[str, ...], frozenset[str]]:
    """The harness's files, mended as before a start: what is wrong with them, and which episodes have ended."""
    harness = adapter(record.plan.harness)
    wrong = list(_raised(partial(harness.prepare, record, paths.work), "prepare"))
    survey = harness.survey(record, paths.work)
    wrong += [f"harness: {why}" for why in survey.unreadable]
    ended = (item.key for item in (*survey.attempts, *survey.pending) if item.outcome is not None)
    return tuple(wrong), frozenset(ended)


def _begins_again(record: RunRecord, paths: RunPaths) -> Callable[[str], bool]:
    """Which episodes the harness would begin, were it started now as boot-resume starts it."""
    argv = adapter(record.plan.harness).command(record, paths.work, over(paths)).argv
    if "--sample-id" not in argv:
        return lambda _: True
    patterns = argv[argv.index("--sample-id") + 1].split(",")
    return lambda key: any(
        fnmatchcase(key.split("/")[1], one.rpartition(":")[2]) for one in patterns
    )


def _parts(line: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return [part for part in line["parts"] if not part.get("withheld")]


def _is_stored(
    run: str, line: Mapping[str, Any], part: Mapping[str, Any], store: Mapping[str, Published]
) -> bool:
    """Byte for byte as the witness has it."""
    item = store.get(part_key(run, line["episode"], line["attempt"], part["name"]))
    return item is not None and hashlib.sha256(item.data).hexdigest() == part["sha256"]


def _digest(place: Path) -> bytes:
    """Of a file, or of everything below a folder, by name and bytes."""
    files = (
        [place] if place.is_file() else sorted(path for path in place.rglob("*") if path.is_file())
    )
    whole = hashlib.sha256(str(place.name).encode())
    for path in files:
        data = path.read_bytes()
        whole.update(f"{path.relative_to(place.parent)}\0{len(data)}\0".encode())
        whole.update(data)
    return whole.digest()


def _denied(paths: RunPaths, run: str, store: Mapping[str, Published]) -> Iterator[str]:
    """What the store had and this disk does not know of."""
    witnessed = {str(line.get("episode")) for line in read_lines(paths.finished).records}
    for key, item in store.items():
        words = key.removeprefix(f"runs/{run}/").split("/")
        if words[0] == "episodes" and words[-1] == "MANIFEST.json":
            if original(words[1]) not in witnessed:
                yield f"published, and no witness on the disk: {original(words[1])}"
        elif words[0] == "log" and "-" in words[-1]:
            offset, _, length = words[-1].partition("-")
            yield from _segment(paths.root / original(words[2]), int(offset), int(length), item)
        elif words[0] == "interruptions":
            yield from _same(paths.root / "/".join(map(original, words)), key, item)


def _segment(path: Path, offset: int, length: int, item: Published) -> Iterator[str]:
    try:
        with path.open("rb") as file:
            file.seek(offset)
            data = file.read(length)
    except OSError:
        data = b""
    if data != item.data:
        yield f"published, and other bytes on the disk: {path.name} at {offset}"


def _same(path: Path, key: str, item: Published) -> Iterator[str]:
    try:
        same = hashlib.sha256(path.read_bytes()).digest() == hashlib.sha256(item.data).digest()
    except OSError:
        same = False
    if not same:
        yield f"published, and not so on the disk: {key}"


def _raised(read: Callable[[], object], what: str) -> Iterator[str]:
    try:
        read()
    except Exception as error:  # noqa: BLE001  whatever a reader raises for these bytes is what is looked for
        yield f"{what}: {type(error).__name__}: {error}"
