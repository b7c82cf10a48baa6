"""What every store must do, as tests. A test file of one kind gives the fixture `store` and inherits the class."""

import threading
from pathlib import Path

import pytest

from spoteval.store.contract import NotThere, Put, Store, StoreRefused

BODY = b"one\x00\n\xff"
BAD_KEYS = [
    "",
    "/a",
    "a/",
    "a//b",
    "a/./b",
    "a/../b",
    "..",
    "a\nb",
    "a\x00b",
    "x" * 1025,
    "a/.tmp-1",
]
ODD_KEYS = ["a b", "a%2Fb", "ä/ö", "a+b=c@d,e~f", "x" * 200 + "/" + "y" * 200, ".hidden/a"]


def keys(store: Store, prefix: str) -> list[str]:
    """The keys of a listing, in the order in which they came."""
    return [item.key for item in store.list(prefix)]


class StoreContract:
    """Inherit, and give a fixture `store` that is empty and works."""

    def test_a_put_creates_and_is_read_back(self, store: Store) -> None:
        """CREATED means that the very bytes are there."""
        assert store.put("a/b", BODY) is Put.CREATED
        assert store.get("a/b") == BODY

    def test_an_empty_object_is_an_object(self, store: Store) -> None:
        """No bytes are not no object."""
        assert store.put("a/empty", b"") is Put.CREATED
        assert store.get("a/empty") == b""
        assert [(item.key, item.size) for item in store.list("a/")] == [("a/empty", 0)]

    @pytest.mark.parametrize("again", [BODY, b"other", b""])
    def test_a_second_put_changes_nothing(self, store: Store, again: bytes) -> None:
        """Create-only: the answer is EXISTS, the first bytes stay, also against a longer or an empty body."""
        store.put("a/b", BODY)
        assert store.put("a/b", again) is Put.EXISTS
        assert store.get("a/b") == BODY

    def test_put_file_is_a_put(self, store: Store, tmp_path: Path) -> None:
        """The same promise for the bytes of a file."""
        source = tmp_path / "source"
        source.write_bytes(BODY * 100_000)
        assert store.put_file("a/big", source) is Put.CREATED
        assert store.get("a/big") == BODY * 100_000
        source.write_bytes(b"changed")
        assert store.put_file("a/big", source) is Put.EXISTS
        assert store.get("a/big") == BODY * 100_000

    def test_a_listing_is_in_the_order_of_keys(self, store: Store) -> None:
        """By key and not by folder: "a-" sorts before "a/"."""
        names = ["a/b/c", "a-b", "a/b-c", "a", "b/1", "b/10", "b/2", "A/x", "a0"]
        for name in (
            name for name in names if name != "a"
        ):  # an object "a" beside "a/…": not asked here
            store.put(name, name.encode())
        assert keys(store, "") == sorted(name for name in names if name != "a")
        assert keys(store, "b/") == ["b/1", "b/10", "b/2"]

    def test_a_prefix_is_text_not_a_folder(self, store: Store) -> None:
        """A prefix may end inside a name, at a folder, or match nothing."""
        for name in ("runs/r/1", "runs/r2/1", "runs/s/1"):
            store.put(name, b"x")
        assert keys(store, "runs/r") == ["runs/r/1", "runs/r2/1"]
        assert keys(store, "runs/r/") == ["runs/r/1"]
        assert keys(store, "runs/x/") == []
        assert keys(store, "other/") == []

    def test_a_listing_tells_sizes(self, store: Store) -> None:
        """A size is what a get would bring."""
        store.put("a/1", b"1234")
        assert [item.size for item in store.list("a/")] == [4]

    def test_what_is_not_there_is_said_so(self, store: Store) -> None:
        """NotThere, and neither empty bytes nor the object below or above."""
        store.put("a/b/c", b"x")
        for key in ("a/b/d", "a/b", "z"):
            with pytest.raises(NotThere, match=key):
                store.get(key)

    @pytest.mark.parametrize("key", BAD_KEYS)
    def test_a_bad_key_is_refused(self, store: Store, key: str) -> None:
        """Before anything is written, and in one line."""
        with pytest.raises(StoreRefused) as refused:
            store.put(key, b"x")
        assert "\n" not in str(refused.value)
        assert keys(store, "") == []

    @pytest.mark.parametrize("key", ODD_KEYS)
    def test_an_odd_key_comes_back_as_it_was(self, store: Store, key: str) -> None:
        """Blanks, percent signs and other alphabets are neither decoded nor cut."""
        store.put(key, BODY)
        assert keys(store, "") == [key]
        assert store.get(key) == BODY

    def test_of_many_puts_at_once_one_creates(self, store: Store) -> None:
        """One CREATED, and the bytes are that one's."""
        answers: dict[int, Put] = {}
        gate = threading.Barrier(8)

        def put(number: int) -> None:
            gate.wait()
            answers[number] = store.put("race/key", str(number).encode() * 1000)

        threads = [threading.Thread(target=put, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        winners = [number for number, answer in answers.items() if answer is Put.CREATED]
        assert len(answers) == 8
        assert len(winners) == 1
        assert store.get("race/key") == str(winners[0]).encode() * 1000

    def test_nothing_deletes_or_overwrites(self, store: Store) -> None:
        """What the store can do is put, get and list; no name of it says more."""
        public = {name for name in dir(store) if not name.startswith("_")}
        assert public - {"until", "lanes", "complaint", "large", "put_each", "refuses_damaged"} == {
            *("put", "put_file", "get", "list", "url")
        }
