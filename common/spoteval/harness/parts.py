"""The bytes of a part, for those who publish and need not know what a log is made of."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from spoteval.episode import Part

_ZIP = b"PK\x03\x04"


def read_part(part: Part) -> bytes:
    """The whole of a part: the file, or the one decompressed member of a container.

    Raises OSError where it cannot be read, and ValueError where the container does not hold it undamaged.
    """
    if part.member is None:
        return part.path.read_bytes()
    from spoteval.harness.inspect_zip import Archive

    with Archive(part.path) as archive:
        return archive.read(part.member)


def members(path: Path) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """What is in a container, for those who look through it: a key that changes with the content, and its reading.

    Nothing for a plain file, and for a container that is torn or of a kind that is not installed. Raises OSError; the
    reading raises ValueError too.
    """
    with path.open("rb") as file:
        if file.read(len(_ZIP)) != _ZIP:
            return
    try:
        from spoteval.harness.inspect_zip import Archive, Damaged
    except ImportError:
        return
    try:
        archive = Archive(path)
    except Damaged:
        return
    with archive:
        for name in sorted(archive.names):
            yield f"{path}:{name}:{archive.checksum(name)}", partial(archive.read, name)
