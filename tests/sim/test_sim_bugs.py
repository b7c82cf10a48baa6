"""The simulation itself: one deliberate bug for each invariant is caught, by its number and in time."""

from itertools import count

import pytest

from sim.planting import BUGS, caught, planted
from sim.shrink import Failed, faults_in
from sim.sim_run import shortest, told

WITHIN = 1_000
"""Preemptions."""


def finds(bug: str, capsys: pytest.CaptureFixture[str]) -> Failed:
    """The history in which the bug was found, in time and by the number that its name begins with."""
    found, preemptions = caught(bug, WITHIN, count())
    assert found is not None, f"{bug}: not caught within {preemptions} preemptions"
    assert found.number == bug.partition("_")[0].upper(), found.text()
    with capsys.disabled():
        print(f"\n{bug}: caught after {preemptions} preemptions: {found.what}")
    return found


def test_bug_i1_holds_not_read_again(capsys: pytest.CaptureFixture[str]) -> None:
    """A hold that comes between the look and the start."""
    assert "held" in finds("i1_holds_not_read_again", capsys).what


def test_bug_i2_intent_after_the_request(capsys: pytest.CaptureFixture[str]) -> None:
    """A crash between the request and its record."""
    assert finds("i2_intent_after_the_request", capsys).faults


def test_bug_i5_an_absent_file_is_a_release(capsys: pytest.CaptureFixture[str]) -> None:
    """A hold that no person lifted."""
    assert "nobody" in finds("i5_an_absent_file_is_a_release", capsys).what


def test_bug_i6_stop_again_and_again(capsys: pytest.CaptureFixture[str]) -> None:
    """A stop that takes no effect is repeated in a hurry."""
    assert "stop" in finds("i6_stop_again_and_again", capsys).what


def test_bug_i7_what_runs_is_not_on(capsys: pytest.CaptureFixture[str]) -> None:
    """A machine that nobody needs."""
    assert "runs on" in finds("i7_what_runs_is_not_on", capsys).what


def test_bug_i11_backoff_for_ever(capsys: pytest.CaptureFixture[str]) -> None:
    """A start that does not come."""
    assert "not started" in finds("i11_backoff_for_ever", capsys).what


def test_there_is_a_bug_for_each_invariant() -> None:
    """No invariant of the restarter is left out."""
    assert sorted({bug.partition("_")[0] for bug in BUGS}) == ["i1", "i11", "i2", "i5", "i6", "i7"]


def test_a_failing_history_is_shrunk() -> None:
    """Few faults are left, and with these alone it fails in the same way; the command says which."""
    with planted("i2_intent_after_the_request"):
        found, _ = caught("i2_intent_after_the_request", WITHIN, count())
        assert found is not None
        small = shortest(found)
        assert small.number == "I2"
        assert len(small.faults) <= 3 < len(found.faults)
        kept = small.text().rpartition("--only '")[2].rstrip("'")
        assert faults_in(kept) == frozenset(small.faults)
        replayed = told(small.scene)
    assert isinstance(replayed, Failed)
    assert (replayed.number, replayed.at_s) == ("I2", small.at_s)
    assert not isinstance(told(small.scene, 2), Failed)  # it is the bug's doing, not the world's


@pytest.mark.parametrize("text", ["7", "x:timeout", "7:thunder", "7:timeout,,8"])
def test_what_is_no_fault_is_refused(text: str) -> None:
    """The kinds that are known are named."""
    with pytest.raises(ValueError, match="kinds are timeout"):
        faults_in(text)
