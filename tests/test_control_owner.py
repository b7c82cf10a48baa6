"""One owner and no lock: the greatest key of the LIST, agreed on by everybody who reads it."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoteval.control.holds import look
from spoteval.control.owner import (
    Owner,
    identity,
    next_owner_key,
    owner_among,
    owner_of,
    owner_since,
    register,
)
from spoteval.publication.listing import InstanceListing
from spoteval.shape import Unreadable
from spoteval.store.contract import Put, StoreError
from spoteval.store.file import FileStore

_AT = datetime(2026, 12, 1, 3, tzinfo=UTC)
_ANA = "0a000000-0000-4000-8000-000000000001"
_BEN = "0b000000-0000-4000-8000-000000000002"


def _store(tmp_path: Path) -> FileStore:
    root = tmp_path / "store"
    root.mkdir()
    return FileStore(root)


def test_nobody_owns_what_nobody_took_over() -> None:
    """An empty register has no owner, and the first key is number 1."""
    assert owner_of(InstanceListing()) is None
    key = next_owner_key(InstanceListing(), "gpu-1", _ANA)
    assert key == f"instances/gpu-1/owner/000001-{_ANA}.json"


def test_the_greatest_number_owns() -> None:
    """Numbers are compared as numbers, also past the padding."""
    names = (f"000009-{_BEN}", f"1000000-{_ANA}", f"999999-{_BEN}", "rubbish", "-x")
    assert owner_among(names) == Owner(1_000_000, _ANA)


@given(st.lists(st.tuples(st.integers(1, 5), st.sampled_from((_ANA, _BEN))), min_size=1))
def test_everybody_agrees_on_one_owner(entries: list[tuple[int, str]]) -> None:
    """Whatever was put in whatever order, the LIST names one owner, and two of one number differ by identity."""
    names = [f"{number:06d}-{who}" for number, who in entries]
    assert owner_among(names) == owner_among(reversed(names)) == Owner(*max(entries))


def test_taking_over_puts_the_next_number(tmp_path: Path) -> None:
    """Each take-over is one create-only key above the last one."""
    store = _store(tmp_path)
    assert register(store, "gpu-1", _ANA, _AT) == Owner(1, _ANA)
    assert register(store, "gpu-1", _BEN, _AT, "ben") == Owner(2, _BEN)
    assert owner_of(look(store, "gpu-1")) == Owner(2, _BEN)
    assert owner_since(store, "gpu-1", Owner(2, _BEN)) == _AT


def test_the_owner_takes_over_only_once(tmp_path: Path) -> None:
    """Repeated by the owner, a take-over adds nothing to the register."""
    store = _store(tmp_path)
    register(store, "gpu-1", _ANA, _AT)
    assert register(store, "gpu-1", _ANA, _AT) == Owner(1, _ANA)
    assert look(store, "gpu-1").owners == (f"000001-{_ANA}",)


def test_who_was_overtaken_hears_of_it(tmp_path: Path) -> None:
    """Of two that take over at once, both read the same owner from the LIST."""

    class Racing(FileStore):
        def put(self, key: str, data: bytes) -> Put:
            super().put(f"instances/gpu-1/owner/000001-{_BEN}.json", data)
            return super().put(key, data)

    store = Racing(tmp_path)
    assert register(store, "gpu-1", _ANA, _AT) == Owner(1, _BEN)


def test_a_take_over_that_is_not_listed_is_an_error(tmp_path: Path) -> None:
    """A store that took the key and does not list it has made nobody the owner."""

    class Forgetful(FileStore):
        def put(self, key: str, data: bytes) -> Put:
            return Put.CREATED

    with pytest.raises(StoreError, match="not listed after it was put"):
        register(Forgetful(tmp_path), "gpu-1", _ANA, _AT)


def test_an_identity_is_made_once(tmp_path: Path) -> None:
    """The first who asks makes it; everybody after reads the same."""
    first = identity(tmp_path / "state")
    assert isinstance(first, str)
    assert identity(tmp_path / "state") == first
    assert identity(tmp_path / "other") != first


@pytest.mark.parametrize("text", ["", "\0" * 37, "gpu-1"])
def test_a_damaged_identity_is_nobody(tmp_path: Path, text: str) -> None:
    """A file that a power cut emptied is not replaced by a new name: a person decides."""
    (tmp_path / "identity").write_text(text)
    found = identity(tmp_path)
    assert isinstance(found, Unreadable)
    assert found.why == f"{tmp_path}/identity: damaged (rm it, then: spoteval restarter adopt)"
