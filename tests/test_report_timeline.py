"""The strip of cells, from events."""

from datetime import timedelta

from event_story import ZERO, at, told
from spoteval.report.timeline import LEGEND, axis, pieces, scaled, strip

UP = (told(0, "start-asked"), told(10, "running"), told(20, "first-episode", "s1"))
CUT = told(60, "stopped", cause="preempted")


def test_a_life_reads_off_restart_work_preempted() -> None:
    """A stretch of ten seconds a cell: off, restart, work, the preemption, off again."""
    found = pieces([*UP, CUT], at(80))
    assert strip(found, 8).cells == "·▒████×··"


def test_what_is_short_is_still_visible() -> None:
    """Every stretch has a cell, however short it was."""
    events = [*UP, CUT, told(60.2, "running"), told(60.4, "first-episode", "s2")]
    assert strip(pieces(events, at(100)), 10).cells == "·▒████×·▒████"


def test_a_capacity_failure_stands_between_two_stretches_of_off() -> None:
    """No capacity is a mark in the time that the machine is off."""
    events = [*UP, CUT, told(70, "capacity-failure"), told(80, "running")]
    assert strip(pieces(events, at(90)), 9).cells == "·▒████×·!·▒"


def test_a_preemption_while_resuming_is_pointed_at() -> None:
    """The note below the strip stands under the preemption that cut a restart."""
    events = [
        *(UP[0], UP[1]),
        told(12, "resume-began", "s1"),
        told(20, "stopped", cause="preempted"),
        told(30, "running"),
    ]
    found = strip(pieces(events, at(40)), 4)
    assert found.cells == "·▒×·▒"
    assert found.notes() == "  ^ while resuming"


def test_a_preemption_before_resume_began_is_not() -> None:
    """A stop while the machine boots did not cut a resume."""
    found = strip(pieces([*UP[:2], told(20, "stopped", cause="preempted")], at(30)))
    assert found.resuming == ()
    assert found.notes() is None


def test_a_stop_on_purpose_is_no_preemption() -> None:
    """A stop by a person, or for an unknown cause, is plain off."""
    for cause in ("user", "unknown", None):
        events = [*UP, told(60, "stopped", cause=cause)]
        assert strip(pieces(events, at(80)), 8).cells == "·▒████··"


def test_the_end_is_the_last_cell() -> None:
    """After the stop that ends the run nothing is shown, however late it is now."""
    events = [*UP, told(58, "end"), told(60, "stopped", cause="guest")]
    assert strip(pieces(events, at(5000)), 6).cells == "·▒████■"


def test_a_preempted_end_is_a_preemption() -> None:
    """A machine that is taken away while it ends shows the preemption."""
    assert strip(pieces([*UP, told(58, "end"), CUT], at(70)), 7).cells == "·▒████×·"


def test_a_new_session_without_a_stop_is_a_restart() -> None:
    """A stop so short that no poll saw it still shows as a restart."""
    events = [*UP, told(15, "booted", "s1"), told(40, "booted", "s2")]
    assert strip(pieces(events, at(60)), 6).cells == "·▒██▒▒"


def test_repeats_change_nothing() -> None:
    """Both hosts tell that the machine runs, and a stop is told twice: one piece each."""
    events = [*UP, told(11, "booted", "s1"), told(12, "running"), CUT, told(61, "stopped")]
    assert strip(pieces(events, at(80)), 8).cells == "·▒████×··"


def test_nothing_happened() -> None:
    """No events, no cells."""
    assert strip(pieces([], at(10))).cells == ""


def test_scaled_keeps_to_the_clock() -> None:
    """Against an axis each cell is the same stretch of time, and a mark stands where it fell."""
    found = pieces([*UP, CUT], at(80))
    assert scaled(found, ZERO, at(80), 8) == "·▒████×·"
    assert scaled(found, ZERO - timedelta(seconds=20), at(80), 10) == "  ·▒████×·"


def test_axis_of_a_night() -> None:
    """Every two hours six cells apart, at the full hours."""
    until = ZERO + timedelta(hours=12)
    assert axis(ZERO, until, 36) == "20    22    00    02    04    06"


def test_axis_of_minutes() -> None:
    """A short stretch is labelled in minutes."""
    assert axis(ZERO, at(240), 48) == "20:00       20:01       20:02       20:03"


def test_the_legend_names_every_cell() -> None:
    """No cell without its word."""
    assert [word[0] for word in LEGEND.split("  ")] == ["█", "▒", "·", "×", "!", "■"]
