"""The demo's own check can fail: each fault that it looks for is found."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from spoteval.demo.truth import (
    asked_by_restarter,
    asked_of_market,
    errors_that_ran,
    hold_spans,
    read_witness,
    starts_under_hold,
    unexplained_starts,
)
from spoteval.event import Event
from spoteval.hold import Hold

AT = datetime(2026, 12, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return AT + timedelta(seconds=seconds)


def event(seconds: float, kind: str, evidence: str | None = None) -> Event:
    return Event(at(seconds), kind, "restarter", "gpu-1", evidence=evidence)


def test_a_witness_finds_an_episode_that_ran_again_after_its_end(tmp_path: Path) -> None:
    """A cut episode may begin again; one that ended may not, and counts once however often it does."""
    path = tmp_path / "witness.log"
    lines = ["begin a 1 7 t", "cut a 1 7 t", "begin a 1 8 t", "end a 1 8 t", "begin b 1 8 t"]
    path.write_text("\n".join(lines) + "\n")
    found = read_witness(path)
    assert (found.begins, found.ends, found.rerun, found.ended) == (3, 1, 0, frozenset({"a/1"}))
    path.write_text("\n".join([*lines, "begin a 1 9 t", "begin a 1 9 t"]) + "\n")
    assert read_witness(path).rerun == 1


def test_epochs_of_one_sample_are_different_episodes(tmp_path: Path) -> None:
    """The second epoch of a finished sample is no rerun."""
    path = tmp_path / "witness.log"
    path.write_text("begin a 1 7 t\nend a 1 7 t\nbegin a 2 7 t\n")
    assert read_witness(path).rerun == 0


def test_a_start_under_a_hold_is_found_at_both_bounds() -> None:
    """At the hold, at its release, and one past on each side."""
    spans = [(at(10), at(20))]
    starts = [at(9.999), at(10), at(20), at(20.001)]
    assert [starts_under_hold([start], spans) for start in starts] == [0, 1, 1, 0]
    assert starts_under_hold([at(1e6)], [(at(10), None)]) == 1


def test_holds_stand_from_their_time_until_their_release() -> None:
    """A hold without a release stands for ever."""
    holds = [Hold("a", "gpu-1", "r", "ana", at(1)), Hold("b", "gpu-1", "r", "ana", at(2))]
    assert hold_spans(holds, {"a": at(5)}) == [(at(1), at(5)), (at(2), None)]


def line(what: str, status: int | None = None) -> dict[str, object]:
    return {"what": what, "status": status}


BY_HAND = line("start-asked", 200)


def test_every_answered_start_call_is_counted() -> None:
    """Also one that is refused for want of capacity; one that finds none later was counted when it was asked."""
    history = [BY_HAND, line("running"), line("capacity", 503), line("start-asked", 200)]
    assert asked_of_market([*history, line("capacity")]) == 3
    assert asked_by_restarter([event(1, "start-asked"), event(2, "running")]) == [at(1)]


def test_starts_that_only_one_side_knows_are_unexplained() -> None:
    """But for the call that the restarter was killed over: it was on record before it went out."""
    asked, answered = event(1, "start-asked"), event(2, "start-answered", "accepted")
    refused = [BY_HAND, line("capacity", 503)]
    assert unexplained_starts([asked, answered], refused) == 0
    assert unexplained_starts([], refused) == 1
    assert unexplained_starts([asked, answered], [BY_HAND]) == 1
    assert unexplained_starts([asked], [BY_HAND]) == 0
    assert unexplained_starts([asked], refused) == 0
    assert unexplained_starts([asked, asked], [BY_HAND, *refused]) == 0


def test_an_error_that_ran_needs_the_error_and_the_running() -> None:
    """An accepted start that runs, and an error without capacity, are not it."""
    fine, none = [BY_HAND, line("running")], [line("start-asked", 500), line("capacity")]
    assert errors_that_ran([*fine, *none, *fine, line("capacity", 503), *fine]) == 0
    assert errors_that_ran([*fine, *none, line("start-asked", 500), line("running")]) == 1
