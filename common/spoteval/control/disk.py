"""The durable disk proves itself before anything is written to it."""

import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from spoteval.clock import stamp
from spoteval.config.guest import GuestConfig
from spoteval.files import read_record, write_new_record
from spoteval.machine.disk import mount_at, uuid_of
from spoteval.paths import DurablePaths
from spoteval.shape import Reading, ShapeError, Table, Unreadable


@dataclass(frozen=True, slots=True)
class DiskProof:
    """The disk is the one that was configured; `paths` may be written below."""

    paths: DurablePaths


def prove(config: GuestConfig) -> Reading[DiskProof]:
    """A mount that is not the root filesystem, the configured UUID, and a sentinel that names this instance.

    Whose it is is not asked: the agents write below `spoteval/` alone, the run's user in `work` alone.
    Provider `local` has a directory for a disk, so only the sentinel speaks there. Nothing is written.
    """
    why = None if config.provider == "local" else _wrong_mount(config)
    why = why or _wrong_sentinel(config)
    if why is not None:
        return Unreadable(f"{config.disk.path}: {why}")
    return DiskProof(DurablePaths(config.disk.path))


def adopt(config: GuestConfig, at: datetime) -> bool:
    """Write the sentinel of a fresh disk; False where one is there already."""
    record = {
        "instance": config.instance,
        "uuid": config.disk.uuid,
        "identity": config.disk.identity,
        "created": stamp(at),
    }
    return write_new_record(DurablePaths(config.disk.path).sentinel, record)


def _wrong_mount(config: GuestConfig) -> str | None:
    mount = mount_at(config.disk.path)
    if isinstance(mount, Unreadable):
        return mount.why
    if mount is None:
        return f"{_not_mounted(config)}: disk not attached? nothing written (lsblk -f)"
    if mount.read_only or _takes_nothing(config.disk.path):
        return "is read-only (dmesg shows why)"
    return _wrong_uuid(config, mount.device) if config.disk.identity == "uuid" else None


def _not_mounted(config: GuestConfig) -> str:
    """What lies at the place of a disk that is not mounted: writing there would fill the boot disk."""
    try:
        on_root = config.disk.path.stat().st_dev == Path("/").stat().st_dev
    except OSError as error:
        return str(error.strerror)
    uuid = config.disk.uuid
    wanted = f", not UUID {uuid[:4]}…{uuid[-4:]}" if uuid is not None else ""
    return f"is on the root filesystem{wanted}" if on_root else f"is no mount point{wanted}"


def _takes_nothing(path: Path) -> bool:
    """Whether the filesystem below a mount is read-only, which the mount's own options do not say.

    Not whether we may write at its top: that is root's on every fresh filesystem, and only what lies below is ours.
    """
    try:
        return bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    except OSError:
        return True


def _wrong_uuid(config: GuestConfig, device: str) -> str | None:
    found = uuid_of(device)
    if isinstance(found, Unreadable):
        return found.why
    if found != config.disk.uuid:
        return f'UUID "{found}" is not the configured "{config.disk.uuid}" (lsblk -f)'
    return None


def _wrong_sentinel(config: GuestConfig) -> str | None:
    found = read_record(DurablePaths(config.disk.path).sentinel)
    if found is None:
        return "no sentinel (spoteval setup guest --adopt writes it)"
    if isinstance(found, Unreadable):
        return found.why
    return _foreign(found, config)


def _foreign(sentinel: Table, config: GuestConfig) -> str | None:
    try:
        owner, uuid = sentinel.text("instance"), sentinel.maybe_text("uuid")
    except ShapeError as error:
        return str(error)
    if owner != config.instance:
        return f'sentinel belongs to "{owner}", this is "{config.instance}"'
    if config.disk.identity == "uuid" and uuid != config.disk.uuid:
        return f'sentinel was written on UUID "{uuid}", configured is "{config.disk.uuid}"'
    return None
