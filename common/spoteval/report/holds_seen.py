"""What this host can see of an instance's holds."""

from pathlib import Path

from spoteval.clock import Now
from spoteval.control.holds import fetch, look
from spoteval.files import read_text
from spoteval.hold import Hold
from spoteval.paths import DurablePaths, InstancePaths
from spoteval.report.holds import GUEST, KEEP_ALIVE, KILL_SWITCH, RESTARTER, FileHold, Mirror
from spoteval.shape import Reading, Unreadable
from spoteval.store.contract import Store, StoreError, StoreRefused


def restarter_file(paths: InstancePaths, now: Now, here: bool) -> FileHold:
    """The restarter's touch file. A missing holds directory is unreadable, and so a hold."""
    if not here:
        return FileHold(RESTARTER, str(paths.hold), seen=False)
    if not paths.hold.parent.is_dir():
        why = Unreadable(f"{paths.hold.parent}: no such directory")
        return FileHold(RESTARTER, str(paths.hold), why)
    return _file(RESTARTER, paths.hold, now)


def mirror_files(paths: InstancePaths, here: bool) -> tuple[Mirror, ...]:
    """The files of the store's holds, by name; none where the folder is absent. Raises OSError."""
    folder = paths.hold.with_name(f"{paths.instance}.d")
    if not here or not folder.is_dir():
        return ()
    found = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    return tuple(Mirror(path.name, str(path), read_text(path)) for path in found)


def guest_files(disk: DurablePaths | None, now: Now) -> tuple[FileHold, ...]:
    """The three touch files of the guest; elsewhere only their places."""
    if disk is None:
        away = DurablePaths(Path("<durable>"))
        return tuple(FileHold(name, str(path), seen=False) for name, path in _places(away))
    return tuple(_file(name, path, now) for name, path in _places(disk))


def store_holds(store: Store | None, instance: str) -> Reading[tuple[Hold, ...]]:
    """The standing holds; Unreadable where the store is away or this key may not list. Without a store, none."""
    if store is None:
        return ()
    try:
        return fetch(store, instance, look(store, instance).standing)
    except StoreRefused:
        return Unreadable(f"{store.url}: this key may not list (a guest's should not)")
    except StoreError as error:
        return Unreadable(str(error))


def _places(disk: DurablePaths) -> tuple[tuple[str, Path], ...]:
    return (
        (GUEST, disk.guest_hold),
        (KEEP_ALIVE, disk.keep_alive),
        (KILL_SWITCH, disk.kill_switch),
    )


def _file(name: str, path: Path, now: Now) -> FileHold:
    text = read_text(path)
    return FileHold(name, str(path), text, file_age_s(path, now))


def file_age_s(path: Path, now: Now) -> float | None:
    """Seconds since the file was written; None where it is not there."""
    try:
        return max(0.0, now.wall.timestamp() - path.stat().st_mtime)
    except OSError:
        return None
