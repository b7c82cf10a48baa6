"""publication_follower: files that change in place are published whole or not at all, and not too often."""

import json
import sqlite3
import subprocess
import sys
import zipfile
from contextlib import closing
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from follower_world import RUN, Guest
from spoteval.config.guest import GuestConfig
from spoteval.control import requests
from spoteval.control.requests import FINAL
from spoteval_agents.publication_follower import changing, whole
from spoteval_agents.publication_follower.changing import state_ident
from spoteval_agents.publication_follower.cycle import cycle
from spoteval_agents.publication_follower.evidence import Changed
from spoteval_agents.publication_follower.whole import torn_json, torn_zip

WRITER = """
import sqlite3, sys
base = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
base.execute(f"PRAGMA journal_mode = {sys.argv[2]}")
base.execute("CREATE TABLE pairs (n INTEGER, twin INTEGER, pad BLOB)")
n = 0
while True:
    base.execute("BEGIN IMMEDIATE")
    base.execute("INSERT INTO pairs VALUES (?, ?, zeroblob(3000))", (n, -1))
    base.execute("UPDATE pairs SET twin = n WHERE twin = -1")
    base.execute("COMMIT")
    n += 1
    if n == 200:
        print("ready", flush=True)
"""


@pytest.fixture
def guest(tmp_path: Path) -> Guest:
    """A guest whose records are published."""
    guest = Guest(tmp_path)
    run(guest)
    guest.asked()
    return guest


def run(guest: Guest, seconds: float = 2.0) -> None:
    """A regular pass."""
    guest.later(seconds)
    cycle(guest.world, guest.memory)


def state(guest: Guest, name: str) -> Path:
    """Where a program keeps a file that changes in place."""
    folder = guest.paths.work / "state"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / name


def generations(guest: Guest, name: str) -> list[bytes]:
    """What was published of it, oldest first."""
    keys = guest.keys(f"state/work/state/{name}/")
    return [guest.store.inner.get(f"runs/{RUN}/{key}") for key in keys]


def zipped(*members: str) -> bytes:
    """A zip."""
    into = BytesIO()
    with zipfile.ZipFile(into, "w") as found:
        for name in members:
            found.writestr(name, name * 100)
    return into.getvalue()


def rows(path: Path, data: bytes) -> list[tuple[int, int]]:
    """The pairs of a published database, which SQLite itself finds whole."""
    path.write_bytes(data)
    with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as base:
        assert base.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return base.execute("SELECT n, twin FROM pairs ORDER BY n").fetchall()


@pytest.mark.runs("another process writes to a database while it is copied")
@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
def test_a_database_that_is_written_to_meanwhile_is_one_moment(
    guest: Guest, tmp_path: Path, mode: str
) -> None:
    """Every generation is a whole transaction, and holds what the -wal has; the newest one is ahead of the first."""
    base = state(guest, "progress.db")
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, base, mode], stdout=subprocess.PIPE
    ) as program:
        try:
            assert program.stdout is not None
            assert program.stdout.readline() == b"ready\n"
            for _ in range(4):
                run(guest)
        finally:
            program.kill()
    found = [rows(tmp_path / "x.db", data) for data in generations(guest, "progress.db")]
    assert len(found) >= 2
    for pairs in found:
        assert pairs == [(n, n) for n in range(len(pairs))]
    assert len(found[-1]) > len(found[0]) >= 200
    assert not list(guest.disk.publication.glob("**/*-journal"))


def test_what_a_killed_writer_left_in_its_wal_is_published(guest: Guest, tmp_path: Path) -> None:
    """The main file never had it: a copy of that file alone would be empty."""
    base = state(guest, "a.db")
    writer = sqlite3.connect(base, isolation_level=None)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("CREATE TABLE pairs (n INTEGER, twin INTEGER)")
    writer.execute("INSERT INTO pairs VALUES (1, 1)")
    run(guest)
    first = state_ident(base)
    writer.execute("INSERT INTO pairs VALUES (2, 2)")
    assert state_ident(base) != first
    run(guest)
    found = [rows(tmp_path / "x.db", data) for data in generations(guest, "a.db")]
    assert found == [[(1, 1)], [(1, 1), (2, 2)]]
    writer.close()


def test_a_database_that_is_locked_waits(
    guest: Guest, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No pass waits for its writer, and the line says what is not published."""
    monkeypatch.setattr(changing, "_BUSY_S", 0.0)
    base = state(guest, "a.db")
    writer = sqlite3.connect(base, isolation_level=None)
    writer.execute("CREATE TABLE pairs (n INTEGER, twin INTEGER)")
    writer.execute("BEGIN EXCLUSIVE")
    run(guest)
    assert generations(guest, "a.db") == []
    assert (
        "work/state/a.db: waits: no copy of the database: database is locked"
        in capsys.readouterr().err
    )
    writer.execute("COMMIT")
    writer.close()
    run(guest)
    assert len(generations(guest, "a.db")) == 1


def test_a_copy_takes_no_longer_than_its_bound(guest: Guest) -> None:
    """At the bound it is given up, and waits for the next pass."""
    base = state(guest, "a.db")
    with closing(sqlite3.connect(base)) as writer:
        writer.execute("CREATE TABLE pairs (n INTEGER, pad BLOB)")
        writer.execute("INSERT INTO pairs VALUES (1, zeroblob(3000000))")
        writer.commit()
    ticks = iter(range(100))
    with pytest.raises(Changed, match="not copied within 4 s"):
        changing._copied(base, base.with_name("copy"), 2.0, lambda: float(next(ticks)))


@pytest.mark.parametrize(
    ("name", "whole_one", "half"),
    [
        ("a.json", b'{"done": [1, 2]}', b'{"done": [1, 2'),
        ("a.json", b'{"done": [1, 2]}', b""),
        ("a.json", b'{"done": [1, 2]}', b"\0" * 16),
        ("a.zip", zipped("a", "b"), zipped("a", "b", "c")[:-30]),
        ("log.eval", zipped("a"), zipped("a") + b"PK\x03\x04 what follows is not written yet"),
    ],
)
def test_what_is_half_written_is_not_put_over_what_was_whole(
    guest: Guest, name: str, whole_one: bytes, half: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    """It waits and is said; whole again, it is the next generation, and whoever asks is not told that it is left."""
    state(guest, name).write_bytes(whole_one)
    run(guest)
    state(guest, name).write_bytes(half)
    capsys.readouterr()
    run(guest)
    assert generations(guest, name) == [whole_one]
    assert f"work/state/{name}: waits: no whole" in capsys.readouterr().err
    request = requests.ask(guest.disk, FINAL, "shutdown-hook", 10.0, guest.clock())
    run(guest)
    found = requests.answer(guest.disk, request)
    assert isinstance(found, requests.Answer)
    assert found.backlog == 0
    again = whole_one.replace(b"1", b"7") if name == "a.json" else zipped("x", "y")
    state(guest, name).write_bytes(again)
    run(guest)
    assert generations(guest, name) == [whole_one, again]


def test_what_only_looks_like_a_kind_goes_as_it_is(guest: Guest) -> None:
    """Text, an empty file, links and what SQLite keeps beside its own."""
    state(guest, "notes.txt").write_bytes(b"{ half")
    state(guest, "empty").write_bytes(b"")
    state(guest, "a.db-wal").write_bytes(b"x")
    state(guest, "link.json").symlink_to("/etc/passwd")
    run(guest)
    keys = [key for key in guest.keys("state/") if "intended" not in key]
    assert keys == [
        "state/work/state/empty/000001-000001",
        "state/work/state/notes.txt/000001-000001",
    ]


@pytest.mark.parametrize(("after_s", "count"), [(299.0, 1), (300.0, 2), (301.0, 2)])
def test_a_state_file_is_published_no_more_often_than_set(
    guest: Guest, after_s: float, count: int
) -> None:
    """The first at once, the next when its time has come, though nothing is written then any more."""
    limit(guest, 300.0)
    state(guest, "a.json").write_bytes(b"[1]")
    run(guest)
    state(guest, "a.json").write_bytes(b"[2]")
    run(guest, 2.0)
    run(guest, 2.0)
    assert generations(guest, "a.json") == [b"[1]"]
    run(guest, after_s - 4.0)
    assert len(generations(guest, "a.json")) == count


def test_a_final_pass_knows_no_such_limit(guest: Guest) -> None:
    """There may be no later one."""
    limit(guest, 300.0)
    for text in (b"[1]", b"[2]"):
        state(guest, "a.json").write_bytes(text)
        requests.ask(guest.disk, FINAL, "shutdown-hook", 10.0, guest.clock())
        run(guest)
    assert generations(guest, "a.json") == [b"[1]", b"[2]"]


def limit(guest: Guest, every_s: float) -> None:
    """As the host file may say."""
    config: GuestConfig = replace(guest.config, state_every_s=every_s)
    guest.config = config


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
)  # fmt: skip


@given(
    value=st.lists(VALUES, max_size=5) | st.dictionaries(st.text(), VALUES),
    piece=st.integers(1, 40),
)
def test_no_cut_of_a_large_json_file_passes_for_whole(
    tmp_path_factory: pytest.TempPathFactory, value: object, piece: int
) -> None:
    """Whatever stands in its texts, and wherever a piece that is read ends."""
    path = tmp_path_factory.mktemp("j") / "a.json"
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(whole, "_PIECE", piece)
        path.write_bytes(text)
        assert torn_json(path, None) is None
        for cut in sorted({0, 1, len(text) // 2, len(text) - 1} - {len(text)}):
            path.write_bytes(text[:cut])
            assert torn_json(path, None) is not None


def test_every_cut_of_a_zip_is_torn(tmp_path: Path) -> None:
    """Also where an older directory lies before the cut."""
    path, data = tmp_path / "a.zip", zipped("one", "two", "three")
    for cut in range(4, len(data)):
        path.write_bytes(data[:cut])
        with path.open("rb") as file:
            assert torn_zip(file) is not None, cut
    path.write_bytes(data)
    with path.open("rb") as file:
        assert torn_zip(file) is None
