"""What a durable disk says after a cut, read by the product's own readers."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from drills.seen import witnessed
from power.guest import RUN
from spoteval.control.boot import recorded_boot
from spoteval.control.enders import enders
from spoteval.control.ending import read_end
from spoteval.control.requests import pending
from spoteval.control.runfiles import active_run, interruptions, progress, read_run
from spoteval.files import read_lines, read_record
from spoteval.paths import DurablePaths, RunPaths
from spoteval.publication.own import is_temporary
from spoteval.shape import Unreadable

Digests = Mapping[str, str]
_UNSURE = {"salvage", "spare", "audit.json"}
"""What the harness wrote, as it was cut; room for a marker, with nothing in it; a cache that is begun anew."""


@dataclass(frozen=True, slots=True)
class Disk:
    """`witness`: the line of each finished episode. `ended`: the files of each that says so itself, by sha256."""

    unreadable: tuple[str, ...]
    witness: Mapping[str, Mapping[str, object]]
    ended: Mapping[str, Digests]
    begun: int
    step: str


def read_disk(point: Path, cuts: int = 1) -> Disk:
    """All of it, after so many cuts: each may tear a line of a log. Raises OSError where the disk cannot be read."""
    paths = DurablePaths(point)
    run = paths.run(RUN)
    lines = read_lines(run.finished).records
    return Disk(
        tuple(_unreadable(paths, cuts)),
        {str(line["episode"]): line for line in lines},
        dict(_ended(run)),
        len(witnessed(point / "evals" / "witness").lines),
        last_step(run),
    )


def rerun(point: Path, before: Disk) -> frozenset[str]:
    """Episodes that the disk had whole, and that began again since."""
    lines = witnessed(point / "evals" / "witness").lines[before.begun :]
    again = {key.split("/")[0] for word, key, _ in lines if word == "begin"}
    return frozenset(again) & (before.witness.keys() | before.ended.keys())


def last_step(run: RunPaths) -> str:
    """How far the shutdown plan of the newest interruption had come, as far as the disk knows."""
    folders = sorted(run.interruptions.iterdir()) if run.interruptions.is_dir() else []
    if not folders:
        return "none"
    if (folders[-1] / "closed.json").exists():
        return "closed"
    steps = read_lines(folders[-1] / "steps.jsonl").records
    return str(steps[-1].get("step")) if steps else "opened"


def _ended(run: RunPaths) -> Iterator[tuple[str, Digests]]:
    """Directories that say that their episode has ended."""
    folder = run.work / "episodes"
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        done = path / "episode.json"
        if done.is_file() and _is_object(done.read_bytes()):
            files = (file for file in path.iterdir() if not is_temporary(file.name))
            yield path.name, {file.name: digest(file.read_bytes()) for file in files}


def digest(data: bytes) -> str:
    """sha256, as witness and manifest write it."""
    return hashlib.sha256(data).hexdigest()


def _is_object(data: bytes) -> bool:
    try:
        return isinstance(json.loads(data), dict)
    except ValueError:
        return False


def _unreadable(paths: DurablePaths, cuts: int) -> Iterator[str]:
    """Every record that one of the product's readers cannot read; of a log at most a line for each cut."""
    yield from _unread_files(paths, cuts)
    run = paths.run(RUN)
    typed: Mapping[str, object] = {
        "active": active_run(paths),
        "run.json": read_run(run),
        "progress": progress(run),
        "end.json": read_end(run),
        "enders": enders(paths.enders),
        "boot.json": recorded_boot(paths) if paths.boot.exists() else None,
        "requests": pending(paths),
    }
    yield from (
        f"{name}: {found.why}" for name, found in typed.items() if isinstance(found, Unreadable)
    )
    opened = {path.parent.name for path in run.interruptions.glob("*/opened.json")}
    known = interruptions(run)
    yield from (f"interruption {name}: no record" for name in sorted(opened - known.keys()))
    damaged = (name for name, item in known.items() if item.closed_unreadable)
    yield from (f"interruption {name}: closed.json damaged" for name in damaged)


def _unread_files(paths: DurablePaths, cuts: int) -> Iterator[str]:
    work = paths.run(RUN).work
    for path in [paths.sentinel, *sorted(paths.root.rglob("*"))]:
        if (
            not path.is_file()
            or path.is_relative_to(work)
            or _is_half_made(path, paths.root.parent)
        ):
            continue
        if _UNSURE & set(path.parts):
            continue
        if path.suffix == ".json" and isinstance(found := read_record(path), Unreadable):
            yield found.why
        if path.suffix == ".jsonl":
            yield from _torn(path, cuts)


def _is_half_made(path: Path, top: Path) -> bool:
    """It, or a folder of it, has the name of what is renamed once it is whole."""
    return any(is_temporary(part) for part in path.relative_to(top).parts)


def _torn(path: Path, cuts: int) -> Iterator[str]:
    torn = read_lines(path).torn
    if len(torn) > cuts:
        yield f"{path}: lines {list(torn)} torn by {cuts} cuts"
