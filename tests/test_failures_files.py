"""Known failures of tools that publish, 1 to 16: what lies on the disk. Each test has the number of its failure."""

import contextlib
import json
import os
import socket
from pathlib import Path
from stat import S_IFCHR, S_IMODE

import pytest

from follower_world import RUN, Guest
from spoteval.control import requests
from spoteval.control.requests import FINAL, Answer
from spoteval.publication.keys import manifest_key, part_key
from spoteval.publication.pull import pull
from spoteval.publication.verify import VerifyReport, verify, verify_store
from spoteval_agents.publication_follower.cycle import cycle

LONG_AGO_S, A_DAY_S = 7200.0, 86_400.0


@pytest.fixture
def guest(tmp_path: Path) -> Guest:
    """A guest with one finished episode, published, and at rest."""
    guest = Guest(tmp_path / "guest")
    guest.finish("1")
    passes(guest, 3)
    guest.asked()
    return guest


def passes(guest: Guest, count: int = 1, each_s: float = 61.0) -> None:
    """Time passes, then a pass; so many times."""
    for _ in range(count):
        guest.later(each_s)
        cycle(guest.world, guest.memory)


def folder(guest: Guest, episode: str) -> Path:
    """Where an episode lies."""
    return guest.paths.work / "episodes" / episode


def quiet(guest: Guest) -> list[str]:
    """What the store has, signs of life apart."""
    keys = guest.keys()
    return [key for key in keys if not key.startswith("heartbeat/")]


def published(guest: Guest) -> list[str]:
    """The episodes that the store has, by their manifests."""
    keys = guest.keys("episodes/")
    return sorted({key.split("/")[1] for key in keys if key.endswith("/MANIFEST.json")})


def test_failure_01_a_file_still_being_written_is_never_published_torn(
    guest: Guest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its end mark no byte of an episode goes; one that grows while it is read waits for the next pass."""
    growing = folder(guest, "2") / "trajectory.jsonl"
    growing.parent.mkdir()
    growing.write_bytes(b"line\n" * 1000)
    passes(guest)
    assert guest.keys("episodes/2/") == []
    guest.finish("3", {"log.txt": b"begin\n"})
    busy, real, target = [True], os.fsync, folder(guest, "3") / "log.txt"

    def fsync(descriptor: int) -> None:
        real(descriptor)
        if busy[0] and Path(f"/proc/self/fd/{descriptor}").readlink() == target:
            with target.open("ab") as file:
                file.write(b"more\n")

    monkeypatch.setattr(os, "fsync", fsync)
    passes(guest)
    assert published(guest) == ["1"]
    busy[0] = False
    passes(guest, 2)
    assert published(guest) == ["1", "3"]
    key = part_key(RUN, "3", 1, "log.txt")
    assert guest.store.inner.get(key) == target.read_bytes()


def test_failure_03_a_touch_of_a_thousand_files_sends_nothing(guest: Guest) -> None:
    """Times change, bytes do not: no request."""
    for episode in range(10, 20):
        guest.finish(str(episode), {f"{number}.txt": b"x" for number in range(99)})
    passes(guest, 4)
    assert len(published(guest)) == 11
    guest.asked()
    for path in guest.paths.work.rglob("*"):
        path.touch()
    passes(guest, 3)
    assert guest.asked() == []


def test_failure_04_what_is_moved_in_with_an_old_date_is_published(guest: Guest) -> None:
    """Renamed into place with times of two hours ago: in the next pass; after a day without passes, all that came."""
    staged = guest.root / "staged"
    guest.finish("2")
    folder(guest, "2").rename(staged)
    passes(guest, 2)
    for path in (*staged.iterdir(), staged):
        os.utime(path, (path.stat().st_mtime - LONG_AGO_S,) * 2)
    staged.rename(folder(guest, "2"))
    passes(guest)
    assert published(guest) == ["1", "2"]
    for episode in ("3", "4", "5"):
        guest.finish(episode)
    guest.restart()
    passes(guest, 1, A_DAY_S)
    assert published(guest) == ["1", "2", "3", "4", "5"]


def test_failure_05_nothing_new_asks_nothing(guest: Guest) -> None:
    """No HEAD, no LIST, no GET, no PUT, in a hundred passes."""
    passes(guest, 100, 2.5)
    assert guest.asked() == []


def test_failure_07_a_vanished_source_wipes_nothing(
    guest: Guest, capsys: pytest.CaptureFixture[str]
) -> None:
    """The disk is gone, or is there and empty: it is said, the store is what it was, and no delete can be called."""
    before = quiet(guest)
    episodes, away = guest.paths.work / "episodes", guest.root / "away"
    episodes.rename(away)
    passes(guest, 2)
    away.rename(episodes)
    disk = guest.disk.disk
    disk.rename(guest.root / "unmounted")
    disk.mkdir()
    capsys.readouterr()
    passes(guest, 2)
    assert "decision=no-disk" in capsys.readouterr().err
    assert guest.asked() == []
    assert quiet(guest) == before
    assert not any("delete" in name or "remove" in name for name in dir(guest.store.inner))


def test_failure_11_a_loop_of_links_is_not_followed(guest: Guest, tmp_path: Path) -> None:
    """A link to its own folder and one out of the run: nothing behind them is read, the rest is published."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("key")
    loop = folder(guest, "2")
    loop.mkdir()
    (loop / "loop").symlink_to(loop, target_is_directory=True)
    (loop / "out").symlink_to(tmp_path / "outside", target_is_directory=True)
    (loop / "file").symlink_to(tmp_path / "outside/secret")
    guest.finish("2")
    passes(guest, 2)
    parts = [key for key in guest.keys("episodes/2/") if not key.endswith("MANIFEST.json")]
    assert sorted(key.rpartition("/")[2] for key in parts) == ["episode.json", "log.txt"]
    assert published(guest) == ["1", "2"]


ODD = (b"\xff\xfe not text", b"new\nline", b"%2F+& =\x01", "ä ü 日本".encode(), b"x" * 255)
BELOW, LINK, GOAL = b"folder \xc3", b"link \xe9", b"to \xf0\x28"
"""A folder, a link and where it leads, none of them text."""


def test_failure_12_odd_names_block_nothing_and_come_back(guest: Guest, tmp_path: Path) -> None:
    """Names that are no text, line ends, signs that mean something in keys, the longest there are: byte for byte."""
    odd, files = folder(guest, "2"), [*ODD, BELOW + b"/" + ODD[0]]
    named(odd, BELOW).mkdir(parents=True)
    named(odd, BELOW + b" empty").mkdir(0o750)
    named(odd, LINK).symlink_to(os.fsdecode(GOAL))
    for name in files:
        named(odd, name).write_bytes(name)
    guest.finish("2")
    guest.finish("3")
    passes(guest, 2)
    assert published(guest) == ["1", "2", "3"]
    assert pull(guest.store, RUN, tmp_path / "out").verified
    back = tmp_path / "out/episodes/2/1"
    names = {path.name for path in back.iterdir()}
    assert names == {"MANIFEST.json", *(path.name for path in odd.iterdir())}
    assert [named(back, name).read_bytes() for name in files] == files
    assert os.fsencode(named(back, LINK).readlink()) == GOAL
    assert S_IMODE(named(back, BELOW + b" empty").stat().st_mode) == 0o750
    assert verify_store(guest.store, RUN).verified
    assert missing(tmp_path / "out") == []
    named(back, ODD[0]).unlink()
    assert missing(tmp_path / "out") == [f"episodes/2/1/{os.fsdecode(ODD[0])}"]


def named(folder: Path, name: bytes) -> Path:
    """A file whose name may be no text."""
    return folder / os.fsdecode(name)


def missing(target: Path) -> list[str]:
    """What a pulled directory does not have any more, and nothing else differs."""
    found = verify(target)
    assert isinstance(found, VerifyReport)
    assert {item.what for item in found.differences} <= {"missing"}
    return [item.path for item in found.differences]


@pytest.mark.parametrize("kind", ["pipe", "socket", "device"])
def test_failure_15_what_is_no_file_is_never_opened(
    guest: Guest, unblocked: None, kind: str, tmp_path: Path
) -> None:
    """A pipe to which nobody writes, a socket, a device: named in the manifest, told of by a pull, never opened."""
    special(folder(guest, "2"), kind)
    guest.finish("2")
    passes(guest, 2)
    assert published(guest) == ["1", "2"]
    keys = guest.keys()
    assert not any(kind in key for key in keys)
    found = pull(guest.store, RUN, tmp_path / "out")
    assert found.verified
    assert [(item.path, item.kind) for item in found.left] == [(f"episodes/2/1/{kind}", "special")]
    assert not (tmp_path / "out/episodes/2/1" / kind).exists()


def special(at: Path, kind: str) -> None:
    """Something that has no bytes."""
    at.mkdir()
    if kind == "pipe":
        os.mkfifo(at / kind)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as one, contextlib.chdir(at):  # its path is short
            one.bind(kind)
    elif os.geteuid() == 0:
        os.mknod(at / kind, S_IFCHR | 0o600, os.makedev(1, 5))
    else:
        pytest.skip("only root makes a device")


def test_failure_15_a_sparse_file_comes_back_by_its_bytes(guest: Guest, tmp_path: Path) -> None:
    """A hole is read as zeros, once, and its size is in the manifest before anybody pulls it."""
    folder(guest, "2").mkdir()
    with (folder(guest, "2") / "sparse").open("wb") as file:
        file.truncate(1 << 20)
        file.seek(1 << 19)
        file.write(b"in the middle")
    guest.finish("2")
    passes(guest, 2)
    held = (folder(guest, "2") / "sparse").read_bytes()
    assert guest.store.inner.get(part_key(RUN, "2", 1, "sparse")) == held
    manifest = json.loads(guest.store.inner.get(manifest_key(RUN, "2", 1)))
    (entry,) = [part for part in manifest["parts"] if part["name"] == "sparse"]
    assert entry["size"] == 1 << 20
    assert pull(guest.store, RUN, tmp_path / "out").verified
    assert (tmp_path / "out/episodes/2/1/sparse").read_bytes() == held


def test_failure_16_errors_are_counted_where_they_are_read(
    guest: Guest, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was refused is in the line, in the answer, and in what is left: nobody is told that all is well."""
    guest.finish("2")
    guest.finish("3")
    guest.store.refused = ("episodes/2/",)
    asked = requests.ask(guest.disk, FINAL, "end-handler", 30.0, guest.clock())
    passes(guest)
    answer = requests.answer(guest.disk, asked)
    assert isinstance(answer, Answer)
    assert (answer.published, answer.left, answer.backlog) == (1, 1, 1)
    line = capsys.readouterr().err
    assert "episodes=1" in line
    assert "backlog=1" in line
    assert "File name too long" in line
