"""Known failures of tools that publish, those that take the audit, parts of large files, and keys."""

import os
import re
from pathlib import Path
from stat import S_IMODE

import pytest

from follower_world import RUN, Guest
from spoteval.files import read_lines
from spoteval.publication.pull import pull
from spoteval.publication.verify import VerifyReport, verify
from spoteval_agents.publication_follower.audit import EVERY_S
from spoteval_agents.publication_follower.auditing import audit
from spoteval_agents.publication_follower.cycle import cycle

SEGMENT = re.compile(r"[A-Za-z0-9._=+@,~%-]{1,255}")
MOST_KEY_BYTES = 1024


@pytest.fixture
def guest(tmp_path: Path) -> Guest:
    """A guest, with nothing in it yet."""
    return Guest(tmp_path / "guest")


def passes(guest: Guest, count: int = 2) -> None:
    """Time passes, then a pass; so many times."""
    for _ in range(count):
        guest.later(61)
        cycle(guest.world, guest.memory)


def test_failure_02_a_rewrite_with_the_old_time_is_told_and_never_put_over_what_is_there(
    guest: Guest, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Same size, same mtime, other bytes, after it was published: the store keeps its own, a person is told once."""
    guest.finish("1", {"log.txt": b"AAAA"})
    passes(guest)
    path = guest.paths.work / "episodes/1/log.txt"
    before = path.stat()
    path.write_bytes(b"BBBB")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    guest.asked()
    passes(guest, 5)
    assert guest.asked() == []
    for _ in range(3):
        guest.later(EVERY_S)
        cycle(guest.world, guest.memory)
        audit(guest.world, guest.memory)
    said = "episodes/1/log.txt: changed after it was published (as many bytes as then)"
    calls = [line["reason"] for line in read_lines(guest.paths.events).records if "reason" in line]
    assert [str(reason)[: len(said)] for reason in calls] == [said]
    assert capsys.readouterr().err.count(said) == 1
    assert [key for key in guest.asked() if "/episodes/" in key] == []
    assert guest.store.inner.get(f"runs/{RUN}/episodes/1/1/log.txt") == b"AAAA"
    assert pull(guest.store, RUN, tmp_path / "out").verified


def test_failure_13_keys_are_such_as_every_service_takes(guest: Guest, tmp_path: Path) -> None:
    """Names at their limits, deep folders, signs, blanks: keys of plain letters, and all of it comes back."""
    deep = "/".join(["d" * 60] * 8)
    files = {
        f"{deep}/x": b"deep",
        "y" * 250: b"long",
        "back\\slash": b"1",
        " lead and trail ": b"2",
        "é" * 100: b"3",
        "a..b/.c/..d": b"4",
    }
    guest.finish("1", files)
    guest.finish("2")
    passes(guest)
    keys = guest.keys("episodes/")
    assert any(key.startswith("episodes/2/") for key in keys)
    for key in keys:
        whole = f"team/runs/{RUN}/{key}"
        assert len(whole.encode()) <= MOST_KEY_BYTES
        parts = key.split("/")
        assert all(SEGMENT.fullmatch(part) for part in parts), key
        assert {".", ".."}.isdisjoint(parts)
    assert pull(guest.store, RUN, tmp_path / "out").verified
    back = tmp_path / "out/episodes/1/1"
    assert {name: (back / name).read_bytes() for name in files} == files


def test_failure_14_empty_folders_modes_and_links_come_back(guest: Guest, tmp_path: Path) -> None:
    """A database's folder that lost its empty ones does not start."""
    top = guest.paths.work / "episodes/1"
    (top / "pg/empty/deeper").mkdir(parents=True)
    (top / "pg").chmod(0o700)
    (top / "pg/empty/deeper").chmod(0o750)
    (top / "latest").symlink_to("pg/version")
    guest.finish("1", {"pg/version": b"15\n"})
    (top / "pg/version").chmod(0o600)
    passes(guest)
    assert pull(guest.store, RUN, tmp_path / "out").verified
    back = tmp_path / "out/episodes/1/1"
    for name, mode in (("pg", 0o700), ("pg/empty/deeper", 0o750), ("pg/version", 0o600)):
        assert S_IMODE((back / name).stat().st_mode) == mode
    assert str((back / "latest").readlink()) == "pg/version"
    report = verify(tmp_path / "out")
    assert isinstance(report, VerifyReport)
    assert report.differences == ()
