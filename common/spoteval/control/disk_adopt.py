"""Whether a disk may become the durable one: it is never formatted, and data on it is no reason against it. Pure."""

from collections.abc import Iterator
from pathlib import Path

from spoteval.config.guest import GuestConfig
from spoteval.control.disk_look import DiskLook
from spoteval.control.fstab import Entry
from spoteval.shape import Table, Unreadable

_GB = 10**9
_HOMES = ("/home", "/root", "/run/user")


def refusal(look: DiskLook, config: GuestConfig) -> str | None:
    """Why this disk cannot be adopted here; None where it can, or is already."""
    if look.mount is None:
        return "nothing is mounted there: mount the disk first (mkfs is yours; setup never formats)"
    if (home := _hidden_below(look.path)) is not None and config.provider != "local":
        return f"is below {home}, which the agents' units do not see: mount it elsewhere"
    if look.with_system is not None:
        return f"is on the disk of {look.with_system}, which the machine boots from: not adopted"
    if not look.writable:
        return "is read-only: not adopted (dmesg shows why)"
    return _other_uuid(look, config) or _foreign(look, config)


def _hidden_below(path: Path) -> str | None:
    """What `ProtectHome=` of the units hides."""
    return next((home for home in _HOMES if path.is_relative_to(home)), None)


def is_adopted(look: DiskLook) -> bool:
    """Whether a sentinel lies there; whose it is, `refusal` says."""
    return look.sentinel is not None


def rows(look: DiskLook) -> Iterator[tuple[str, str]]:
    """What a person sees before it is adopted."""
    assert look.mount is not None
    yield "device", f"{look.mount.device} ({look.mount.kind})"
    yield "UUID", look.uuid.why if isinstance(look.uuid, Unreadable) else look.uuid or "none"
    yield "label", look.label or "none"
    yield "size", _size(look.size)
    yield "used", _size(look.used)
    more = f" and {look.more} more" if look.more else ""
    yield "holds", f"{', '.join(look.names)}{more}" if look.names else "nothing"


def _size(count: int) -> str:
    return f"{count / _GB:.1f} GB" if count >= _GB else f"{count / 1e6:.1f} MB"


def entry_of(look: DiskLook) -> Entry:
    """The mount line that belongs to it: by label or UUID, which outlive another order of devices."""
    assert look.mount is not None
    label = f"LABEL={look.label}" if look.label is not None else look.mount.device
    source = f"UUID={look.has_uuid}" if look.has_uuid is not None else label
    return Entry(source, look.path, look.mount.kind)


def _other_uuid(look: DiskLook, config: GuestConfig) -> str | None:
    if config.disk.identity != "uuid":
        return None
    if isinstance(look.uuid, Unreadable):
        return f'{look.uuid.why} ([disk] identity = "sentinel" where a UUID means nothing)'
    if look.uuid != config.disk.uuid:
        return f'UUID "{look.uuid}" is not the configured "{config.disk.uuid}" ({config.path})'
    return None


def _foreign(look: DiskLook, config: GuestConfig) -> str | None:
    if isinstance(look.sentinel, Unreadable):
        return f"{look.sentinel.why}: whose disk this is cannot be told"
    if not isinstance(look.sentinel, Table):
        return None
    owner = look.sentinel.values.get("instance")
    if owner != config.instance:
        return f'belongs to "{owner}", this is "{config.instance}": not adopted'
    return None
