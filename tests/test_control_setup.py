"""setup guest, its pure parts: the mount line, the units' drop-ins, which disk may be adopted, whose files are."""

import os
import pwd
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guest_world import guest
from spoteval.config.draft import GuestDraft, StoreDraft
from spoteval.config.guest import guest_of
from spoteval.config.host import host_of
from spoteval.control import runowner
from spoteval.control.disk_adopt import entry_of, is_adopted, refusal, rows
from spoteval.control.disk_look import DiskLook
from spoteval.control.dropins import RUN, credential_names, dropins, mount_unit
from spoteval.control.fstab import Entry, checked
from spoteval.control.refused import Refused
from spoteval.control.runowner import give_work
from spoteval.files import append_line, held, make_folder, touch, write_whole
from spoteval.machine.disk import Mount, label_of, whole_disks
from spoteval.report import check_guest
from spoteval.report.agents import restart_command
from spoteval.shape import Table, Unreadable

POINT = Path("/mnt/durable")
ENTRY = Entry("UUID=ab", POINT, "ext4")
LINE = "UUID=ab /mnt/durable ext4 nofail,x-systemd.device-timeout=60s 0 2"
MOUNT = Mount(POINT, "/dev/vdb", "ext4", read_only=False)
LOOK = DiskLook(POINT, MOUNT, uuid="ab", label="durable", size=10**12, used=10**9)
MORE = """[[server]]
unit = "vllm.service"
model = "m"
credential = "model-key"
[run]
harness = "directory"
settlement = "none"
user = "eval"
[run.secret_env]
JUDGE = "judge-key"
KEY = "model-key"
"""


@pytest.mark.parametrize(
    ("text", "ok", "line"),
    [
        ("", False, LINE),
        ("# UUID=ab /mnt/durable ext4 nofail 0 2\n", False, LINE),
        ("UUID=cd /mnt/durable2 ext4 defaults 0 2", False, LINE),
        (LINE, True, LINE),
        ("a /mnt/durable xfs x-systemd.device-timeout=5s,nofail 0 0\n", True, None),
        ("a /mnt/durable xfs nofail", False, "a /mnt/durable xfs nofail,x-systemd.device-timeout=60s 0 0"),
        ("a /mnt/durable", False, "a /mnt/durable auto defaults,nofail,x-systemd.device-timeout=60s 0 0"),
    ],
)  # fmt: skip
def test_a_mount_line_is_found_or_made(text: str, ok: bool, line: str | None) -> None:
    """A comment and another mount point are none; a timeout of its own stands."""
    found = checked(text, ENTRY)
    assert found.ok is ok
    assert line is None or found.line == line
    assert found.ok or line in found.text.splitlines()


@given(st.text(alphabet=st.characters(blacklist_categories=["Cs", "Cc"]), max_size=80))
def test_what_else_stands_in_the_table_stays(before: str) -> None:
    """Whatever it is; and the new table is found whole."""
    text = f"{before}\n"
    found = checked(text, ENTRY)
    if not any("/mnt/durable" in line for line in text.splitlines()):
        assert found.text == text + LINE + "\n"
    assert checked(found.text, ENTRY).ok


@pytest.mark.parametrize(
    ("point", "unit"),
    [
        ("/mnt/durable", "mnt-durable.mount"),
        ("/srv/my-disk", "srv-my\\x2ddisk.mount"),
        ("/.hidden/a b", "\\x2ehidden-a\\x20b.mount"),
        ("/a.b_c:d", "a.b_c:d.mount"),
    ],
)
def test_a_mount_point_has_its_unit(point: str, unit: str) -> None:
    """As `systemd-escape --path --suffix=mount` names it."""
    assert mount_unit(Path(point)) == unit


def test_each_unit_gets_the_keys_that_it_needs_and_no_other(tmp_path: Path) -> None:
    """The run those of its harness, as its own user; the follower all, to withhold files that hold one."""
    config = guest(tmp_path, MORE).config
    assert credential_names(config) == ("model-key", "judge-key")
    found = dropins(config, Path("/c"), ["model-key", "judge-key"])
    assert (
        "User=eval\nLoadCredential=judge-key:/c/judge-key\nLoadCredential=model-key:/c/model-key\n"
        in found[RUN]
    )
    follower = found["spoteval-publication-follower.service"]
    assert follower.count("LoadCredential=") == 2
    guard = found["spoteval-idle-guard.service"]
    assert guard.endswith("[Service]\nLoadCredential=model-key:/c/model-key\n")
    assert "LoadCredential" not in found["spoteval-shutdown-hook.service"]


def test_a_credential_that_is_absent_keeps_no_unit_from_starting(tmp_path: Path) -> None:
    """systemd starts none that is given a file that is not there: a guard least of all may stay down."""
    found = dropins(guest(tmp_path, MORE).config, Path("/c"), [])
    assert "LoadCredential" not in "".join(found.values())
    assert "spoteval-idle-guard.service" not in found


def test_the_run_stops_before_its_model_servers(tmp_path: Path) -> None:
    """Else a shutdown makes each episode in flight an error of the server. No agent waits for a server at boot."""
    config = guest(tmp_path, MORE).config
    found = dropins(config, Path("/c"), [])
    assert "[Unit]\nAfter=" in found[RUN]
    assert {unit for unit, text in found.items() if "After=vllm.service\n" in text} == {RUN}


@pytest.mark.parametrize(
    ("harness", "line"), [("directory", "KillSignal=SIGTERM\n"), ("inspect", "")]
)
def test_the_run_is_stopped_the_way_of_its_harness(tmp_path: Path, harness: str, line: str) -> None:
    """Also by who types `systemctl stop`: the unit says SIGINT, and a drop-in what differs from it."""
    text = MORE.replace('"directory"', f'"{harness}"').replace('"none"', '"fresh_budget"')
    found = dropins(guest(tmp_path, text).config, Path("/c"), [])[RUN]
    assert "".join(f"{part}\n" for part in found.splitlines() if "KillSignal" in part) == line


def test_the_mount_is_named_as_units_are_named(tmp_path: Path) -> None:
    """With single backslashes: systemd keeps them as they are in lists of units."""
    config = guest(tmp_path).config
    odd = replace(config, disk=replace(config.disk, path=Path("/srv/my-disk")))
    assert "After=srv-my\\x2ddisk.mount\n" in dropins(odd, Path("/c"), [])[RUN]


def test_the_usual_mount_point_needs_no_drop_in(tmp_path: Path) -> None:
    """The units name it themselves."""
    config = guest(tmp_path).config
    usual = replace(config, disk=replace(config.disk, path=POINT))
    assert dropins(usual, Path("/c"), []) == {}


def test_rows_show_what_a_person_knows_a_disk_by() -> None:
    """And the mount line names it by what outlives another order of devices."""
    look = replace(LOOK, names=("models", "old"), more=3)
    assert dict(rows(look)) == {
        "device": "/dev/vdb (ext4)",
        "UUID": "ab",
        "label": "durable",
        "size": "1000.0 GB",
        "used": "1.0 GB",
        "holds": "models, old and 3 more",
    }
    assert entry_of(look).line == LINE
    assert entry_of(replace(look, uuid=Unreadable("no udev"))).source == "LABEL=durable"
    assert entry_of(replace(look, uuid="", label=None)).source == "/dev/vdb"
    assert Entry("pool:/vol", Path("/a b"), "nfs").line.startswith("pool:/vol /a\\040b nfs ")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({}, None),
        ({"with_system": "/boot"}, "is on the disk of /boot, which the machine boots from"),
        ({"writable": False}, "is read-only"),
        ({"mount": None}, "nothing is mounted there"),
        ({"path": Path("/home/ana/durable")}, "is below /home, which the agents' units do not see"),
        ({"path": Path("/homes/durable")}, None),
        ({"sentinel": Table({"instance": "gpu-9"}, "s")}, 'belongs to "gpu-9"'),
        ({"sentinel": Table({"instance": "gpu-1"}, "s")}, None),
        ({"sentinel": Unreadable("torn")}, "torn: whose disk"),
    ],
)
def test_which_disk_may_be_adopted(
    tmp_path: Path, changes: dict[str, object], why: str | None
) -> None:
    """Data on it is no reason against it."""
    look = replace(LOOK, names=("data",), **changes)  # type: ignore[arg-type]
    found = refusal(look, replace(guest(tmp_path).config, provider="command"))
    assert found is None if why is None else str(found).startswith(why)
    assert is_adopted(look) is ("sentinel" in changes)


def test_a_partition_lies_on_its_disk_and_a_mapping_on_all_of_its_own(tmp_path: Path) -> None:
    """By the kernel's own tree; what is no block device lies on none."""
    for name in ("pci/vda/vda1", "pci/vdb", "virtual/dm-0/slaves/vda1", "virtual/dm-0/slaves/vdb"):
        (tmp_path / "devices" / name).mkdir(parents=True)
    (tmp_path / "devices/pci/vda/vda1/partition").write_text("1")
    block = tmp_path / "class"
    block.mkdir()
    for name in ("pci/vda", "pci/vda/vda1", "pci/vdb", "virtual/dm-0"):
        (block / Path(name).name).symlink_to(tmp_path / "devices" / name)
    assert whole_disks("/dev/vda1", block) == {"vda"} == whole_disks("/dev/vda", block)
    assert whole_disks("/dev/dm-0", block) == {"vda", "vdb"}
    assert whole_disks("overlay", block) == frozenset() == whole_disks("/dev/none", block)
    assert label_of("/dev/vda", tmp_path / "no-such") is None


def test_a_drafted_host_file_is_read_as_it_was_meant(tmp_path: Path) -> None:
    """Also where an answer holds what TOML escapes."""
    import tomllib

    store = StoreDraft('file:///a"b\\c\x7f')
    draft = GuestDraft("gpu-1", "command", store, Path("/mnt/d"), "uuid", "ab")
    config = guest_of(host_of(tmp_path / "c", tomllib.loads(draft.text()), "guest"))
    assert (config.instance, config.store.url) == ("gpu-1", 'file:///a"b\\c\x7f')
    assert (config.disk.uuid, config.disk.identity) == ("ab", "uuid")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_root_writes_belongs_to_whom_its_folder_belongs(tmp_path: Path) -> None:
    """People type with sudo what the agents must read, append to and remove."""
    folder = tmp_path / "spoteval"
    folder.mkdir()
    os.chown(folder, 1234, 1235)
    write_whole(folder / "runs" / "swe" / "run.json", b"{}")
    append_line(folder / "runs" / "swe" / "events.jsonl", {"at": 1})
    touch(folder / "holds" / "guest", "why")
    make_folder(folder / "a" / "b")
    found = {path.stat().st_uid for path in folder.rglob("*")}
    assert found == {1234}
    assert {path.stat().st_gid for path in folder.rglob("*")} == {1235}
    assert stat.S_IMODE((folder / "holds" / "guest").stat().st_mode) == 0o644


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_the_harness_directory_belongs_to_the_runs_user(tmp_path: Path) -> None:
    """In the agents' group; without a user it is the agents' own, and an unknown one is refused."""
    os.chown(tmp_path, 1234, 1235)
    give_work(tmp_path / "run" / "work", "nobody")
    found = (tmp_path / "run" / "work").stat()
    assert (found.st_uid, found.st_gid) == (pwd.getpwnam("nobody").pw_uid, 1235)
    assert stat.S_IMODE(found.st_mode) == 0o2775
    give_work(tmp_path / "other" / "work", "")
    assert (tmp_path / "other" / "work").stat().st_uid == 1234
    with pytest.raises(Refused, match='user "no-such": no such user'):
        give_work(tmp_path / "run" / "work", "no-such")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("user", ["root", "nobody"])
def test_a_run_is_neither_root_nor_the_agents(tmp_path: Path, user: str) -> None:
    """Whoever owns the holds could lift them."""
    os.chown(tmp_path, pwd.getpwnam("nobody").pw_uid, -1)
    with pytest.raises(Refused, match=f'user "{user}" may touch holds'):
        give_work(tmp_path / "work", user)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_run_that_names_no_user_has_one_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that the package makes, and that the run's unit names."""
    os.chown(tmp_path, 1234, 1235)
    monkeypatch.setattr(runowner, "RUN_USER", "nobody")
    give_work(tmp_path / "work", "")
    assert (tmp_path / "work").stat().st_uid == pwd.getpwnam("nobody").pw_uid


def test_agents_that_run_are_named_for_a_restart(tmp_path: Path) -> None:
    """A unit's keys are handed to it when it starts; the run itself is never among them."""
    assert restart_command(tmp_path) is None
    with held(tmp_path / "idle-guard.lock"), held(tmp_path / "boot-resume.lock"):
        command = restart_command(tmp_path)
    assert command == "systemctl restart spoteval-boot-resume spoteval-idle-guard"


@pytest.mark.parametrize(
    ("text", "verdict"),
    [(None, None), (f"{LINE}\n", "ok"), ("UUID=ab /mnt/durable ext4 defaults 0 2\n", "warn")],
)
def test_check_looks_at_the_mount_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, verdict: str | None
) -> None:
    """Without nofail a missing disk is emergency mode, in which nothing ends the machine."""
    monkeypatch.setattr(check_guest, "look_at", lambda point: LOOK)
    fstab = tmp_path / "fstab"
    if text is not None:
        fstab.write_text(text)
    found = [one.verdict for one in check_guest.mount_check(POINT, fstab)]
    assert found == ([] if verdict is None else [verdict])
