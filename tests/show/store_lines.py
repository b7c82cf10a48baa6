"""What the demo left: the store against the disk, and a second pull."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from show.lines import Line, Missing, judged
from show.stage import Demo, Stage, output


def bytes_agree(stage: Stage, demo: Demo) -> Iterator[Line]:
    """Manifests against the store's bytes, and a pull of today against the disk."""
    run, store = only_run(demo), store_root(demo)
    yield manifests(store, run)
    fresh = stage.scratch / f"pulled-again-{demo.seed}"
    done = pull(stage, store, run, fresh)
    yield judged(done == 0, "pull into an empty directory", f"exit {done}")
    yield same_as_disk(fresh / "work", disk_root(demo) / "spoteval" / "runs" / run / "work")


def second_pull(stage: Stage, demo: Demo) -> Iterator[Line]:
    """A directory that holds something is refused, and left as it was."""
    target = demo.kept / "pulled"
    before = hashes(target)
    if not before:
        raise Missing(f"{target} is empty")
    code = pull(stage, store_root(demo), only_run(demo), target)
    figure = f"exit {code}, {len(before)} files as before"
    good = code == 3 and hashes(target) == before
    yield judged(good, "second pull into a non-empty directory is refused", figure)


def manifests(store: Path, run: str) -> Line:
    """Each part named by a manifest has the size and sha256 that the manifest says."""
    what = "published episodes are what their manifests say"
    found = sorted((store / "runs" / run / "episodes").rglob("MANIFEST.json"))
    wrong = [str(path.parent) for path in found if not _holds(path)]
    figure = f"differ: {wrong[:3]}" if wrong else f"{len(found)} manifests"
    return judged(bool(found) and not wrong, what, figure)


def _holds(manifest: Path) -> bool:
    parts = json.loads(manifest.read_bytes())["parts"]
    return bool(parts) and all(_part_holds(manifest.parent, part) for part in parts)


def _part_holds(folder: Path, part: dict[str, object]) -> bool:
    body = (folder / str(part["name"])).read_bytes()
    return len(body) == part["size"] and hashlib.sha256(body).hexdigest() == part["sha256"]


def same_as_disk(pulled: Path, disk: Path) -> Line:
    """Every pulled file is the disk's, byte for byte, and every log of the disk was pulled."""
    what = "store and disk agree byte for byte"
    here, there = hashes(pulled), hashes(disk)
    if not here or not there:
        raise Missing(f"nothing to compare in {pulled} or {disk}")
    differ = [name for name, found in here.items() if there.get(name) != found]
    absent = [name for name in there if name.endswith(".eval") and name not in here]
    figure = f"differ: {differ[:3]} absent: {absent[:3]}"
    good = not differ and not absent
    return judged(good, what, f"{len(here)} files" if good else figure)


def hashes(folder: Path) -> dict[str, str]:
    """Relative name → sha256 of every file."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def pull(stage: Stage, store: Path, run: str, target: Path) -> int:
    """Exit code of `spoteval pull`, as on a laptop without a configuration."""
    argv = [stage.program("spoteval"), "pull", run, str(target)]
    return output(argv, stage.scratch, SPOTEVAL_STORE=f"file://{store}").returncode


def only_run(demo: Demo) -> str:
    """The name of the run that the demo operated."""
    names = sorted(path.name for path in (store_root(demo) / "runs").iterdir())
    if len(names) != 1:
        raise Missing(f"one run expected in the store, found {names}")
    return names[0]


def store_root(demo: Demo) -> Path:
    """The kept store."""
    return _kept(demo, "store")


def disk_root(demo: Demo) -> Path:
    """The kept durable disk."""
    return _kept(demo, "node/durable")


def _kept(demo: Demo, name: str) -> Path:
    path = demo.kept / name
    if not path.is_dir():
        raise Missing(f"{path} was not kept")
    return path
