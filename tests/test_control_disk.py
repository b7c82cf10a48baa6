"""The durable disk proves itself, or nothing is written to it."""

import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from cli_hosts import made_hosts
from spoteval.clock import read_now
from spoteval.config.guest import GuestConfig, read_guest
from spoteval.control import disk
from spoteval.control.disk import DiskProof, adopt, prove
from spoteval.files import write_record
from spoteval.machine.disk import Mount
from spoteval.shape import Unreadable

UUID = "0b5e6f0e-6a0e-4b58-9a1c-2f1d3f7f2a11"


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GuestConfig:
    """A guest of a cloud: the disk is mounted and its UUID is the one that was configured."""
    found = read_guest(made_hosts(tmp_path).base / "node" / "config.toml")
    settings = replace(found.disk, identity="uuid", uuid=UUID)
    cloud = replace(found, provider="nebius", disk=settings)
    mount = Mount(settings.path, "/dev/vdb", "ext4", read_only=False)
    monkeypatch.setattr(disk, "mount_at", lambda point: mount)
    monkeypatch.setattr(disk, "uuid_of", lambda device: UUID)
    sentinel = {"instance": "gpu-1", "identity": "uuid", "uuid": UUID}
    write_record(settings.path / ".spoteval-disk.json", sentinel)
    return cloud


def _why(config: GuestConfig) -> str:
    found = prove(config)
    assert isinstance(found, Unreadable)
    return found.why.removeprefix(f"{config.disk.path}: ")


def test_the_configured_disk_is_proved(config: GuestConfig) -> None:
    """Mounted, the UUID, a sentinel that names this instance and this UUID."""
    assert isinstance(prove(config), DiskProof)


def test_a_disk_that_is_not_attached(config: GuestConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    """The promised line: what lies there instead, which UUID is missing, that nothing was written."""
    monkeypatch.setattr(disk, "mount_at", lambda point: None)
    end = ", not UUID 0b5e…2a11: disk not attached? nothing written (lsblk -f)"
    assert _why(config) in (f"is on the root filesystem{end}", f"is no mount point{end}")
    on_root = replace(config, disk=replace(config.disk, path=Path("/etc")))
    found = prove(on_root)
    assert isinstance(found, Unreadable)
    assert found.why == f"/etc: is on the root filesystem{end}"
    absent = replace(config, disk=replace(config.disk, path=Path("/nowhere")))
    found = prove(absent)
    assert isinstance(found, Unreadable)
    assert found.why.startswith("/nowhere: No such file or directory: disk not attached?")


def test_a_read_only_disk(config: GuestConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors remount a filesystem read-only; nothing can be kept there."""
    mount = Mount(config.disk.path, "/dev/vdb", "ext4", read_only=True)
    monkeypatch.setattr(disk, "mount_at", lambda point: mount)
    assert _why(config) == "is read-only (dmesg shows why)"


def test_a_disk_whose_top_belongs_to_root(
    config: GuestConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As mkfs makes it: agents write below `spoteval/` alone, the run's user in `work`, and neither is root."""
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert isinstance(prove(config), DiskProof)


def test_a_disk_whose_filesystem_became_read_only(
    config: GuestConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The options of the mount still say rw then."""
    flags = SimpleNamespace(f_flag=os.ST_RDONLY | os.ST_RELATIME)
    monkeypatch.setattr(os, "statvfs", lambda path: flags)
    assert _why(config) == "is read-only (dmesg shows why)"


def test_another_disk(config: GuestConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another UUID, or one that cannot be read."""
    monkeypatch.setattr(disk, "uuid_of", lambda device: "ffff")
    assert _why(config) == f'UUID "ffff" is not the configured "{UUID}" (lsblk -f)'
    monkeypatch.setattr(disk, "uuid_of", lambda device: Unreadable("no udev"))
    assert _why(config) == "no udev"


@pytest.mark.parametrize(
    ("sentinel", "why"),
    [
        ({"instance": "gpu-2", "uuid": UUID}, 'sentinel belongs to "gpu-2", this is "gpu-1"'),
        (
            {"instance": "gpu-1", "uuid": "ffff"},
            f'sentinel was written on UUID "ffff", configured is "{UUID}"',
        ),
    ],
)
def test_a_foreign_sentinel(config: GuestConfig, sentinel: dict[str, str], why: str) -> None:
    """Another guest's disk, or a copy of this one's files on another disk."""
    write_record(config.disk.path / ".spoteval-disk.json", sentinel)
    assert _why(config) == why


def test_a_damaged_sentinel_is_no_proof(config: GuestConfig) -> None:
    """Cut at each byte it is refused, never taken for a fresh disk."""
    path = config.disk.path / ".spoteval-disk.json"
    whole = path.read_bytes()
    for size in range(len(whole) - 1):
        path.write_bytes(whole[:size])
        assert isinstance(prove(config), Unreadable)


def test_adopting_a_fresh_disk(config: GuestConfig) -> None:
    """The sentinel is written once, and then proves the disk."""
    (config.disk.path / ".spoteval-disk.json").unlink()
    assert _why(config) == "no sentinel (spoteval setup guest --adopt writes it)"
    assert adopt(config, read_now().wall)
    assert not adopt(config, read_now().wall)
    assert isinstance(prove(config), DiskProof)
