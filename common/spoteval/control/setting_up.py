"""What `spoteval setup guest` changes: each thing is done once, said, and left alone the next time."""

import os
import pwd
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from spoteval.clock import Now
from spoteval.config.guest import GuestConfig
from spoteval.control.disk import adopt
from spoteval.control.dropins import NAME, credential_names, dropins
from spoteval.control.fstab import Verdict
from spoteval.control.refused import Refused
from spoteval.files import make_folder, touch, write_new, write_whole
from spoteval.paths import DurablePaths

FOLDERS = ("", "holds", "requests", "busy", "enders", "runs", "publication", "decisions")
SYSTEM_UNITS = Path("/etc/systemd/system")
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


def lay_out(disk: DurablePaths, owner: Owner) -> Iterator[str]:
    """The folders of `spoteval/`, with their owner and modes. Raises OSError."""
    folders = [disk.root / name if name else disk.root for name in FOLDERS]
    absent = [folder for folder in folders if not folder.is_dir()]
    for folder in absent:
        make_folder(folder)
    given = [folder for folder in folders if _belongs(folder, owner)]
    if absent:
        yield f"made {_listed(disk.root, absent)} of {owner.name}, mode {_MODE:04o}"
    others = [folder for folder in given if folder not in absent]
    if others:
        yield f"gave {_listed(disk.root, others)} to {owner.name}, mode {_MODE:04o}"


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
    before = fstab.read_bytes() if fstab.exists() else b""
    backup = fstab.with_name(f"{fstab.name}.before-spoteval-{now.wall:%Y%m%dT%H%M%S}")
    write_new(backup, before)
    write_whole(fstab, verdict.text.encode())
    yield f"wrote {fstab}: {verdict.line} (before: {backup})"


def write_dropins(config: GuestConfig, credentials: Path, units: Path) -> Iterator[str]:
    """Tell the units of this host's user, credentials and mount. Raises OSError."""
    names = credential_names(config)
    present = [name for name in names if (credentials / name).is_file()]
    for unit, text in dropins(config, credentials, present).items():
        path = units / f"{unit}.d" / NAME
        if _differs(path, text):
            write_whole(path, text.encode())
            yield f"wrote {path}"


def missing_credentials(config: GuestConfig, credentials: Path) -> tuple[Path, ...]:
    """Credentials that the host file names and that are not there."""
    named = (credentials / name for name in credential_names(config))
    return tuple(path for path in named if not path.is_file())


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
