"""What a stop cut: which files tell of it, and that copying them costs no more than its time."""

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from spoteval.harness.plans import salvage_files
from spoteval.shape import Reading, Unreadable
from spoteval_agents.shutdown_hook.salvage import Salvaged, salvage
from spoteval_agents.shutdown_hook.watch import Polled

BUFFER = "home/.local/share/inspect_ai/samplebuffer"


def put(work: Path, name: str, at_s: float = 1000.0) -> Path:
    """A file that changed at this second."""
    path = work / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(name)
    os.utime(path, (at_s, at_s))
    return path


def test_of_inspect_the_buffers_and_the_newest_log(tmp_path: Path) -> None:
    """Newest first; older logs, temporaries of the harness and links are left out."""
    put(tmp_path, "logs/old.eval", 1)
    log = put(tmp_path, "logs/new.eval", 2)
    put(tmp_path, "logs/.inspect_tmp_x.writing", 9)
    wal = put(tmp_path, f"{BUFFER}/ab/new.eval.7.db-wal", 5)
    db = put(tmp_path, f"{BUFFER}/ab/new.eval.7.db", 4)
    (tmp_path / BUFFER / "ab" / "link.eval.8.db").symlink_to("/etc/hostname")
    assert salvage_files("inspect", tmp_path) == (wal, db, log)
    assert salvage_files("inspect", tmp_path / "none") == ()


def test_of_a_directory_run_the_episodes_that_have_not_ended(tmp_path: Path) -> None:
    """Whole trees; what has its episode.json is finished and stays where it is."""
    put(tmp_path, "episodes/1/episode.json")
    put(tmp_path, "episodes/1/log")
    cut = {put(tmp_path, "episodes/2/log"), put(tmp_path, "episodes/2/deep/er")}
    assert set(salvage_files("directory", tmp_path)) == cut


@pytest.mark.parametrize("link", ["episodes", "episodes/1", "episodes/1/deep"])
def test_no_link_leads_to_a_key_of_the_agents(tmp_path: Path, link: str) -> None:
    """What is copied the run may read afterwards: a link in its own directory must not make it a copy."""
    key = put(tmp_path, "credentials/1/deep/publisher")
    work = tmp_path / "work"
    (work / link).parent.mkdir(parents=True)
    to = {"episodes": key.parents[2], "episodes/1": key.parents[1]}.get(link, key.parent)
    (work / link).symlink_to(to)
    assert (work / "episodes/1/deep/publisher").is_file()
    assert salvage_files("directory", work) == ()


@pytest.mark.parametrize(("link", "name"), [("logs", "x.eval"), (BUFFER, "a/x.eval.7.db")])
def test_no_link_leads_inspect_elsewhere(tmp_path: Path, link: str, name: str) -> None:
    """Nor one in the place of its logs or buffers."""
    put(tmp_path / "else", name)
    work = tmp_path / "work"
    (work / link).parent.mkdir(parents=True)
    (work / link).symlink_to(tmp_path / "else")
    assert salvage_files("inspect", work) == ()


def test_a_harness_that_nobody_knows_is_an_error() -> None:
    """Not an empty answer."""
    with pytest.raises(KeyError):
        salvage_files("x", Path("/"))


def copied(to: Path) -> list[str]:
    """What lies there, hidden leftovers included."""
    return sorted(str(path.relative_to(to)) for path in to.rglob("*") if path.is_file())


def test_files_lie_as_they_lay(tmp_path: Path) -> None:
    """And once more copies nothing."""
    files = (put(tmp_path / "w", "a/1"), put(tmp_path / "w", "b"))
    for _ in range(2):
        done = salvage(files, tmp_path / "w", tmp_path / "to", 0, lambda: True)
        assert copied(tmp_path / "to") == ["a/1", "b"]
        assert done == Salvaged(2, (), out_of_time=False)


@pytest.mark.parametrize(("at_s", "fresh"), [(999.0, False), (1000.0, True), (1001.0, True)])
def test_what_did_not_change_in_this_life_tells_nothing(
    tmp_path: Path, at_s: float, fresh: bool
) -> None:
    """Leftovers of earlier lives were copied by them."""
    files = (put(tmp_path / "w", "a", at_s),)
    done = salvage(files, tmp_path / "w", tmp_path / "to", 1000 * 10**9, lambda: True)
    assert done.copied == int(fresh)


def test_one_that_fails_costs_only_itself(tmp_path: Path) -> None:
    """A link put there since; one that vanished before the first look is none at all."""
    good = put(tmp_path / "w", "good")
    put(tmp_path / "w", "gone").unlink()
    (tmp_path / "w" / "link").symlink_to(good)
    names = ("gone", "link", "good")
    files = tuple(tmp_path / "w" / name for name in names)
    done = salvage(files, tmp_path / "w", tmp_path / "to", 0, lambda: True)
    assert done == Salvaged(1, (f"link: {os.strerror(errno.ELOOP)}",), out_of_time=False)
    assert done.text() == f"1 copied; link: {os.strerror(errno.ELOOP)}"


def test_no_time_is_said(tmp_path: Path) -> None:
    """What is whole stays; nothing half lies about."""
    files = tuple(put(tmp_path / "w", name) for name in "abc")
    answers = iter(
        [True, True, True, True]
    )  # the first file: asked before it, and for its two slices
    done = salvage(files, tmp_path / "w", tmp_path / "to", 0, lambda: next(answers, False))
    assert done == Salvaged(1, (), out_of_time=True)
    assert done.text() == "1 copied; out of time"
    assert copied(tmp_path / "to") == ["a"]


def sequence(
    *values: Reading[int] | Exception,
) -> tuple[Callable[[], Reading[int]], threading.Event]:
    """A reading that answers so, in turn, and hangs after them; the event says that it does."""
    left, hangs = list(values), threading.Event()

    def read() -> Reading[int]:
        if not left:
            hangs.set()
            threading.Event().wait()
        value = left.pop(0)
        if isinstance(value, Exception):
            raise value
        return value

    return read, hangs


def test_a_reading_that_hangs_keeps_its_last_value() -> None:
    """The first is there when the object is; nobody waits for the one that never comes."""
    read, hangs = sequence(1, 2)
    polled = Polled("x", read, 0.001)
    assert polled.value == 1
    polled.start()
    assert hangs.wait(30)
    assert polled.value == 2


def test_a_reading_that_fails_is_unreadable() -> None:
    """And is taken again."""
    read, hangs = sequence(OSError("EIO"), ValueError("x"), Unreadable("y"))
    polled = Polled("x", read, 0.001)
    assert polled.value == Unreadable("OSError: EIO")
    polled.start()
    assert hangs.wait(30)
    assert polled.value == Unreadable("y")
