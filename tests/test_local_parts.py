"""local: what the guest's events say, the notify socket, the journal, and where paths lie."""

import os
import socket
from datetime import UTC, datetime
from pathlib import Path

import pytest

from spoteval.clock import Now
from spoteval.files import append_line
from spoteval.local.directories import LocalDirectories
from spoteval.local.journal import Journal
from spoteval.local.notify import NotifySocket
from spoteval.local.progress import Progress

NOW = Now(datetime(2026, 12, 1, tzinfo=UTC), 0.0, "boot")


def events(durable: Path, run: str = "r") -> Path:
    """The events of a run."""
    return durable / "spoteval" / "runs" / run / "events.jsonl"


def activate(durable: Path, run: str = "r") -> None:
    """Make a run the active one."""
    (durable / "spoteval").mkdir(exist_ok=True)
    (durable / "spoteval" / "active").write_text(f"{run}\n")


def test_only_what_this_boot_wrote_is_its_progress(tmp_path: Path) -> None:
    """The events of the lives before stay in the same file."""
    activate(tmp_path)
    append_line(events(tmp_path), {"kind": "resume-began"}, durable=False)
    progress = Progress(tmp_path)
    assert progress.kinds() == frozenset()
    append_line(events(tmp_path), {"kind": "resume-began"}, durable=False)
    append_line(events(tmp_path), {"kind": "other"}, durable=False)
    assert progress.kinds() == {"resume-began"}
    append_line(events(tmp_path), {"kind": "first-episode"}, durable=False)
    assert progress.kinds() == {"resume-began", "first-episode"}


def test_a_run_may_become_active_later(tmp_path: Path) -> None:
    """Before that there is nothing to read; another run's events are not looked at."""
    progress = Progress(tmp_path)
    assert progress.kinds() == frozenset()
    append_line(events(tmp_path, "other"), {"kind": "first-episode"}, durable=False)
    append_line(events(tmp_path), {"kind": "resume-began"}, durable=False)
    activate(tmp_path)
    assert progress.kinds() == {"resume-began"}


def test_a_line_is_read_when_it_is_whole(tmp_path: Path) -> None:
    """Cut at each byte: the first half is not lost, the whole is seen once its newline is there."""
    line = b'{"kind": "resume-began"}\n'
    for cut in range(len(line)):
        durable = tmp_path / str(cut)
        activate_deep(durable)
        progress = Progress(durable)
        events(durable).write_bytes(line[:cut])
        assert progress.kinds() == frozenset()
        with events(durable).open("ab") as log:
            log.write(line[cut:])
        assert progress.kinds() == {"resume-began"}


def activate_deep(durable: Path) -> None:
    """An active run with its directory."""
    events(durable).parent.mkdir(parents=True)
    activate(durable)


@pytest.fixture
def notify() -> NotifySocket:
    """A unit's socket."""
    return NotifySocket()


def say(notify: NotifySocket, data: bytes) -> None:
    """What the service sends."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
        client.sendto(data, notify.address.replace("@", "\0"))


def test_only_the_main_process_is_heard(notify: NotifySocket) -> None:
    """A child that inherited the socket's name must not make the unit ready."""
    assert notify.messages(os.getpid()) == []
    say(notify, b"READY=1\nSTATUS=a=b")
    say(notify, b"no assignment")
    assert notify.messages(os.getpid()) == [("READY", "1"), ("STATUS", "a=b")]
    say(notify, b"READY=1")
    assert notify.messages(os.getpid() + 1) == []
    notify.close()


def test_the_journal_stamps_whole_lines(tmp_path: Path) -> None:
    """A line that comes in pieces is one line; units do not mix."""
    journal = Journal(tmp_path / "j")
    journal.take("a", b"one\ntw", NOW)
    journal.take("b", b"other\n", NOW)
    journal.take("a", b"o\n\n", NOW)
    journal.say("a", "active", NOW)
    stamp = "2026-12-01T00:00:00.000Z"
    assert (tmp_path / "j" / "a.log").read_text() == (
        f"{stamp} one\n{stamp} two\n{stamp} \n{stamp} -- active\n"
    )
    assert (tmp_path / "j" / "b.log").read_text() == f"{stamp} other\n"


def test_what_a_unit_is_told() -> None:
    """The directories of the local host, our tools first in PATH, and nothing else of ours."""
    directories = LocalDirectories(Path("/n"))
    told = directories.environment({"PATH": "/bin", "HOME": "/h", "AWS_SECRET": "x", "TZ": "UTC"})
    path = told.pop("PATH")
    assert path.endswith(":/bin")
    assert told == {
        "HOME": "/h",
        "TZ": "UTC",
        "SPOTEVAL_CONFIG": "/n/config.toml",
        "RUNTIME_DIRECTORY": "/n/run",
        "STATE_DIRECTORY": "/n/state",
        "CREDENTIALS_DIRECTORY": "/n/credentials",
    }


@pytest.mark.parametrize(
    ("real", "local"),
    [
        ("/run/spoteval/poweroff", "/n/run/poweroff"),
        ("/run/spoteval2/x", "/run/spoteval2/x"),
        ("/mnt/x", "/mnt/x"),
    ],
)
def test_only_run_is_mapped(real: str, local: str) -> None:
    """Units name /run/spoteval; everything else they get from their environment."""
    assert LocalDirectories(Path("/n")).mapped(Path(real)) == Path(local)
