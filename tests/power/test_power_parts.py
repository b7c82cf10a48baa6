"""The plan of the cuts, and what is held against a cut: each fault is seen as what it is."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import get_args
from uuid import uuid4

import pytest

from power.campaign import _numbers
from power.episodes import LONG, answer, seconds
from power.guest import RUN, Link, Plan, configure
from power.judge import altered, denied, lost
from power.plan import SPREAD_S, Phase, short_story, stories
from power.reading import Disk, read_disk
from spoteval.config.guest import read_guest
from spoteval.episode import Attempt, Outcome
from spoteval.publication.keys import manifest_key, part_key
from spoteval.publication.manifest import PartEntry, manifest_bytes, witness_line

PHASES = get_args(Phase)


def digest(data: bytes) -> str:
    """sha256."""
    return hashlib.sha256(data).hexdigest()


def line(key: str, number: int = 1) -> dict[str, object]:
    """The witness of an episode."""
    data = answer(key)
    attempt = Attempt(key, f"{key}#1", Outcome.COMPLETED, number)
    return witness_line(attempt, [PartEntry("answer", len(data), digest(data), 0o644)])


def store(*keys: str) -> dict[str, bytes]:
    """These episodes, published."""
    found: dict[str, bytes] = {}
    for key in keys:
        found[part_key(RUN, key, 1, "answer")] = answer(key)
        found[manifest_key(RUN, key, 1)] = manifest_bytes(RUN, line(key))
    return found


def disk(*keys: str) -> Disk:
    """These episodes, finished."""
    ended = {key: {"answer": digest(answer(key))} for key in keys}
    return Disk((), {key: line(key) for key in keys}, ended, 0, "none")


def test_the_full_set() -> None:
    """A hundred, numbered through; each phase is cut, and in each a machine is killed."""
    every = [cut for story in stories() for cut in story.cuts]
    assert [cut.number for cut in every] == list(range(1, 101))
    assert {cut.phase for cut in every} == set(PHASES)
    assert {cut.phase for cut in every if cut.by == "kill"} == set(PHASES)


def test_a_cut_lies_within_its_phase() -> None:
    """In the order of time, so that none is missed; the same with each call."""
    for life in (life for story in (*stories(), short_story()) for life in story.lives):
        for phase in PHASES:
            own = [cut.share for cut in life.cuts if cut.phase == phase]
            assert own == sorted(own)
            assert all(0 <= share <= 1 for share in own)
    assert stories() == stories()
    assert all(set(spread_s) == set(PHASES) for spread_s in SPREAD_S.values())


def test_a_kill_ends_a_life() -> None:
    """And the last life of a story comes to its end."""
    for story in (*stories(), short_story()):
        for life in story.lives:
            assert all(cut.by == "fork" for cut in life.cuts[:-1])
        assert not story.lives[-1].is_killed
        assert not story.lives[-1].is_shut_down


def test_parts_of_the_set() -> None:
    """As a person types them."""
    assert _numbers("1-3,9") == {1, 2, 3, 9}
    assert _numbers("7") == {7}


def test_some_episodes_are_longer_than_a_life() -> None:
    """The others take seconds."""
    every = {str(n): seconds(str(n)) for n in range(1, 19)}
    assert all((every[key] >= 30) == (key in LONG) for key in every)


def test_a_cut_that_cost_nothing() -> None:
    """What is published is on the disk, and comes to the end."""
    assert list(denied(disk("1", "2"), store("1"))) == []
    assert list(lost(disk("1", "2"), store("1", "2"))) == []
    assert list(altered(store("1", "2"), 2)) == []


def test_published_and_not_on_the_disk() -> None:
    """No witness, no files: a power cut took back what was published."""
    assert any("no witness" in text for text in denied(disk("1"), store("1", "2")))


def test_published_with_other_bytes_than_the_disk() -> None:
    """The file was not on the disk when it was sent."""
    torn = replace(disk("1"), ended={"1": {"answer": digest(b"")}})
    assert any("other bytes" in text for text in denied(torn, store("1")))


def test_published_under_another_manifest_than_the_witness() -> None:
    """The disk tells it otherwise."""
    other = replace(disk("1"), witness={"1": line("1", number=2)})
    assert any("differs" in text for text in denied(other, store("1")))


def test_a_part_that_was_sent_too_early() -> None:
    """Before the disk knew of the end of its episode."""
    sent = {part_key(RUN, "2", 1, "answer"): answer("2")}
    assert any("knows nothing of its end" in text for text in denied(disk("1"), sent))
    assert list(denied(disk("2"), sent)) == []


@pytest.mark.parametrize("after", [store(), store("2")])
def test_finished_and_gone(after: dict[str, bytes]) -> None:
    """It was finished when the power went."""
    assert len(list(lost(disk("1"), after))) == 1


def test_finished_and_otherwise_at_the_end() -> None:
    """It was run again, or changed."""
    after = {**store(), manifest_key(RUN, "1", 1): manifest_bytes(RUN, line("1", number=2))}
    assert any("another manifest" in text for text in lost(disk("1"), after))


def test_bytes_that_the_program_never_wrote() -> None:
    """Each byte of an episode is known."""
    after = {**store("1"), part_key(RUN, "1", 1, "answer"): answer("1")[:-1]}
    assert any("not the program's" in text for text in altered(after, 1))
    assert any("not published" in text for text in altered(store("1"), 2))


@pytest.mark.parametrize("deadline", ["", "2026-12-04T08:00:00Z"])
def test_the_host_file_is_one(tmp_path: Path, deadline: str) -> None:
    """The product reads it, with and without a deadline."""
    configure(tmp_path, Plan(deadline=deadline), Link("http://10.0.2.2:9000", 8000, str(uuid4())))
    path = tmp_path / "etc" / "spoteval" / "config.toml"
    assert read_guest(path).notice_window_s == 60


def test_what_is_half_made_is_no_record(tmp_path: Path) -> None:
    """A file, or a folder of it, that is renamed once it is whole."""
    spare = tmp_path / "spoteval" / ".spare.tmp"
    spare.mkdir(parents=True)
    (spare / "opened.json").write_bytes(bytes(9))
    whole = tmp_path / "spoteval" / "boot.json"
    whole.write_bytes(bytes(9))
    found = read_disk(tmp_path, 1).unreadable
    assert [why for why in found if str(spare) in why] == []
    assert [why for why in found if str(whole) in why] != []
