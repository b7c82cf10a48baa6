"""What must hold after one clean pass: exactly the finished episodes are published, byte for byte, each once."""

import contextlib
import io
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from follower_world import RUN, Guest
from spoteval.publication.keys import MANIFEST
from spoteval.publication.pull import pull
from spoteval.publication.verify import compare
from spoteval.store.contract import Store
from spoteval_agents.publication_follower.agent import guarded
from spoteval_agents.publication_follower.cycle import cycle

FINISHED = ("1", "2", "3")
"""Episodes that have ended; a fourth goes on."""


@dataclass(frozen=True)
class Case:
    """One fault at one place, and what it did for good."""

    kind: str
    number: int
    lost: tuple[str, ...] = ()
    torn: tuple[str, ...] = ()
    doubled: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        """Nothing."""
        return not (self.lost or self.torn or self.doubled)

    def __str__(self) -> str:
        return f"{self.kind} at {self.number}: lost {self.lost}, torn {self.torn}, doubled {self.doubled}"


def template(folder: Path, large: int = 0) -> Path:
    """A guest with three finished episodes, a fourth that goes on, logs and an interruption; never published.

    `large`: bytes of one more file of the third.
    """
    guest = Guest(folder)
    for name in FINISHED:
        guest.finish(name, {"log.txt": name.encode() * 2000, "sub/more.txt": b"more"})
    if large:
        guest.finish(FINISHED[-1], {"large.bin": random.Random(7).randbytes(large)})
    (guest.paths.work / "episodes" / "1" / "empty").mkdir()
    (guest.paths.work / "episodes" / "4").mkdir()
    (guest.paths.work / "episodes" / "4" / "log.txt").write_bytes(b"half")
    (guest.paths.work / "intended.json").write_text('["1", "2", "3", "4"]')
    salvage = guest.paths.interruptions / "i-1" / "salvage" / "4"
    salvage.mkdir(parents=True)
    (salvage / "log.txt").write_bytes(b"half")
    (salvage.parent.parent / "opened.json").write_text('{"format": 1, "session": "s0"}')
    return folder


@contextlib.contextmanager
def fresh(source: Path, at: Path) -> Iterator[Guest]:
    """A copy of the template, as a guest of its own."""
    shutil.copytree(source, at, symlinks=True)
    try:
        yield Guest(at)
    finally:
        shutil.rmtree(at)


def one_pass(guest: Guest) -> None:
    """As the agent makes it: errors of our own files are said, and the pass made again later."""
    guest.later(61)
    with contextlib.redirect_stderr(io.StringIO()):
        guarded(cycle, guest.world, guest.memory)


def judged(kind: str, number: int, guest: Guest, truth: Store, clean: Callable[[], None]) -> Case:
    """One clean pass, then what the store holds against what is on the disk."""
    clean()
    lost, torn, doubled = list[str](), list[str](), list[str]()
    report = compare(truth, RUN, guest.paths.root)
    for item in report.differences:
        (lost if item.what.startswith("missing") else torn).append(str(item))
    prefix = f"runs/{RUN}/episodes/"
    keys = [item.key.removeprefix(prefix) for item in truth.list(prefix)]
    manifests = [key for key in keys if key.endswith(f"/{MANIFEST}")]
    lost += [name for name in FINISHED if f"{name}/1/{MANIFEST}" not in manifests]
    doubled += [key for key in keys if key.split("/")[:2] not in [[name, "1"] for name in FINISHED]]
    lines = [str(line["episode"]) for line in guest.witness()]
    doubled += [f"witness {name}" for name in set(lines) if lines.count(name) > 1]
    doubled += [item.key for item in truth.list(f"runs/{RUN}/conflicts/")]
    pulled = guest.root / "pulled"
    pull(truth, RUN, pulled)
    for name in FINISHED:
        torn += _differing(guest.paths.work / "episodes" / name, pulled / "episodes" / name / "1")
    return Case(kind, number, tuple(lost), tuple(torn), tuple(doubled))


def _differing(disk: Path, pulled: Path) -> Iterator[str]:
    for path in (path for path in sorted(disk.rglob("*")) if path.is_file()):
        other = pulled / path.relative_to(disk)
        if not other.is_file() or other.read_bytes() != path.read_bytes():
            yield f"{disk.name}/{path.relative_to(disk)}: not what was pulled"
