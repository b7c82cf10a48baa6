"""What `spoteval setup` changes: each thing is done once, said, and left alone the next time."""

import os
import pwd
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from spoteval.clock import Now
from spoteval.config.guest import GuestConfig
from spoteval.control.disk import adopt
from spoteval.control.dropins import NAME
from spoteval.control.fstab import Verdict
from spoteval.control.refused import Refused
from spoteval.files import make_folder, remove, touch, write_new, write_whole
from spoteval.paths import DurablePaths

GUEST_FOLDERS = ("", "holds", "requests", "busy", "enders", "runs", "publication", "decisions")
RESTARTER_FOLDERS = ("", "holds", "instances")
_MODE = 0o755


@dataclass(frozen=True, slots=True)
class Owner:
    """The user that the agents run as."""

    name: str
    uid: int
    gid: int


def owner_named(name: str) -> Owner:
    """The agents' user; raises Refused where there is none."""
    try:
        found = pwd.getpwnam(name)
    except KeyError:
        raise Refused(
            f'no user "{name}" on this machine: install the package first'
            " (or: adduser --system --group spoteval)"
        ) from None
    return Owner(name, found.pw_uid, found.pw_gid)


def write_config(path: Path, text: str, now: Now, replace: bool = False) -> Iterator[str]:
    """The host file. One that is there stays; to `replace` it, a copy of it is kept beside. Raises OSError."""
    if write_new(path, text.encode()):
        yield f"wrote {path}"
    elif replace and path.read_text() != text:
        backup = _copied(path, now)
        write_whole(path, text.encode())
        yield f"wrote {path} (before: {backup})"


def lay_out(root: Path, names: Iterable[str], owner: Owner) -> Iterator[str]:
    """Folders below `root`, "" for itself, with their owner and modes. Raises OSError."""
    folders = [root / name if name else root for name in names]
    absent = [folder for folder in folders if not folder.is_dir()]
    for folder in absent:
        make_folder(folder)
    given = [folder for folder in folders if _belongs(folder, owner)]
    if absent:
        yield f"made {_listed(root, absent)} of {owner.name}, mode {_MODE:04o}"
    others = [folder for folder in given if folder not in absent]
    if others:
        yield f"gave {_listed(root, others)} to {owner.name}, mode {_MODE:04o}"


def _listed(root: Path, folders: Iterable[Path]) -> str:
    names = [str(folder.relative_to(root)) for folder in folders if folder != root]
    return f"{root} with {', '.join(names)}" if names else str(root)


def take_disk(config: GuestConfig, now: Now) -> Iterator[str]:
    """The sentinel, and with it the keep-alive that `run start` removes. Raises OSError.

    The keep-alive is first: a disk that is proved and says nothing of a person would be ended in mid-setup.
    """
    disk = DurablePaths(config.disk.path)
    if not disk.keep_alive.exists():
        touch(disk.keep_alive, f"setup {now.wall:%Y-%m-%d}")
        yield f"touched {disk.keep_alive}: the machine stays on until `spoteval run start` removes it"
    if adopt(config, now.wall):
        yield f"wrote {disk.sentinel}: this disk belongs to {config.instance}"


def write_fstab(fstab: Path, verdict: Verdict, now: Now) -> Iterator[str]:
    """Put the table with the line in its place, whole or not at all, beside a copy of the old one. Raises OSError."""
    if verdict.ok:
        return
    backup = _copied(fstab, now)
    write_whole(fstab, verdict.text.encode())
    yield f"wrote {fstab}: {verdict.line} (before: {backup})"


def write_dropins(texts: Mapping[str, str], units: Path) -> Iterator[str]:
    """Each unit's drop-in, where it is not there as it should be; one that says too much is gone. Raises OSError.

    A unit that is told of a credential that is there no more would not start.
    """
    for unit, text in texts.items():
        path = units / f"{unit}.d" / NAME
        if _differs(path, text):
            write_whole(path, text.encode())
            yield f"wrote {path}"
    for path in sorted(units.glob(f"spoteval-*.d/{NAME}")):
        if path.parent.name.removesuffix(".d") not in texts:
            remove(path)
            yield f"removed {path}"


def present(names: Iterable[str], credentials: Path) -> tuple[str, ...]:
    """Those of the credentials that are there."""
    return tuple(name for name in names if (credentials / name).is_file())


def missing(names: Iterable[str], credentials: Path) -> tuple[Path, ...]:
    """The places of those that are not."""
    return tuple(credentials / name for name in names if not (credentials / name).is_file())


def _copied(path: Path, now: Now) -> Path:
    """A copy beside the file, empty where there is none."""
    backup = path.with_name(f"{path.name}.before-spoteval-{now.wall:%Y%m%dT%H%M%S}")
    write_new(backup, path.read_bytes() if path.exists() else b"")
    return backup


def _differs(path: Path, text: str) -> bool:
    try:
        return path.read_text() != text
    except FileNotFoundError:
        return True


def _belongs(folder: Path, owner: Owner) -> bool:
    """Give the folder its owner and mode; whether something was changed. Only root can give a folder away."""
    found = folder.stat()
    changed = False
    if (found.st_uid, found.st_gid) != (owner.uid, owner.gid) and os.geteuid() == 0:
        os.chown(folder, owner.uid, owner.gid)
        changed = True
    if found.st_mode & 0o777 != _MODE:
        folder.chmod(_MODE)
        changed = True
    return changed
