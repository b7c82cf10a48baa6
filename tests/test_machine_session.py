"""Sessions, mounts, and the disk that proves itself."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from spoteval.config.guest import GuestConfig, read_guest
from spoteval.control.disk import DiskProof, adopt, prove
from spoteval.files import write_record
from spoteval.machine.disk import Mount, mount_at, uuid_of
from spoteval.machine.session import this_session
from spoteval.shape import Unreadable

AT = datetime(2026, 12, 1, tzinfo=UTC)
MOUNTS = """\
22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
90 22 254:16 / /mnt/durable\\040disk rw,noatime shared:5 - ext4 /dev/vdb rw
91 22 254:17 / /mnt/ro ro,noatime shared:6 - xfs /dev/vdc ro
torn line
"""


def test_a_session_is_one_for_all_agents_of_a_life(tmp_path: Path) -> None:
    """Whoever asks first makes it; the others read it."""
    path = tmp_path / "session"
    first = this_session(path, "boot-1")
    assert this_session(path, "boot-1") == first
    assert len(first.id) == 8


def test_another_boot_id_is_another_session(tmp_path: Path) -> None:
    """A /run that outlived its boot does not lend its name to the next."""
    path = tmp_path / "session"
    first = this_session(path, "boot-1")
    os.utime(path, (0, 0))
    assert this_session(path, "boot-2").id != first.id


def test_two_views_of_one_life_are_one_session(tmp_path: Path) -> None:
    """In nspawn and LXC a person's shell is told another boot id than a unit with a sandbox."""
    path = tmp_path / "session"
    first = this_session(path, "boot-1")
    assert this_session(path, "boot-of-the-shell") == first


@pytest.mark.parametrize("damage", [b"", b"{", b"\x00" * 30, b'{"format": 1}'])
def test_a_damaged_session_file_is_made_anew(tmp_path: Path, damage: bytes) -> None:
    """A damaged file costs nothing but a new name."""
    path = tmp_path / "session"
    path.write_bytes(damage)
    fresh = this_session(path, "boot-1")
    assert this_session(path, "boot-1") == fresh


def test_mounts_are_read_as_the_kernel_writes_them(tmp_path: Path) -> None:
    """Octal escapes, read-only options, and lines that say nothing."""
    table = tmp_path / "mountinfo"
    table.write_text(MOUNTS)
    found = mount_at(Path("/mnt/durable disk"), table)
    assert not isinstance(found, Unreadable)
    assert found is not None
    assert (found.device, found.kind, found.read_only) == ("/dev/vdb", "ext4", False)
    read_only = mount_at(Path("/mnt/ro"), table)
    assert not isinstance(read_only, Unreadable)
    assert read_only is not None
    assert read_only.read_only
    assert mount_at(Path("/mnt"), table) is None
    after_an_error = table.read_text().replace("ext4 /dev/vdb rw", "ext4 /dev/vdb ro")
    assert after_an_error != table.read_text()
    table.write_text(after_an_error)
    found = mount_at(Path("/mnt/durable disk"), table)
    assert isinstance(found, Mount)
    assert found.read_only


def test_a_mount_point_may_have_any_name(tmp_path: Path) -> None:
    """Letters beyond ASCII stand in the table as they are, and another's name may be no text at all."""
    table = tmp_path / "mountinfo"
    rows = ("/mnt/dür\\040able".encode(), b"/mnt/\xff")
    table.write_bytes(
        b"".join(b"36 25 8:17 / " + row + b" rw - ext4 /dev/sdb1 rw\n" for row in rows)
    )
    found = mount_at(Path("/mnt/dür able"), table)
    assert isinstance(found, Mount)
    assert found.device == "/dev/sdb1"
    assert isinstance(mount_at(Path("/mnt"), tmp_path / "absent"), Unreadable)


def test_a_uuid_is_what_the_links_say(tmp_path: Path) -> None:
    """A device without a link, or no links at all, is unreadable and not another disk."""
    device = tmp_path / "vdb"
    device.touch()
    (links := tmp_path / "by-uuid").mkdir()
    (links / "0b5e").symlink_to(device)
    assert uuid_of(str(device), links) == "0b5e"
    assert isinstance(uuid_of(str(tmp_path / "vdc"), links), Unreadable)
    assert isinstance(uuid_of(str(device), tmp_path / "none"), Unreadable)


def config_at(tmp_path: Path, provider: str = "local") -> GuestConfig:
    path = tmp_path / "config.toml"
    path.write_text(
        f'[host]\nrole = "guest"\ninstance = "gpu-1"\n[provider]\nkind = "{provider}"\n'
        f'[disk]\npath = "{tmp_path / "disk"}"\nidentity = "sentinel"\n[store]\nurl = "file:///s"\n'
    )
    return read_guest(path)


def test_a_disk_proves_itself_by_its_sentinel_and_nothing_is_written(tmp_path: Path) -> None:
    """Adopted once; before that, no proof and no file."""
    config = config_at(tmp_path)
    assert isinstance(prove(config), Unreadable)
    assert not config.disk.path.exists()
    assert adopt(config, AT)
    assert not adopt(config, AT)
    assert isinstance(prove(config), DiskProof)


@pytest.mark.parametrize(
    ("record", "why"),
    [
        ({"instance": "gpu-2"}, 'sentinel belongs to "gpu-2", this is "gpu-1"'),
        ({}, "instance: missing"),
    ],
)
def test_a_foreign_sentinel_is_refused(tmp_path: Path, record: dict[str, object], why: str) -> None:
    """Another instance's disk is not ours to write on."""
    config = config_at(tmp_path)
    write_record(config.disk.path / ".spoteval-disk.json", record)
    found = prove(config)
    assert isinstance(found, Unreadable)
    assert why in found.why


def test_a_sentinel_cut_at_each_byte_is_no_proof(tmp_path: Path) -> None:
    """Damage refuses; it never proves."""
    config = config_at(tmp_path)
    adopt(config, AT)
    sentinel = config.disk.path / ".spoteval-disk.json"
    whole = sentinel.read_bytes()
    for length in range(len(whole) - 1):
        sentinel.write_bytes(whole[:length])
        assert isinstance(prove(config), Unreadable)
