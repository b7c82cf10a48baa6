"""control.enders: intents to stop the machine, and what became of them."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from crash_points import Crash, CrashPoints
from spoteval.clock import Mark
from spoteval.control import enders
from spoteval.control.enders import UNREAD, Ender
from spoteval.shape import Unreadable

AT = Mark(datetime(2026, 12, 1, 3, tzinfo=UTC), 1200.5, "boot-1")
INTENT = Ender("", "5e55", "idle-guard", "idle for 1200 s", "idle-20261201T030000-ab12", AT)
DETAIL = {"at": AT.record(), "strength": "proved", "by": "boot-resume"}


def found(folder: Path) -> tuple[Ender, ...]:
    """All intents; the folder is readable."""
    seen = enders.enders(folder)
    assert isinstance(seen, tuple)
    return seen


def test_an_intent_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    """Under the name of its session."""
    written = enders.write_intent(tmp_path / "enders", replace(INTENT, run="swe"))
    assert written.name == "5e55"
    assert found(tmp_path / "enders") == (written,)
    assert written.unfinished


def test_no_folder_is_no_intent_but_a_file_there_is_unreadable(tmp_path: Path) -> None:
    """Absent is an answer; what cannot be listed is not."""
    assert enders.enders(tmp_path / "enders") == ()
    (tmp_path / "enders").write_text("")
    assert isinstance(enders.enders(tmp_path / "enders"), Unreadable)


def test_proof_and_withdrawal_are_files_of_their_own(tmp_path: Path) -> None:
    """The intent is never rewritten; either one finishes it, and saying it twice changes nothing."""
    first = enders.write_intent(tmp_path, INTENT)
    before = (tmp_path / "5e55.json").read_bytes()
    enders.mark_proved(tmp_path, first.name, DETAIL)
    enders.mark_proved(tmp_path, first.name, {"other": 1})
    assert (tmp_path / "5e55.json").read_bytes() == before
    assert "strength" in (tmp_path / "5e55.done.json").read_text()
    (seen,) = found(tmp_path)
    assert (seen.proved, seen.withdrawn, seen.unfinished) == (True, False, False)
    assert seen.proved_by == "boot-resume"
    enders.mark_withdrawn(tmp_path, first.name, {"why": "keep-alive"})
    (seen,) = found(tmp_path)
    assert (seen.proved, seen.withdrawn, seen.unfinished) == (True, True, False)


def test_several_in_one_session_come_in_their_order(tmp_path: Path) -> None:
    """Idle, withdrawn, idle again, twelve times: the newest is the last, also past the ninth."""
    for _ in range(12):
        enders.write_intent(tmp_path, INTENT)
    assert [ender.name for ender in found(tmp_path)][:3] == ["5e55", "5e55-002", "5e55-003"]
    last = enders.standing(found(tmp_path), "5e55")
    assert last is not None
    assert last.name == "5e55-012"


def test_what_is_owed_comes_from_earlier_sessions(tmp_path: Path) -> None:
    """Neither this session's own, nor a proved one, nor a withdrawn one."""
    for session in ("1111", "2222", "3333", "4444"):
        enders.write_intent(tmp_path, replace(INTENT, session=session))
    enders.mark_proved(tmp_path, "2222", DETAIL)
    enders.mark_withdrawn(tmp_path, "3333", DETAIL)
    assert [ender.name for ender in enders.owed(found(tmp_path), "4444")] == ["1111"]
    standing = enders.standing(found(tmp_path), "4444")
    assert standing is not None
    assert standing.name == "4444"
    assert enders.standing(found(tmp_path), "3333") is None
    assert enders.standing(found(tmp_path), "5555") is None


def test_an_intent_cut_at_each_byte_stands_all_the_same(tmp_path: Path) -> None:
    """A damaged intent is an intent with a hold of its own name: the next boot owes that one."""
    enders.write_intent(tmp_path, INTENT)
    path = tmp_path / "5e55.json"
    whole = path.read_bytes()
    for length in range(len(whole) - 1):
        path.write_bytes(whole[:length])
        (seen,) = found(tmp_path)
        assert (seen.agent, seen.session, seen.hold_id) == (UNREAD, "5e55", "ender-5e55")
        assert enders.owed((seen,), "other") == (seen,)
    path.write_bytes(b'{"format": 1, "session": 5}')
    assert found(tmp_path)[0].agent == UNREAD


def test_a_proof_counts_by_its_name_whatever_is_left_of_it(tmp_path: Path) -> None:
    """It was created after the hold was proved: a torn body takes nothing back."""
    enders.write_intent(tmp_path, INTENT)
    enders.mark_proved(tmp_path, "5e55", DETAIL)
    whole = (tmp_path / "5e55.done.json").read_bytes()
    for length in range(len(whole) - 1):
        (tmp_path / "5e55.done.json").write_bytes(whole[:length])
        (seen,) = found(tmp_path)
        assert (seen.proved, seen.proved_by) == (True, None)


def test_rounds_are_lives_that_an_agent_ended_without_a_proved_hold(tmp_path: Path) -> None:
    """Two intents of one life are one round; another agent's, a proved one and this life's are none."""
    for session in ("1111", "1111", "2222", "3333", "4444"):
        enders.write_intent(tmp_path, replace(INTENT, session=session))
    enders.write_intent(tmp_path, replace(INTENT, session="5555", agent="end-handler"))
    enders.mark_proved(tmp_path, "3333", DETAIL)
    assert enders.rounds(found(tmp_path), "4444", "idle-guard") == 2
    assert enders.rounds(found(tmp_path), "6666", "idle-guard") == 3


def test_a_crash_at_each_write_leaves_a_readable_state(
    tmp_path: Path, crash_points: CrashPoints
) -> None:
    """Either no intent or a whole one; either no proof or one."""

    def work(folder: Path) -> None:
        intent = enders.write_intent(folder, INTENT)
        enders.mark_proved(folder, intent.name, DETAIL)

    points = crash_points.count(lambda: work(tmp_path / "whole"))
    for n in range(1, points + 1):
        folder = tmp_path / str(n)
        with pytest.raises(Crash), crash_points.crash_at(n):
            work(folder)
        seen = found(folder)
        assert len(seen) <= 1
        assert all(ender.agent == "idle-guard" for ender in seen)
