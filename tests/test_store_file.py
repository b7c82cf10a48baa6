"""The store in a directory: the contract, and what is its own."""

import os
from pathlib import Path

import pytest

from crash_points import Crash, CrashPoints
from spoteval.store.contract import Put, StoreError, StoreRefused
from spoteval.store.file import FileStore
from spoteval.store.open import open_store
from store_contract import StoreContract, keys


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    """An empty store."""
    root = tmp_path / "store"
    root.mkdir()
    return FileStore(root)


class TestFileStore(StoreContract):
    """`file://` keeps the contract of every store."""


def test_a_put_cut_at_any_step_is_whole_or_absent(
    tmp_path: Path, crash_points: CrashPoints
) -> None:
    """Never a torn object, never a listed temporary; the next put succeeds, or finds the same bytes."""
    (tmp_path / "trace").mkdir()
    points = crash_points.count(lambda: FileStore(tmp_path / "trace").put("a/b", b"body"))
    assert points >= 3
    for n in range(1, points + 1):
        root = tmp_path / str(n)
        root.mkdir()
        with pytest.raises(Crash), crash_points.crash_at(n):
            FileStore(root).put("a/b", b"body")
        (root / "a" / ".tmp-torn").write_bytes(b"bo")
        fresh = FileStore(root)
        seen = keys(fresh, "")
        assert seen in ([], ["a/b"])
        assert fresh.put("a/b", b"body") is (Put.EXISTS if seen else Put.CREATED)
        assert (keys(fresh, ""), fresh.get("a/b")) == (["a/b"], b"body")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_root_puts_belongs_to_whom_the_store_belongs(tmp_path: Path) -> None:
    """`sudo spoteval check` is the first to put: the agents' own puts lie beside it."""
    os.chown(tmp_path, 1234, 1235)
    FileStore(tmp_path).put("instances/gpu-1/holds/h.json", b"{}")
    found = {(path.stat().st_uid, path.stat().st_gid) for path in tmp_path.rglob("*")}
    assert found == {(1234, 1235)}


def test_an_absent_root_is_an_error_and_not_an_empty_store(tmp_path: Path) -> None:
    """A mount that is missing must not read as "nothing was published", nor be filled underneath."""
    away = FileStore(tmp_path / "away")
    for act in (lambda: away.put("a", b"x"), lambda: away.get("a"), lambda: list(away.list(""))):
        with pytest.raises(StoreError, match="is it mounted"):
            act()
    assert not (tmp_path / "away").exists()


def test_a_key_above_other_keys_is_an_error(store: FileStore) -> None:
    """A directory cannot be a file too: never EXISTS for an object that is not there."""
    store.put("a/b", b"x")
    with pytest.raises(StoreError, match="below this one"):
        store.put("a", b"y")
    with pytest.raises(StoreError):
        store.put("a/b/c", b"z")


def test_a_vanished_source_is_an_error(store: FileStore, tmp_path: Path) -> None:
    """It is neither an empty object nor an answer."""
    with pytest.raises(StoreError):
        store.put_file("a", tmp_path / "gone")
    assert keys(store, "") == []


def test_a_name_that_the_filesystem_cannot_hold_is_an_error(store: FileStore) -> None:
    """255 bytes a part; the object is not there, and the error says which key."""
    with pytest.raises(StoreError, match="too long"):
        store.put("x" * 256, b"x")
    assert store.put("x" * 255, b"x") is Put.CREATED


@pytest.mark.parametrize(
    "url", ["", "/srv/x", "file://host/srv", "file:relative", "s4://bucket", "http://127.0.0.1/"]
)
def test_a_url_of_no_store_is_named(url: str) -> None:
    """The error quotes the value and says what is allowed."""
    with pytest.raises(ValueError, match="file:///absolute/path") as wrong:
        open_store(url)
    assert f'"{url}"' in str(wrong.value)


def test_a_url_names_a_directory(tmp_path: Path) -> None:
    """Percent signs in the URL are those of a URL."""
    (tmp_path / "a b").mkdir()
    opened = open_store(f"file://{tmp_path}/a%20b")
    opened.put("k", b"x")
    assert (tmp_path / "a b" / "k").read_bytes() == b"x"


def test_a_bad_key_cannot_be_read_either(store: FileStore) -> None:
    """A key that climbs out of the store is refused for a get as for a put."""
    with pytest.raises(StoreRefused):
        store.get("../secret")
