"""Requests to the follower and its answers."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from spoteval.clock import Now
from spoteval.control import requests
from spoteval.control.requests import FINAL, KEPT_S, SOON, Answer
from spoteval.files import encoded
from spoteval.paths import DurablePaths
from spoteval.shape import Unreadable

ANSWER = Answer(3, 1, 2, 0, 0.25)


def at(seconds: float, boot: str = "b", *, synced: bool = True) -> Now:
    """A moment so many seconds after the first."""
    wall = datetime(2026, 12, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    return Now(wall, 100 + seconds, boot, synced)


def test_a_request_is_pending_until_it_is_answered(tmp_path: Path) -> None:
    """The asker finds the answer under the id that it got."""
    disk = DurablePaths(tmp_path)
    assert requests.pending(disk) == ()
    request = requests.ask(disk, FINAL, "shutdown-hook", 12.5, at(0))
    assert requests.answer(disk, request) is None
    found = requests.pending(disk)
    assert [(item.id, item.kind, item.by, item.deadline_s) for item in found] == [
        (request, FINAL, "shutdown-hook", 12.5)
    ]
    requests.reply(disk, request, ANSWER)
    assert requests.pending(disk) == ()
    assert requests.answer(disk, request) == ANSWER


def test_the_first_answer_counts(tmp_path: Path) -> None:
    """An answer that was read is not changed under its reader."""
    disk = DurablePaths(tmp_path)
    request = requests.ask(disk, SOON, "a", 1.0, at(0))
    requests.reply(disk, request, ANSWER)
    requests.reply(disk, request, Answer(0, 0, 0, 0, 0.0))
    assert requests.answer(disk, request) == ANSWER


def test_two_requests_of_one_moment_are_two(tmp_path: Path) -> None:
    """Each is answered by its own id."""
    disk = DurablePaths(tmp_path)
    first, second = (requests.ask(disk, SOON, "a", 1.0, at(0)) for _ in range(2))
    requests.reply(disk, first, ANSWER)
    assert [item.id for item in requests.pending(disk)] == [second]


@pytest.mark.parametrize(("waited_s", "left_s"), [(0, 5.0), (4.5, 0.5), (5, 0.0), (6, 0.0)])
def test_time_left_until_the_deadline(tmp_path: Path, waited_s: float, left_s: float) -> None:
    """Never negative; at the deadline nothing is left."""
    requests.ask(DurablePaths(tmp_path), FINAL, "a", 5.0, at(0))
    assert requests.pending(DurablePaths(tmp_path))[0].left_s(at(waited_s)) == left_s


def test_a_request_of_another_boot_whose_age_nobody_knows_has_no_time_left(tmp_path: Path) -> None:
    """Its asker is gone."""
    requests.ask(DurablePaths(tmp_path), FINAL, "a", 5.0, at(0))
    assert requests.pending(DurablePaths(tmp_path))[0].left_s(at(0, "c", synced=False)) == 0.0


def test_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    """The value is quoted, and nothing is written."""
    with pytest.raises(ValueError, match='"soon"'):
        requests.ask(DurablePaths(tmp_path), "soon", "a", 1.0, at(0))
    assert not (tmp_path / "spoteval").exists()


def test_a_request_or_answer_cut_at_each_byte_asks_and_answers_nothing(tmp_path: Path) -> None:
    """Torn is neither a request nor "nothing is left"."""
    disk = DurablePaths(tmp_path)
    request = requests.ask(disk, FINAL, "a", 5.0, at(0))
    path = disk.requests / f"{request}.json"
    whole = path.read_bytes()
    for length in range(len(whole) - 1):
        path.write_bytes(whole[:length])
        assert requests.pending(disk) == ()
    done = encoded(ANSWER.record())
    for length in range(len(done) - 1):
        (disk.requests / f"{request}.done.json").write_bytes(done[:length])
        assert isinstance(requests.answer(disk, request), Unreadable)


@pytest.mark.parametrize(("age_s", "kept"), [(KEPT_S, True), (KEPT_S + 1, False)])
def test_old_answered_requests_are_removed(tmp_path: Path, age_s: float, kept: bool) -> None:
    """With their answers; one without an answer stays, however old."""
    disk = DurablePaths(tmp_path)
    answered = requests.ask(disk, SOON, "a", 1.0, at(0))
    requests.reply(disk, answered, ANSWER)
    waiting = requests.ask(disk, SOON, "b", 1.0, at(0))
    requests.prune(disk, at(age_s))
    assert (requests.answer(disk, answered) == ANSWER) is kept
    assert [item.id for item in requests.pending(disk)] == [waiting]
    assert len(list(disk.requests.iterdir())) == (3 if kept else 1)
