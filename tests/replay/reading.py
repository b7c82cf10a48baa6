"""What the product's own readers make of a disk after a power cut, and what the store knew by then."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from spoteval.control.boot import recorded_boot
from spoteval.control.enders import enders
from spoteval.control.ending import read_end
from spoteval.control.runfiles import (
    active_run,
    interruptions,
    progress,
    read_intended,
    read_run,
)
from spoteval.files import read_lines, read_record
from spoteval.harness.registry import adapter
from spoteval.paths import DurablePaths, RunPaths
from spoteval.publication.keys import original
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


def problems(disk: DurablePaths, run: str, store: Mapping[str, Published], url: str) -> list[str]:
    """Everything that is wrong with this disk, in words; empty where every record is read and nothing is denied.

    `store`: what was there before the power went.
    """
    if not disk.root.exists():
        return [f"published, and the disk is empty: {key}" for key in store]
    return [
        *_files(disk),
        *_records(disk, url),
        *_run(disk.run(run)),
        *_denied(disk.run(run), run, store),
    ]


def _files(disk: DurablePaths) -> Iterator[str]:
    """Every JSON file and every file of lines, whoever wrote it. A name that begins with a dot is half-written."""
    for path in sorted(disk.root.rglob("*")):
        place = path.relative_to(disk.root)
        if "work" in place.parts or place.name.startswith(".") or not path.is_file():
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


def _records(disk: DurablePaths, url: str) -> Iterator[str]:
    """What the agents read when they start."""
    if disk.active.exists() and isinstance(found := active_run(disk), Unreadable):
        yield f"active: {found.why}"
    if disk.boot.exists() and isinstance(boot := recorded_boot(disk), Unreadable):
        yield f"boot: {boot.why}"
    if isinstance(intents := enders(disk.enders), Unreadable):
        yield f"enders: {intents.why}"
    if isinstance(sentinel := read_record(disk.sentinel), Unreadable):
        yield f"sentinel: {sentinel.why}"
    for path in disk.publication.glob("*.jsonl"):
        yield from _raised(partial(Journal, path, url), f"publication/{path.name}")


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
    yield from _harness(paths, record)


def _harness(paths: RunPaths, record: RunRecord) -> Iterator[str]:
    """The harness's files, mended as before a start: every witnessed episode has its evidence, and none runs again."""
    harness = adapter(record.plan.harness)
    yield from _raised(lambda: harness.prepare(record, paths.work), "prepare")
    survey = harness.survey(record, paths.work)
    yield from (f"harness: {why}" for why in survey.unreadable)
    ended = {item.key for item in (*survey.attempts, *survey.pending) if item.outcome is not None}
    known = progress(paths)
    if not isinstance(known, Unreadable):
        lost = sorted(known.finished_keys - ended)
        yield from (f"finished, and its evidence is gone: {key}" for key in lost)


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
