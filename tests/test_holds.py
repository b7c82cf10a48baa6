"""Holds in the store: sets of ids without clock or order, proof, bodies that cannot be read."""

import random
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoteval.control.facts import ended_fact, put_fact, run_fact
from spoteval.control.holds import fetch, look, place, read_back, release
from spoteval.files import encoded, parse_record
from spoteval.hold import Hold, hold_from, standing, unread_hold
from spoteval.publication.keys import hold_key, release_key
from spoteval.publication.listing import Fact, listing
from spoteval.shape import Table, Unreadable
from spoteval.store.contract import Put, StoreError
from spoteval.store.file import FileStore

AT = datetime(2026, 12, 1, 12, tzinfo=UTC)
IDS = st.text(min_size=1, max_size=12)


def hold(hold_id: str = "operator-1") -> Hold:
    """A hold of a person."""
    return Hold(hold_id, "gpu-1", "tp 4 -> 8", "ana", AT, ensure_stopped=True, stop_after_s=30.0)


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    """An empty store."""
    return FileStore(tmp_path)


# Standing


@given(st.lists(IDS), st.lists(IDS), st.integers())
def test_a_hold_stands_while_no_release_has_its_id(
    placed: list[str], released: list[str], seed: int
) -> None:
    """In whatever order they came, however often they were put."""
    holds = [hold(key) for key in placed * 2]
    random.Random(seed).shuffle(holds)
    expected = sorted(set(placed) - set(released))
    assert [item.id for item in standing(holds, released)] == expected


@given(st.sets(IDS), st.sets(IDS), st.integers())
def test_a_list_says_the_same_in_any_order(placed: set[str], released: set[str], seed: int) -> None:
    """Keys are names alone; ids come back as they were, with slashes, dots and spaces."""
    keys = [hold_key("gpu-1", key) for key in placed]
    keys += [release_key("gpu-1", key) for key in released]
    random.Random(seed).shuffle(keys)
    found = listing("gpu-1", keys)
    assert found.standing == tuple(sorted(placed - released))
    assert (set(found.holds), set(found.releases)) == (placed, released)


def test_a_release_before_its_hold_lifts_it_too() -> None:
    """Sets have no order: a store may list the second object first."""
    assert listing("gpu-1", [release_key("gpu-1", "a")]).standing == ()
    both = listing("gpu-1", [release_key("gpu-1", "a"), hold_key("gpu-1", "a")])
    assert both.standing == ()


# In the store


def test_a_hold_is_placed_and_proved(store: FileStore) -> None:
    """The second put of the same key finds the first: that needs no right to read."""
    assert place(store, hold()) == "proved"
    assert read_back(store, hold()) == "read"
    assert fetch(store, "gpu-1", ["operator-1"]) == (hold(),)


def test_placing_the_same_hold_again_changes_nothing(store: FileStore) -> None:
    """Whoever was killed between put and proof does it again."""
    place(store, hold())
    assert place(store, Hold("operator-1", "gpu-1", "other words", "bob")) == "proved"
    assert fetch(store, "gpu-1", ["operator-1"]) == (hold(),)


@pytest.mark.parametrize("answer", [Put.CREATED, Put.ACKNOWLEDGED])
def test_a_store_that_takes_a_key_twice_acknowledges(store: FileStore, answer: Put) -> None:
    """It ignores the condition or knows none: it has the bytes, and proves nothing."""

    class Forgetful(FileStore):
        def put(self, key: str, data: bytes) -> Put:
            super().put(key, data)
            return answer

    assert place(Forgetful(Path(store.url.removeprefix("file://"))), hold()) == "acknowledged"


def test_a_hold_that_is_not_listed_is_not_read_back(store: FileStore) -> None:
    """An eventual LIST is no proof of strength `read`."""
    with pytest.raises(StoreError, match="operator-1 is not listed"):
        read_back(store, hold())
    place(store, hold())
    release(store, "gpu-1", "operator-1", "ana", AT)
    with pytest.raises(StoreError, match="is not listed"):
        read_back(store, hold())


def test_a_released_hold_stands_no_more(store: FileStore) -> None:
    """Only the one of that id, and only on that instance; twice is once."""
    for key in ("a", "b"):
        place(store, hold(key))
    place(store, Hold("a", "gpu-2", "", "ana"))
    release(store, "gpu-1", "a", "ana", AT)
    release(store, "gpu-1", "a", "bob", AT)
    assert look(store, "gpu-1").standing == ("b",)
    assert look(store, "gpu-2").standing == ("a",)


@pytest.mark.parametrize("cut", range(len(encoded(hold().record()))))
def test_a_hold_cut_at_any_byte_is_a_hold(store: FileStore, cut: int) -> None:
    """Its key says so; the reason says what is wrong."""
    body = encoded(hold().record())[:cut]
    store.put(hold_key("gpu-1", "operator-1"), body)
    assert look(store, "gpu-1").standing == ("operator-1",)
    (found,) = fetch(store, "gpu-1", ["operator-1"])
    whole = isinstance(parse_record(body, ""), Table)
    assert found == hold() if whole else found.reason.startswith("unreadable hold: ")
    assert (found.id, found.instance) == ("operator-1", "gpu-1")


@pytest.mark.parametrize(
    "body", [b"{}", b"[]", b'{"format": 2}', encoded({"id": 7}), encoded({"id": "a", "by": "b"})]
)
def test_a_hold_of_the_wrong_shape_is_a_hold(store: FileStore, body: bytes) -> None:
    """Also one of a version that we do not know."""
    store.put(hold_key("gpu-1", "x"), body)
    (found,) = fetch(store, "gpu-1", ["x"])
    assert found == unread_hold("x", "gpu-1", found.reason.removeprefix("unreadable hold: "))


def test_the_key_names_a_hold_whatever_its_body_says(store: FileStore) -> None:
    """A release is of the same key: a hold that was known by another name could never be lifted."""
    store.put(hold_key("gpu-1", "a"), encoded(replace(hold(), id="b", instance="gpu-9").record()))
    (found,) = fetch(store, "gpu-1", look(store, "gpu-1").standing)
    assert (found.id, found.instance) == ("a", "gpu-1")


def test_a_hold_whose_name_is_no_text_is_a_hold_and_can_be_lifted(store: FileStore) -> None:
    """A key may name any bytes; its record can still be written down."""
    store.put("instances/gpu-1/holds/%FF.json", b"")
    (found,) = fetch(store, "gpu-1", look(store, "gpu-1").standing)
    assert parse_record(encoded(found.record()), "hold") == Table(
        {"format": 1, **found.record()}, "hold"
    )
    release(store, "gpu-1", found.id, "ana", AT)
    assert look(store, "gpu-1").standing == ()


def test_a_hold_out_of_reach_is_a_hold(store: FileStore) -> None:
    """Listed, and gone when it is fetched."""
    (found,) = fetch(store, "gpu-1", ["gone"])
    assert "no such object" in found.reason


def test_a_record_comes_back_whole_and_young_records_have_defaults() -> None:
    """Unknown keys are ignored, absent options are off."""
    assert hold_from(Table(hold().record() | {"later": 1})) == hold()
    short = {"id": "a", "instance": "gpu-1", "reason": "", "by": "ana"}
    assert hold_from(Table(short)) == Hold("a", "gpu-1", "", "ana")
    assert isinstance(hold_from(Table({"id": "a"})), Unreadable)


# Facts in the same LIST


def test_facts_are_read_from_their_names(store: FileStore) -> None:
    """Boot, session and fact; the newest boot is the one with the greatest number, also past 999999."""
    put_fact(store, "gpu-1", 2, "s-2", "booted", {})
    put_fact(store, "gpu-1", 1_000_000, "s9", "notice", {})
    found = look(store, "gpu-1")
    assert set(found.facts) == {Fact(2, "s-2", "booted"), Fact(1_000_000, "s9", "notice")}
    assert found.newest_boot == (1_000_000, "s9")
    assert found.boot_has("s9", "notice")
    assert not found.boot_has("s-2", "notice")
    assert listing("gpu-1", []).newest_boot is None


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ([], None),
        ([(1, "booted")], None),
        ([(1, run_fact("swe-1", 3))], ("swe-1", 3)),
        ([(1, run_fact("swe", 9)), (1, run_fact("swe", 10))], ("swe", 10)),
        ([(1, run_fact("old", 9)), (2, run_fact("new", 1))], ("new", 1)),
        ([(1, run_fact("a", 5)), (1, ended_fact("a")), (1, run_fact("b", 1))], ("b", 1)),
        ([(1, run_fact("a", 5)), (1, ended_fact("a"))], ("a", 5)),
        ([(1, run_fact("a", 1)), (2, run_fact("b", 1)), (2, ended_fact("b"))], ("b", 1)),
    ],
)
def test_the_newest_assignment(
    facts: list[tuple[int, str]], expected: tuple[str, int] | None
) -> None:
    """Greatest boot, then what is not over, then the greatest generation, as numbers and not as text."""
    keys = [f"instances/gpu-1/boots/{seq:06d}-s{seq}/{name}.json" for seq, name in facts]
    assert listing("gpu-1", keys).assigned == expected


def test_a_run_is_over_by_its_own_fact_alone(store: FileStore) -> None:
    """Names that begin alike are other runs."""
    put_fact(store, "gpu-1", 1, "s", ended_fact("swe"), {})
    assert look(store, "gpu-1").ended("swe")
    assert not look(store, "gpu-1").ended("swe-2")


def test_keys_of_no_known_kind_are_left_alone() -> None:
    """Objects of a later version, or of another's making, are neither holds nor facts."""
    keys = ["holds/a/b.json", "hold/a.json", "boots/x/booted.json", "boots/1-s/a/b.json", "x"]
    found = listing("gpu-1", [f"instances/gpu-1/{key}" for key in keys])
    assert (found.holds, found.facts, found.owners) == (frozenset(), (), ())
    owners = ["instances/gpu-1/owner/000002-b.json", "instances/gpu-1/owner/000001-a.json"]
    assert listing("gpu-1", owners).owners == ("000001-a", "000002-b")
