"""What the demo tells while it runs."""

from datetime import UTC, datetime, timedelta

from spoteval.demo.screen import newest, news
from spoteval.event import Event

AT = datetime(2026, 12, 1, tzinfo=UTC)


def event(seconds: float, kind: str, reason: str | None = None, evidence: str = "-") -> Event:
    at = AT + timedelta(seconds=seconds)
    return Event(at, kind, "restarter", "gpu-1", reason=reason, evidence=evidence)


def test_a_call_that_failed_and_ran_is_told_when_it_runs() -> None:
    """The error alone says nothing; RUNNING counts, with the seconds it took."""
    told = news([event(1, "start-answered", evidence="unknown"), event(7, "running")])
    assert [text for _, text in told] == [
        "start: answered an error, RUNNING 6 s later: counted as started"
    ]


def test_an_accepted_start_is_no_news() -> None:
    """Nor is a second RUNNING after an error that has been told."""
    failed = [event(1, "start-answered", evidence="unknown"), event(2, "running")]
    plain = [event(3, "start-answered", evidence="accepted"), event(4, "running")]
    assert len(news([*failed, *plain, event(5, "running")])) == 1


def test_what_happens_to_the_node_is_told_in_order() -> None:
    """Preemption, capacity, notice, episodes and the end each have a line; stops of ours have none."""
    told = news(
        [
            event(1, "first-episode"),
            event(2, "interrupted"),
            event(3, "stopped", "preempted"),
            event(4, "capacity-failure"),
            event(5, "end"),
            event(6, "stopped", "guest"),
        ]
    )
    assert [text.partition(":")[0].partition(";")[0] for _, text in told] == [
        "episodes run",
        "notice",
        "preempted",
        "start",
        "complete",
    ]


def test_a_strip_fits_its_place_at_equal_and_one_past() -> None:
    """As long as there is room it is whole; then its newest part stands behind a mark."""
    assert newest("abcd", 4) == "abcd"
    assert newest("abcde", 4) == "…cde"
