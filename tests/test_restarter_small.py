"""The small parts of the restarter: signs of life, strays, LISTs that did not change, the copy of decisions."""

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest

from restarter_story import NOON, POLICY, hold, now, sight
from restarter_world import Host
from spoteval.clock import stamp
from spoteval.control.eventlog import DecisionLog
from spoteval.decision import Decision
from spoteval.files import encoded, read_lines
from spoteval.provider.contract import State
from spoteval.publication.keys import heartbeat_key
from spoteval.store.contract import Stored
from spoteval.store.file import FileStore
from spoteval_agents.restarter.guest import Signs
from spoteval_agents.restarter.lists import Lists
from spoteval_agents.restarter.seen import Guest
from spoteval_agents.restarter.served import Served
from spoteval_agents.restarter.strays import Strays


class Counting(FileStore):
    """Counts what it is asked."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.lists = self.gets = 0

    def list(self, prefix: str) -> Iterator[Stored]:
        self.lists += 1
        return super().list(prefix)

    def get(self, key: str) -> bytes:
        self.gets += 1
        return super().get(key)


@pytest.fixture
def store(tmp_path: Path) -> Counting:
    """An empty store."""
    return Counting(tmp_path)


def beat(store: Counting, number: int, session: str = "s1") -> None:
    """The guest's sign with this number."""
    body = {"finished": number, "intended": 500, "in_flight": 4, "at": stamp(NOON)}
    store.put(heartbeat_key("r", session, number), encoded(body))


# Signs of life


def test_the_newest_sign_is_found_and_gone_on_from(store: Counting) -> None:
    """One LIST for a boot, then one question a look, however long the run lasts."""
    signs = Signs()
    assert signs.newest(store, "r", "s1", now(0)) is None
    for number in range(3):
        beat(store, number)
    assert signs.newest(store, "r", "s1", now(60)) == Guest(60.0, 2, 500, 4)
    assert store.lists == 2
    beat(store, 3)
    assert signs.newest(store, "r", "s1", now(90)) == Guest(90.0, 3, 500, 4)
    before = store.gets
    assert signs.newest(store, "r", "s1", now(120)) == Guest(120.0, 3, 500, 4)
    assert (store.lists, store.gets - before) == (2, 1)


def test_the_signs_of_another_boot_begin_anew(store: Counting) -> None:
    """Its numbers are its own."""
    signs = Signs()
    beat(store, 7)
    beat(store, 2, "s2")
    assert signs.newest(store, "r", "s1", now(0)) == Guest(0.0, 7, 500, 4)
    assert signs.newest(store, "r", "s2", now(0)) == Guest(0.0, 2, 500, 4)


def test_many_signs_at_once_are_caught_up_with(store: Counting) -> None:
    """A bounded number a look."""
    signs = Signs()
    beat(store, 0)
    signs.newest(store, "r", "s1", now(0))
    for number in range(1, 151):
        beat(store, number)
    found = [signs.newest(store, "r", "s1", now(0)) for _ in range(2)]
    assert [one.finished for one in found if one is not None] == [100, 150]


def test_a_damaged_sign_is_none(store: Counting) -> None:
    """It says nothing, and the next one does."""
    signs = Signs()
    store.put(heartbeat_key("r", "s1", 0), b"\0\0")
    assert signs.newest(store, "r", "s1", now(0)) is None
    store.put(heartbeat_key("r", "s1", 1), encoded({"finished": "many", "at": stamp(NOON)}))
    assert signs.newest(store, "r", "s1", now(0)) is None
    beat(store, 2)
    assert signs.newest(store, "r", "s1", now(0)) == Guest(0.0, 2, 500, 4)


# Strays


def test_strays_are_read_anew_when_the_directory_has_changed(tmp_path: Path) -> None:
    """What is configured, its folder and hidden files are none."""
    for name in ("gpu-1", "gpu-1.d", "gpu1", ".gpu-1.tmp"):
        (tmp_path / name).touch()
    strays = Strays(tmp_path, ["gpu-1"])
    assert strays.names() == ("gpu1",)
    assert strays.names() is strays.names()
    (tmp_path / "a").touch()
    assert strays.names() == ("a", "gpu1")
    assert Strays(tmp_path / "none", ["gpu-1"]).names() == ()


# LISTs


def test_an_equal_list_is_the_same_sight(store: Counting) -> None:
    """Sorted once; a new key, a body or another run makes a new one."""
    lists = Lists()
    store.put("instances/gpu-1/boots/000001-s1/run-swe-1.json", b"{}")
    first = lists.look(store, "gpu-1")
    assert (lists.assigned, lists.look(store, "gpu-1") is first) == (("swe", 1), True)
    seen = lists.sight(first, (), None)
    assert lists.sight(first, (), None) is seen
    assert lists.sight(first, (hold(),), None) is not seen
    assert lists.sight(first, (), sight().run).run == sight().run
    store.put("instances/gpu-1/boots/000002-s2/run-next-1.json", b"{}")
    assert lists.look(store, "gpu-1") is not first
    assert lists.assigned == ("next", 1)


# Decisions


def test_the_copy_of_decisions_keeps_changes_and_one_an_hour(tmp_path: Path) -> None:
    """And two files of a limited size: the older one is replaced."""
    log = DecisionLog(tmp_path / "decisions.jsonl", limit_bytes=300)
    for second in range(0, 7200, 60):
        log.write(Decision("running"), now(second))
    assert len(read_lines(log.path or tmp_path).records) == 2
    for number in range(40):
        log.write(Decision(f"word{number}"), now(7200 + number))
    sizes = [path.stat().st_size for path in sorted(tmp_path.iterdir())]
    assert [path.name for path in sorted(tmp_path.iterdir())] == [
        "decisions.jsonl",
        "decisions.jsonl.1",
    ]
    assert max(sizes) < 500
    newest = read_lines(tmp_path / "decisions.jsonl").records[-1]
    assert newest["line"] == "decision=word39"


def test_a_copy_that_cannot_be_kept_hinders_no_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The journal has the line, and why there is no copy."""
    host = Host(tmp_path)
    host.cycle(0)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "decisions.jsonl")

    monkeypatch.setattr("spoteval.control.eventlog.append_line", full)
    monkeypatch.setattr("spoteval_agents.restarter.book.log_events", lambda *_, **__: None)
    assert host.words(60) == ["start"]
    assert host.provider.calls == ["start"]
    said = capsys.readouterr().err
    assert "<6>decision=start instance=gpu-1" in said
    assert "<4>instance=gpu-1 decision not copied:" in said


# A memory that cannot be written


def test_an_unwritable_memory_is_told_once_and_so_is_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Line, report, and no request; then line, and the report is over."""
    host = Host(tmp_path)
    host.cycle(0)
    one = Served(host.world, host.book, host.log, POLICY)

    def full(path: Path, *_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    with monkeypatch.context() as patch:
        patch.setattr("spoteval_agents.restarter.book.write_record", full)
        for second in (60, 120):
            host.clock.seconds = second
            one.serve()
            assert one.due_s == second + POLICY.poll.every_s
    assert (host.provider.calls, host.told()) == ([], ["state-unwritable"])
    host.provider.is_now(State.RUNNING)
    host.clock.seconds = 180
    one.serve()
    assert host.told() == ["state-unwritable", "-state-unwritable"]
    said = capsys.readouterr().err
    path = host.paths.state
    assert (
        "<4>decision=state-unwritable instance=gpu-1 state=STOPPED"
        f' error="{path}: No space left on device" holds=none'
        ' why="nothing is done while its memory cannot be written"'
    ) in said
    assert "<6>decision=state-written instance=gpu-1 state=RUNNING holds=none" in said
