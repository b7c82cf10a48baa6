"""The publication follower as one process that makes a pass whenever it is told, over a tree of N episodes.

    follower_pass.py ROOT --url s3://bucket/prefix --endpoint URL --region R --key FILE

Episodes lie in ROOT/disk/spoteval/runs/r1/work/episodes/<key>/, `episode.json` written last; make them before or
between passes. Each line on standard input is a command, each answered with one JSON object on a line:

    seed    what lies there counts as published already: witness and journal are written, nothing is sent
    pass    one regular pass: all its slices, until nothing is due (figures below)
    look    one cycle alone: what an idle pass costs
    final S a final pass with S seconds

Figures: requests, bytes, wall_s, cpu_s (user and system, of this process), durable_s (the last put was acknowledged so
long after the pass began), rss_kb, peak_kb, journal_bytes, and the last lines that were said. Without --url the store
is a directory.
"""

import argparse
import contextlib
import io
import json
import resource
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from spoteval.clock import read_now
from spoteval.config.guest import read_guest
from spoteval.control import requests
from spoteval.control.disk import adopt
from spoteval.control.epochs import Claimant, claim
from spoteval.control.stores import store_from
from spoteval.files import append_lines, write_new_record
from spoteval.harness.directory import Directory, attempt_in, directories, native_of
from spoteval.harness.parts import PartReader
from spoteval.paths import DurablePaths, RunPaths
from spoteval.publication.manifest import PartEntry, witness_line
from spoteval.run import RunPlan, RunRecord
from spoteval.shape import Unreadable
from spoteval.store.contract import Put, Store, Stored
from spoteval_agents.publication_follower.cycle import cycle
from spoteval_agents.publication_follower.evidence import blob_of
from spoteval_agents.publication_follower.job import World
from spoteval_agents.publication_follower.journal import Journal
from spoteval_agents.publication_follower.memory import Memory
from spoteval_agents.publication_follower.work import Blob

RUN, INSTANCE, SESSION = "r1", "gpu-1", "bench"
AT_ONCE = 500


@dataclass
class Tally:
    """A store that notes how many puts were acknowledged, and when the last one was."""

    inner: Any
    counts: dict[str, float] = field(default_factory=lambda: {"puts": 0, "last_s": 0.0, "bytes": 0})
    lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        """It passes for the inner store."""
        self.url, self.lanes = self.inner.url, getattr(self.inner, "lanes", 1)

    def until(self, by_s: float, is_over: Callable[[], bool] = lambda: False) -> "Tally":
        """The same tally of a store that has less time."""
        until = getattr(self.inner, "until", None)
        inner = until(by_s, is_over) if until is not None else self.inner
        return Tally(inner, self.counts, self.lock)

    def put(self, key: str, data: bytes) -> Put:
        """Counted."""
        return self._noted(self.inner.put(key, data), len(data))

    def put_file(self, key: str, path: Path) -> Put:
        """Counted."""
        return self._noted(self.inner.put_file(key, path), path.stat().st_size)

    def get(self, key: str) -> bytes:
        """The follower never asks for it."""
        raise AssertionError(key)

    def list(self, prefix: str) -> Iterator[Stored]:
        """The follower never asks for it."""
        raise AssertionError(prefix)

    def _noted(self, answer: Put, size: int) -> Put:
        with self.lock:
            self.counts["puts"] += 1
            self.counts["bytes"] += size
            self.counts["last_s"] = time.monotonic()
        return answer


@dataclass
class Follower:
    """A guest with one active run of the directory harness, and what its follower remembers."""

    root: Path
    store_lines: str
    memory: Memory = field(default_factory=Memory)

    def __post_init__(self) -> None:
        """Disk, run record and a claimed epoch; what is there already stays."""
        (self.root / "store").mkdir(parents=True, exist_ok=True)
        path = self.root / "config.toml"
        path.write_text(
            f'[host]\nrole = "guest"\ninstance = "{INSTANCE}"\n[disk]\npath = "{self.root}/disk"\n'
            f'identity = "sentinel"\n[provider]\nkind = "local"\n[store]\n{self.store_lines}\n'
        )
        config = read_guest(path)
        now = read_now()
        if not DurablePaths(config.disk.path).sentinel.exists():
            adopt(config, now.wall)
        self.disk = DurablePaths(config.disk.path)
        self.tally = Tally(store_from(config.store, self.root))
        plan = RunPlan("directory", "fresh_budget", executable="/bin/true")
        self.record = RunRecord(RUN, INSTANCE, 1, now.wall, plan)
        write_new_record(self.paths.record, self.record.record())
        self.disk.active.write_text(RUN)
        self.episodes.mkdir(parents=True, exist_ok=True)
        store: Store = self.tally  # type: ignore[assignment]
        claim(store, self.paths, Claimant(RUN, INSTANCE, SESSION), now)
        self.world = World(
            config, store, SESSION, read_now, lambda _: Directory(), PartReader().read
        )

    @property
    def paths(self) -> RunPaths:
        """Of the run."""
        return self.disk.run(RUN)

    @property
    def episodes(self) -> Path:
        """Where they lie."""
        return self.paths.work / "episodes"

    @property
    def journal(self) -> Path:
        """What is known to be published."""
        return self.disk.publication / "journal.jsonl"

    def seed(self) -> dict[str, object]:
        """Hash what lies there, each inode once, and let it be published."""
        known, names = (
            dict[tuple[int, int], Blob](),
            [path.name for path in directories(self.episodes)],
        )
        journal = Journal(self.journal, self.tally.url)
        for begin in range(0, len(names), AT_ONCE):
            lines, done = [], []
            for name in names[begin : begin + AT_ONCE]:
                attempt = attempt_in(self.episodes / name, 1)
                assert not isinstance(attempt, Unreadable), attempt.why
                parts = []
                for part in attempt.parts:
                    found = part.path.stat()
                    blob = known.get((found.st_ino, found.st_size)) or blob_of(
                        part.path.read_bytes()
                    )
                    known[found.st_ino, found.st_size] = blob
                    mode = found.st_mode & 0o777
                    parts.append(PartEntry(part.name, blob.size, blob.sha256, mode))
                lines.append(witness_line(attempt, parts))
                done.append(((name, native_of(name, 1)), 1))
            append_lines(self.paths.finished, list(lines), durable=False)
            journal.finish(RUN, done)
        return {"seeded": len(names)}

    def passes(self) -> dict[str, object]:
        """One regular pass with all its slices."""
        self.memory.due_s = 0.0
        return self._measured(self._slices)

    def look(self) -> dict[str, object]:
        """One cycle."""
        self.memory.due_s = 0.0
        return self._measured(lambda: cycle(self.world, self.memory))

    def final(self, seconds: float) -> dict[str, object]:
        """A final pass, and its answer."""
        request = requests.ask(self.disk, requests.FINAL, "bench", seconds, read_now())
        found = self._measured(lambda: cycle(self.world, self.memory))
        answer = requests.answer(self.disk, request)
        assert isinstance(answer, requests.Answer), answer
        return {**found, "published": answer.published, "left": answer.left}

    def _slices(self) -> None:
        while True:
            cycle(self.world, self.memory)
            if self.memory.due_s > read_now().mono_s:
                return

    def _measured(self, act: Callable[[], None]) -> dict[str, object]:
        self.tally.counts.update(puts=0, bytes=0, last_s=0.0)
        said, before = io.StringIO(), resource.getrusage(resource.RUSAGE_SELF)
        began_s = time.monotonic()
        with contextlib.redirect_stderr(said):
            act()
        wall_s = time.monotonic() - began_s
        after = resource.getrusage(resource.RUSAGE_SELF)
        spent_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        last_s = self.tally.counts["last_s"]
        return {
            "requests": int(self.tally.counts["puts"]),
            "bytes": int(self.tally.counts["bytes"]),
            "wall_s": round(wall_s, 4),
            "cpu_s": round(spent_s, 5),
            "durable_s": round(last_s - began_s, 4) if last_s else None,
            **memory_kb(),
            "journal_bytes": self.journal.stat().st_size if self.journal.exists() else 0,
            "lines": said.getvalue().splitlines()[-3:],
        }


def memory_kb() -> dict[str, object]:
    """Resident now, and at most so far."""
    lines = Path("/proc/self/status").read_text().splitlines()
    found = {line.split(":")[0]: line.split()[1] for line in lines if line.startswith("Vm")}
    return {"rss_kb": int(found["VmRSS"]), "peak_kb": int(found["VmHWM"])}


def main() -> None:
    """Obey until the input ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path)
    for name in ("--url", "--endpoint", "--region", "--key"):
        parser.add_argument(name)
    given = parser.parse_args()
    lines = [f'url = "{given.url or "file://" + str(given.root / "store")}"']
    if given.url:
        lines += [f'endpoint_url = "{given.endpoint}"', f'region = "{given.region}"']
        lines += ['credential = "publisher"']
        given.root.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(given.key, given.root / "publisher")
        (given.root / "publisher").chmod(0o600)
    follower = Follower(given.root, "\n".join(lines))
    acts: dict[str, Callable[..., dict[str, object]]] = {
        "seed": follower.seed,
        "pass": follower.passes,
        "look": follower.look,
        "final": lambda seconds: follower.final(float(seconds)),
    }
    print(json.dumps({"ready": True, **memory_kb()}), flush=True)
    for line in sys.stdin:
        word, *more = line.split()
        print(json.dumps(acts[word](*more)), flush=True)


if __name__ == "__main__":
    main()
