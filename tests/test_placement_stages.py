"""The stages S2 to S6 of restarts, and the spend, from events alone."""

import pytest

from event_story import at, restart, told
from spoteval.placement.spend import spend
from spoteval.placement.stages import medians, restarts


def test_a_whole_restart() -> None:
    """Each stage is the time between its two marks; the server's own start time counts, not the event's."""
    story = [
        told(100, "stopped", cause="preempted"),
        told(101, "start-asked"),
        told(103, "running"),
        told(108, "server-start", at="2026-12-01T20:01:44.000Z"),
        told(107, "healthy"),
        told(108.5, "first-episode"),
    ]
    (found,) = restarts(story)
    assert found.stages == {"S2": 1, "S3": 2, "S4": 1, "S5": 3, "S6": 1.5}
    assert found.done
    assert found.total_s == 8.5


def test_capacity_failures_are_in_the_way_to_running() -> None:
    """S3 runs from the first start call, each capacity failure included."""
    story = [
        told(0, "stopped"),
        told(2, "start-asked"),
        told(9, "capacity-failure"),
        told(11, "start-asked"),
        told(14, "running"),
    ]
    assert restarts(story)[0].stages == {"S2": 2, "S3": 12}


def test_a_restart_that_is_cut_keeps_what_it_reached() -> None:
    """The next stop begins the next restart; the medians take each stage from those that reached it."""
    story = [
        told(0, "stopped"),
        told(1, "start-asked"),
        told(4, "running"),
        told(5, "stopped"),
        told(8, "start-asked"),
        told(9, "running"),
        told(9.5, "server-start"),
        told(10, "healthy"),
        told(12, "first-episode"),
    ]
    cut, whole = restarts(story)
    assert (cut.done, whole.done) == (False, True)
    assert medians([cut, whole]) == {"S2": 2, "S3": 2, "S4": 0.5, "S5": 0.5, "S6": 2}


def test_the_first_start_is_no_restart() -> None:
    """Nothing was stopped before it."""
    assert restarts(restart(0)) == ()


def test_a_stop_without_a_restart_is_none() -> None:
    """The end of a run is a stop that nothing follows."""
    assert restarts([told(0, "stopped")]) == ()
    assert medians(()) == {}


def test_polls_that_cross_are_never_negative() -> None:
    """The guest may say that it serves before the restarter's poll saw RUNNING."""
    story = [told(0, "stopped"), told(3, "server-start"), told(4, "running")]
    assert restarts(story)[0].stages == {"S4": 0.0}


def test_a_foreign_time_in_an_event_is_not_believed() -> None:
    """What is no time leaves the event's own."""
    story = [told(0, "stopped"), told(3, "running"), told(4, "server-start", at="soon")]
    assert restarts(story)[0].stages == {"S4": 1.0}


def test_spend_is_a_range() -> None:
    """From: as of RUNNING. To: as of the start call. Each start at its own price."""
    story = [
        told(0, "manual-start", price=3.60),
        told(10, "running"),
        told(110, "stopped"),
        told(120, "start-asked", price=3.10),
        told(127, "capacity-failure"),
        told(130, "start-asked", price=3.20),
        told(134, "running"),
    ]
    found = spend(story, at(234))
    assert found is not None
    assert found.low == pytest.approx((100 * 3.60 + 100 * 3.20) / 3600)
    assert found.high == pytest.approx((110 * 3.60 + 104 * 3.20) / 3600)
    assert (found.starts, found.price_low, found.price_high) == (2, 3.20, 3.60)
    assert (found.currency, found.now) == ("USD", 3.20)


def test_spend_without_a_price_is_unknown() -> None:
    """No figure is better than a wrong one."""
    assert spend([told(0, "start-asked"), told(2, "running")], at(9)) is None
    assert spend([], at(9)) is None


def test_spend_of_a_stopped_machine_has_no_price_now() -> None:
    """What is off costs nothing per hour here; and one currency is never added to another."""
    story = [told(0, "start-asked", price=3.0), told(2, "running"), told(9, "stopped")]
    found = spend(story, at(100))
    assert found is not None
    assert found.now is None
    euro = {"amount": 5.0, "currency": "EUR", "per": "hour"}
    mixed = [*story, told(20, "start-asked", price=None), told(21, "running")]
    object.__setattr__(mixed[3], "price", euro)
    again = spend(mixed, at(100))
    assert again is not None
    assert (again.starts, again.currency) == (1, "USD")


def test_spend_counts_from_a_moment_on() -> None:
    """What ended before is another run's, of what was up only the rest; at the moment itself it is over."""
    story = [
        *(told(0, "start-asked", price=3600.0), told(10, "running"), told(20, "stopped")),
        *(told(30, "start-asked", price=3600.0), told(40, "running"), told(60, "stopped")),
    ]
    for since_s, low, high, starts in ((0, 30, 50, 2), (15, 25, 35, 2), (20, 20, 30, 1)):
        found = spend(story, at(100), at(since_s))
        assert found is not None
        assert (round(found.low), round(found.high), found.starts) == (low, high, starts)
    assert spend(story, at(100), at(60)) is None
