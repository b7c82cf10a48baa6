"""`tests/replay/run`: options, the recording, the states, the lines."""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from parts import ROOT, sources
from replay.campaign import Found, opened, replayed
from replay.log import BadLog
from replay.recorder import TIMES, NotRecorded, record

OWN = ("tests/replay", "tests/lab/writelog.py")


def main(argv: Sequence[str] | None = None) -> int:
    """Exit 0 where it found what it should: nothing, or with --mutant something."""
    options = _parser().parse_args(argv)
    if os.geteuid() != 0:
        sys.stderr.write("tests/replay/run: mounts disks, which takes root\n")
        return 2
    with tempfile.TemporaryDirectory(prefix="replay-") as scratch:
        folder = options.recording or Path(scratch) / "recording"
        try:
            recorded_s = _recorded(folder, options.recording_seed, mutant=options.mutant)
            began_s = time.monotonic()
            found = replayed(folder, options.states, options.seed, options.workers, _progress)
            done = _result(options, folder, found, recorded_s, time.monotonic() - began_s)
        except (NotRecorded, BadLog) as error:
            sys.stderr.write(f"tests/replay/run: {error}\n")
            return 1
    if options.record is not None:
        options.record.write_text(json.dumps(done, indent=1) + "\n")
    _say(done)
    return 0 if (found.bad > 0) == options.mutant and found.held > 0 else 1


def _recorded(folder: Path, seed: int, *, mutant: bool) -> float:
    """Seconds that it took; 0 where it was there."""
    if (folder / TIMES).exists():
        return 0.0
    began_s = time.monotonic()
    record(folder, seed, mutant=mutant)
    return time.monotonic() - began_s


def _result(
    options: argparse.Namespace, folder: Path, found: Found, recorded_s: float, took_s: float
) -> dict[str, Any]:
    recording = opened(folder)
    entries = recording.log.entries
    return {
        "sources": sources(OWN, ROOT),
        "mutant": options.mutant,
        "seed": options.seed,
        "writes": sum(entry.writes for entry in entries),
        "flushes": sum(entry.flushes for entry in entries),
        "bytes": sum(entry.size for entry in entries if entry.writes),
        "objects": len(recording.store),
        **found.record(),
        "recorded_s": round(recorded_s, 1),
        "took_s": round(took_s, 1),
    }


def _progress(found: Found) -> None:
    print(f"  {found.states} states, {found.bad} bad", file=sys.stderr, flush=True)


def _say(done: dict[str, Any]) -> None:
    print(
        f"recorded: {done['writes']} writes, {done['flushes']} flushes, {done['bytes'] / 1e6:.0f} MB,"
        f" {done['objects']} objects in the store"
    )
    for text in done["shown"]:
        print(f"  {text}")
    print(f"before {done['held']} of the states the store had something that could be denied")
    print(f"{done['stored_alone']} times was the store the only one to hold a finished episode")
    print(
        f"{done['states']} states in {done['took_s']:.0f} s: {done['bad']} unreadable or denying"
        f" what the store had" + (" (every fsync left out)" if done["mutant"] else "")
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tests/replay/run", description=__doc__)
    parser.add_argument("--states", type=int, default=10_000, help="how many states, about")
    parser.add_argument("--seed", type=int, default=1, help="of the subsets")
    parser.add_argument("--recording-seed", type=int, default=7, help="of the demo's market")
    parser.add_argument("--recording", type=Path, help="where the recording lies, or is kept")
    parser.add_argument("--record", type=Path, help="the result, as JSON")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--mutant", action="store_true", help="leave out every fsync")
    return parser
