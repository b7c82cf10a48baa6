"""shutdown_hook.decide: every row on its sentence."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from spoteval.clock import Now
from spoteval.control.enders import UNREAD, Ender
from spoteval.control.requests import Answer
from spoteval.notice.contract import Notice
from spoteval.shape import Reading, Unreadable
from spoteval_agents.shutdown_hook.decide import (
    Current,
    Outcome,
    Seen,
    State,
    announced_s,
    cause,
    decide,
    is_shutdown,
    line,
    not_an_interruption,
)

WALL = datetime(2026, 12, 1, 2, 58, 11, tzinfo=UTC)
NOW = Now(WALL, 1000.0, "boot-1")
NOTICE = Notice("n-1", "preemption", WALL + timedelta(seconds=60), "local")
DONE = Current(NOW.mark, 60.0, "n-1", "i-1")
HALF = replace(DONE, done=False)
QUIET = Seen(None, terminated=False, run="swe")


def sentence(seen: Seen, state: State, after_s: float = 0.0) -> str:
    """The line, so many seconds after NOW."""
    return decide(seen, state, 300.0, replace(NOW, mono_s=NOW.mono_s + after_s)).line()


def seen(notice: Reading[Notice | None] = None, terminated: bool = False) -> Seen:
    """What was read, with a run that is active."""
    return Seen(notice, terminated, "swe")


def test_nothing_is_watched() -> None:
    """Which run would be marked is in the line."""
    assert sentence(QUIET, State()) == "agent=shutdown-hook decision=watch run=swe notice=none"
    assert "run=none" in sentence(replace(QUIET, run=None), State())


def test_an_error_is_never_a_notice() -> None:
    """Nor is a disk that has not proved itself a run; both are named."""
    found = Seen(Unreadable("timeout:5s"), terminated=False, run=Unreadable("/d: no sentinel"))
    assert sentence(found, State()) == (
        "agent=shutdown-hook decision=watch run=unreadable notice=unreadable "
        'why="/d: no sentinel; timeout:5s"'
    )


def test_a_new_notice_interrupts() -> None:
    """Also together with the signal: they are one."""
    for terminated in (False, True):
        assert sentence(seen(NOTICE, terminated), State()) == (
            "agent=shutdown-hook decision=interrupt source=notice"
        )


def test_the_signal_interrupts_until_it_is_known_what_it_is() -> None:
    """Also where a notice cannot be read, or came to nothing before."""
    wanted = "agent=shutdown-hook decision=interrupt source=shutdown"
    assert sentence(seen(None, terminated=True), State()) == wanted
    assert sentence(seen(Unreadable("x"), terminated=True), State()) == wanted
    assert sentence(seen(NOTICE, terminated=True), State(None, frozenset(["n-1"]))) == wanted


def test_repeats_of_what_is_done_do_nothing() -> None:
    """The notice goes on standing: waited. Then the signal: the process leaves."""
    assert sentence(seen(NOTICE), State(DONE), 30) == (
        "agent=shutdown-hook decision=interrupted notice=n-1 marker=i-1 "
        'why="all is done; waiting for the machine\'s end"'
    )
    other = replace(NOTICE, id="n-2")
    assert "decision=interrupted" in sentence(seen(other), State(DONE), 30)
    assert "decision=interrupted" in sentence(seen(Unreadable("x")), State(DONE), 30)
    for notice in (NOTICE, None, Unreadable("x")):
        assert sentence(seen(notice, terminated=True), State(DONE), 30) == (
            "agent=shutdown-hook decision=leave notice=n-1 marker=i-1 "
            'why="the interruption is dealt with; nothing twice"'
        )


def test_what_a_hook_died_over_is_gone_on_with() -> None:
    """The same notice, not done: again. Withdrawn meanwhile: expired. The signal: a shutdown."""
    assert "decision=interrupt source=notice" in sentence(seen(NOTICE), State(HALF))
    assert "decision=notice-expired" in sentence(seen(None), State(HALF))
    assert "decision=interrupt source=shutdown" in sentence(
        seen(None, terminated=True), State(HALF)
    )


@pytest.mark.parametrize(
    ("after_s", "word"), [(0, "interrupted"), (359.99, "interrupted"), (360, "notice-expired")]
)
def test_a_machine_that_is_still_up_was_not_taken(after_s: float, word: str) -> None:
    """300 s after the deadline of 60 s, and not a moment before."""
    text = sentence(seen(NOTICE), State(DONE), after_s)
    assert f"decision={word} " in text
    if word == "notice-expired":
        assert text.endswith('why="still up 300 s after the deadline; the run may go on"')


def test_a_withdrawn_notice_came_to_nothing() -> None:
    """Only a reading that says none is one."""
    assert sentence(seen(None), State(DONE), 5) == (
        "agent=shutdown-hook decision=notice-expired notice=n-1 marker=i-1 "
        'why="the notice was withdrawn; the run may go on"'
    )


def test_a_spent_notice_announces_nothing_and_a_new_one_does() -> None:
    """It may stand for ever in the metadata."""
    spent = State(None, frozenset(["n-1"]))
    assert sentence(seen(NOTICE), spent) == (
        "agent=shutdown-hook decision=watch run=swe notice=spent"
    )
    assert "decision=interrupt" in sentence(seen(replace(NOTICE, id="n-2")), spent)


def test_a_mark_of_another_boot_never_expires_without_a_clock() -> None:
    """Nobody can know how long ago it was."""
    unsynced = replace(NOW, boot="boot-2", synced=False)
    found = decide(seen(NOTICE), State(DONE), 300.0, unsynced)
    assert found.word == "interrupted"


@pytest.mark.parametrize(
    ("notice", "now", "window_s"),
    [
        (NOTICE, NOW, 60.0),
        (replace(NOTICE, deadline=None), NOW, 8.0),
        (NOTICE, replace(NOW, synced=False), 8.0),
        (NOTICE, replace(NOW, wall=WALL + timedelta(seconds=61)), -1.0),
    ],
)
def test_the_window_is_what_the_notice_leaves(notice: Notice, now: Now, window_s: float) -> None:
    """Without a deadline or a clock that can be believed, what is configured."""
    assert announced_s(notice, 8.0, now) == window_s


@pytest.mark.parametrize(
    ("stopping", "restarting", "shutdown"),
    [
        (True, False, True),
        (True, True, True),
        (False, False, False),
        (False, True, False),
        (Unreadable("no bus"), False, True),
        (Unreadable("no bus"), True, False),
    ],
)
def test_a_question_that_fails_means_shutdown(
    stopping: Reading[bool], restarting: bool, shutdown: bool
) -> None:
    """Unless our own scripts are at work."""
    assert is_shutdown(stopping, restarting) is shutdown


@pytest.mark.parametrize(
    ("announced", "agent", "found"),
    [
        (True, None, "preempted"),
        (True, "end-handler", "preempted"),
        (False, None, "unknown"),
        (False, "end-handler", "end"),
        (False, "idle-guard", "idle"),
        (False, "operator", "operator"),
        (False, UNREAD, "unknown"),
    ],
)
def test_the_cause(announced: bool, agent: str | None, found: str) -> None:
    """The provider's word, else the word of who stops the machine from within, else nobody's."""
    ender = None if agent is None else Ender("5e55", "5e55", agent, "why", "h-1")
    assert cause(announced, ender) == found


@pytest.mark.parametrize(
    ("announced", "agent", "rebooting", "found"),
    [
        (False, None, True, "operator"),
        (False, None, False, "unknown"),
        (False, None, Unreadable("no answer"), "unknown"),
        (True, None, True, "preempted"),
        (False, "end-handler", True, "end"),
    ],
)
def test_a_reboot_is_somebody_s_doing(
    announced: bool, agent: str | None, rebooting: Reading[bool], found: str
) -> None:
    """A provider that takes a machine switches it off; what was said before a reboot still counts first."""
    ender = None if agent is None else Ender("5e55", "5e55", agent, "why", "h-1")
    assert cause(announced, ender, rebooting) == found


def test_the_line_of_an_interruption() -> None:
    """Keys and order as they are promised."""
    outcome = Outcome(
        source="shutdown",
        window_s=60.0,
        marker="2026-12-01T02-58-11-5e55",
        marker_ms=13.6,
        total_s=9.44,
        stop_s=3.06,
        killed=0,
        salvaged=16,
        final=Answer(12, 0, 0, 0, 4.2),
    )
    assert line(outcome).line() == (
        "agent=shutdown-hook decision=interrupt source=shutdown window_s=60 marker_ms=14 "
        'stop_s=3.1 killed=0 salvaged=16 final_pass="12 of 12" left=0 total_s=9.4 '
        "marker=2026-12-01T02-58-11-5e55"
    )


def test_the_line_leaves_out_what_was_not_come_to() -> None:
    """No marker is said, all else is absent."""
    assert line(Outcome("notice", 2.5, None, None, 0.3)).line() == (
        "agent=shutdown-hook decision=interrupt source=notice window_s=2.5 total_s=0.3 marker=none"
    )


@pytest.mark.parametrize(
    ("stopping", "unread"), [(False, ""), (Unreadable("no bus"), ' unread="no bus"')]
)
def test_the_line_of_a_restart(stopping: Reading[bool], unread: str) -> None:
    """It names the marker that was closed."""
    assert not_an_interruption("i-1", stopping).line() == (
        f"agent=shutdown-hook decision=not-an-interruption source=shutdown marker=i-1{unread} "
        'why="our unit was stopped, the machine goes on; nothing was touched"'
    )
