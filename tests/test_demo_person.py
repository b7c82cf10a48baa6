"""The demo has nobody at its hosts: what needs a person is shown, and ends it with that line."""

from datetime import UTC, datetime, timedelta

import pytest

from spoteval.demo.director import NEEDED_S, _refuse_needy
from spoteval.demo.screen import news
from spoteval.demo.stage import DemoFailed
from spoteval.event import NEEDS_YOU, Event

AT = datetime(2026, 12, 1, tzinfo=UTC)
LATE = "server policy is not ready after 120 s: connection refused"
NEED = Event(AT, NEEDS_YOU, "boot-resume", "gpu-1", reason=LATE)


def test_a_call_for_a_person_is_shown() -> None:
    """As it was said."""
    assert news([NEED]) == [(AT, f"needs you: {LATE}")]


@pytest.mark.parametrize(
    ("pending", "said"),
    [(0, "published"), (2, "not published: 2"), (None, "not published: nobody knows")],
)
def test_the_end_is_shown_as_it_was(pending: int | None, said: str) -> None:
    """With the store away nothing is published, whatever the demo hoped for."""
    end = Event(AT, "end", "end-handler", "gpu-1", detail={"pending": pending})
    assert news([end]) == [(AT, f"complete: {said}; then both holds, power off")]


def test_a_demo_that_needs_a_person_ends_with_that_line() -> None:
    """Not at the bound but past it, and not where the guest went on by itself."""
    _refuse_needy((NEED,), AT + timedelta(seconds=NEEDED_S))
    past = AT + timedelta(seconds=NEEDED_S + 0.001)
    with pytest.raises(DemoFailed, match=f"it needs a person: {LATE} "):
        _refuse_needy((NEED,), past)
    _refuse_needy((NEED, Event(AT + timedelta(seconds=1), "booted", "boot-resume", "gpu-1")), past)
