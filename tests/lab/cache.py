"""Where the lab keeps what takes minutes to make, and how it is made once whoever asks first."""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from lab.shell import tried

OVERRIDE = "SPOTEVAL_LAB_CACHE"


def home(environ: Mapping[str, str] = os.environ) -> Path:
    """$SPOTEVAL_LAB_CACHE, else below $XDG_CACHE_HOME or ~/.cache: never in the checkout."""
    if own := environ.get(OVERRIDE):
        return Path(own)
    caches = environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(caches) / "spoteval" / "lab"


def key(*words: str) -> str:
    """Twelve digits that change with any of these words."""
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:12]


def made(name: str, make: Callable[[Path], None]) -> Path:
    """The directory `name`, whole: made at the first call, found at the next. Two callers make it once."""
    place = home() / name
    with _locked(home() / f"{name}.lock"):
        if not place.exists():
            fresh = place.with_name(f"{name}.new")
            _free(fresh)
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir(parents=True)
            make(fresh)
            fresh.rename(place)
    return place


def _free(place: Path) -> None:
    """What a making that was cut off left mounted, such as debootstrap's /proc: nothing below it could be removed."""
    mounts = Path("/proc/self/mounts").read_text() if place.exists() else ""
    points = [line.split()[1] for line in mounts.splitlines()]
    for point in reversed([point for point in points if Path(point).is_relative_to(place)]):
        tried(["umount", "--lazy", point])


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
