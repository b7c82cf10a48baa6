"""A writable copy of layers that costs nothing: what a machine writes lies apart."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from lab.shell import call, tried


@contextmanager
def mounted(lower: Sequence[Path], place: Path) -> Iterator[Path]:
    """The topmost layer last. Writes lie below `place`/upper when it is over; `place`/root is where it is seen."""
    root = mount(lower, place)
    try:
        yield root
    finally:
        unmount(root)


def mount(lower: Sequence[Path], place: Path) -> Path:
    """Mount, and return where."""
    root, upper, work = (place / name for name in ("root", "upper", "work"))
    for path in (root, upper, work):
        path.mkdir(parents=True, exist_ok=True)
    layers = ":".join(str(path) for path in reversed(lower))
    options = f"lowerdir={layers},upperdir={upper},workdir={work}"
    call(["mount", "-t", "overlay", "lab", "-o", options, str(root)])
    return root


def unmount(root: Path) -> None:
    """Also where something still holds it: the mount is gone from here at once."""
    if tried(["umount", str(root)]).returncode:
        tried(["umount", "--lazy", str(root)])
