"""restarter.book: what is synced, what need not be, and events that are logged once whatever the disk does."""

import errno
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crash_points import Crash, CrashPoints
from restarter_story import OWNED, POLICY, PRICE, RUN, hold, mark, now
from spoteval.event import Event
from spoteval.files import read_lines
from spoteval.paths import InstancePaths
from spoteval_agents.restarter.book import Book, lasting, only_seen
from spoteval_agents.restarter.state import (
    Ask,
    FileHold,
    KnownHold,
    Life,
    Ownership,
    Refusal,
    State,
    Stop,
    StopAsks,
)
from spoteval_agents.restarter.telling import told

RUNS = State(word="RUNNING", since=mark(0), life=Life(mark(0)), run=RUN)


@pytest.fixture
def paths(tmp_path: Path) -> InstancePaths:
    """Of an instance that nobody has looked at."""
    return InstancePaths(tmp_path, "gpu-1")


def opened(descriptor: int) -> str:
    """The name of that file."""
    return Path(f"/proc/self/fd/{descriptor}").readlink().name


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of what is synced, in order; temporaries by the name that they get."""
    found: list[str] = []
    real = os.fsync

    def sync(descriptor: int) -> None:
        name = opened(descriptor)
        found.append(".".join(name.split(".")[1:3]) if name.startswith(".") else name)
        real(descriptor)

    monkeypatch.setattr(os, "fsync", sync)
    return found


def event(kind: str) -> Event:
    """Of this instance, now."""
    return told(kind, POLICY, now(0))


def kinds(paths: InstancePaths) -> list[object]:
    """The kinds in the log."""
    return [record["kind"] for record in read_lines(paths.events).records]


def test_first_looks_sync_nothing(paths: InstancePaths, synced: list[str]) -> None:
    """They are written all the same: who opens the book after a crash of the process finds them."""
    book = Book(paths, now(0))
    book.save(RUNS, (event("running"),), now(0))
    priced = replace(RUNS, price=PRICE, owner=Ownership(OWNED.identity, 0))
    book.save(priced, (event("price-read"),), now(60))
    assert synced == []
    assert Book(paths, now(61)).state == priced
    assert kinds(paths) == ["running", "price-read"]


MORE: dict[str, dict[str, Any]] = {
    "a start": {"ask": Ask(mark(60)), "starts": 1},
    "a stop request": {"stop_asks": StopAsks(mark(60), 1)},
    "a hold": {"holds": (KnownHold(hold(), mark(60)),)},
    "the touch file": {"file_hold": FileHold(mark(60), "")},
    "a life that ended": {"life": None, "stop": Stop("preempted", "guest-marker", 60.0)},
    "money": {"spent": 0.01},
    "a failed start": {"failures": 1},
    "a refusal": {"refusal": Refusal(mark(60), "auth")},
    "what a person was told": {"told": ("silent",)},
    "a rule that was waived": {"waived": ("until",)},
}


@pytest.mark.parametrize("what", MORE)
def test_what_is_more_than_seen_is_synced(
    paths: InstancePaths, synced: list[str], what: str
) -> None:
    """Before it begins: the state with its name, then the events; and everything from then on."""
    book = Book(paths, now(0))
    book.save(RUNS, (event("running"),), now(0))
    begun = replace(RUNS, **MORE[what])
    book.save(begun, (event("any"), event("other")), now(60))
    assert synced == ["state.json", "gpu-1", "events.jsonl"]
    synced.clear()
    book.save(RUNS, (), now(120))
    assert synced == ["state.json", "gpu-1"]


def test_who_opens_a_book_syncs(paths: InstancePaths, synced: list[str]) -> None:
    """What is on the disk may have been synced: a power cut must not take it together with what replaces it."""
    Book(paths, now(0)).save(RUNS, (), now(0))
    Book(paths, now(1)).save(replace(RUNS, price=PRICE), (), now(60))
    assert synced == ["state.json", "gpu-1"]


def test_a_power_cut_after_first_looks_is_another_first_look(paths: InstancePaths) -> None:
    """Or, where a part is left, a damaged memory: a window passes before any start. Never a start at once."""
    Book(paths, now(0)).save(RUNS, (event("running"),), now(0))
    paths.state.write_bytes(b"\0" * 40)
    book = Book(paths, now(60))
    assert book.state.ask is not None
    assert book.state.ask.recovered
    paths.state.unlink()
    paths.events.unlink()
    assert Book(paths, now(60)).state == State()


def test_the_owner_s_looks_are_written_with_the_next_change(paths: InstancePaths) -> None:
    """A thousand instances would each write three times for it."""
    book = Book(paths, now(0))
    first = replace(RUNS, owner=Ownership("me", 0))
    book.save(first, (), now(0))
    before = paths.state.stat().st_ino
    later = replace(first, owner=Ownership("me", 2))
    book.save(later, (), now(60))
    assert book.state == later
    assert paths.state.stat().st_ino == before
    assert Book(paths, now(61)).state == first
    book.save(replace(later, price=PRICE), (), now(120))
    assert Book(paths, now(121)).state == replace(later, price=PRICE)


def test_another_owner_is_written_at_once(paths: InstancePaths) -> None:
    """A count of looks is not who it is."""
    assert lasting(replace(RUNS, owner=Ownership("a", 1))) != lasting(
        replace(RUNS, owner=Ownership("b", 1))
    )
    assert lasting(RUNS) == RUNS
    assert only_seen(State())


KINDS = ("running", "price-read", "owner")


def test_a_crash_loses_no_event_and_doubles_none(tmp_path: Path) -> None:
    """Wherever it comes, with several events of one change."""
    events, points = tuple(event(kind) for kind in KINDS), CrashPoints()

    def write(root: Path) -> InstancePaths:
        paths = InstancePaths(root, "gpu-1")
        Book(paths, now(0)).save(RUNS, events, now(0))
        return paths

    count = points.count(lambda: write(tmp_path / "0"))
    assert count >= 6
    for n in range(1, count + 1):
        with pytest.raises(Crash), points.crash_at(n):
            write(tmp_path / str(n))
        paths = InstancePaths(tmp_path / str(n), "gpu-1")
        state = Book(paths, now(1)).state
        assert kinds(paths) == (list(KINDS) if state == RUNS else [])


def test_a_disk_that_fills_up_in_the_middle_doubles_no_event(
    paths: InstancePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first of three lines is there, the second is torn: the next look appends the two that are missing."""
    book = Book(paths, now(0))
    book.save(RUNS, (), now(0))
    events = tuple(event(kind) for kind in KINDS)
    real = os.write

    def little(descriptor: int, data: bytes) -> int:
        if opened(descriptor) == "events.jsonl":
            return real(descriptor, data[: data.index(b"\n") + 20])
        return real(descriptor, data)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", little)
        with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
            book.save(replace(RUNS, price=PRICE), events, now(60))
    book.save(replace(RUNS, price=PRICE), (), now(120))
    assert kinds(paths) == list(KINDS)
    assert read_lines(paths.events).torn == (2,)


def test_a_wait_that_begins_anew_in_another_boot_does_so_once(paths: InstancePaths) -> None:
    """Nobody knows how long the machine was off: it counts from the first look of this boot, whoever restarts."""
    Book(paths, now(0)).save(replace(RUNS, over_since=mark(0)), (), now(0))
    unsure = [now(at_s, boot="b2", synced=False) for at_s in (40, 100, 7200)]
    for moment in unsure:
        book = Book(paths, moment)
        assert book.state.over_since == unsure[0].mark
        book.save(book.state, (), moment)


def test_a_memory_of_this_boot_is_not_written_again(
    paths: InstancePaths, synced: list[str]
) -> None:
    """A restart of the process alone changes nothing."""
    Book(paths, now(0)).save(replace(RUNS, starts=1), (), now(0))
    synced.clear()
    for boot, writes in (("b1", False), ("b2", True), ("b2", False)):
        book = Book(paths, now(60, boot=boot))
        book.save(book.state, (), now(60, boot=boot))
        assert bool(synced) == writes
        synced.clear()
