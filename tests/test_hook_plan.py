"""shutdown_hook.plan: what must be done by when, in each window."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoteval.config.guest import ShutdownSettings
from spoteval.config.window import reserve_s
from spoteval_agents.shutdown_hook.plan import REFUSED_BELOW_S, Plan, plan_for

FREE = ShutdownSettings()
windows = st.floats(0, 7200)
bounds = st.none() | st.floats(0, 600)


def usable(usable_s: float) -> float:
    """The window that leaves so much after its reserve."""
    return usable_s + 10 if usable_s >= 50 else usable_s * 6 / 5


@pytest.mark.parametrize(
    ("window_s", "reserve"),
    [(0, 0), (5, 5 / 6), (8, 8 / 6), (30, 5), (60, 10), (61, 10), (120, 10)],
)
def test_the_reserve_is_a_sixth_and_at_most_ten_seconds(window_s: float, reserve: float) -> None:
    """60 leaves 50, 30 leaves 25, 8 leaves 6.7, 5 leaves 4.2."""
    assert reserve_s(window_s) == pytest.approx(reserve)


@pytest.mark.parametrize(
    ("usable_s", "own", "empty", "salvage"),
    [
        (300, 40, 45, 60),
        (90, 40, 45, 60),
        (50, 22, 25, 32),
        (25, 10, 12, 15),
        (8, 2.5, 3.5, 4.5),
        (5, 1.0, 1.5, None),
        (4, 1.0, 1.5, None),
        (3, 1.0, 1.5, None),
    ],
)
def test_the_rows_of_the_table(
    usable_s: float, own: float, empty: float, salvage: float | None
) -> None:
    """At their own seconds the rows are exact; the final pass has the rest."""
    plan = plan_for(usable(usable_s), FREE)
    assert plan.usable_s == pytest.approx(usable_s)
    assert (plan.own_by_s, plan.empty_by_s) == pytest.approx((own, empty))
    assert plan.salvage_by_s == (None if salvage is None else pytest.approx(salvage))
    assert plan.final_by_s == pytest.approx(usable_s)
    assert not plan.refused


@pytest.mark.parametrize(
    ("usable_s", "own", "empty", "salvage"),
    [(70, 31, 35, 46), (37.5, 16, 18.5, 23.5), (16.5, 6.25, 7.75, 9.75), (6.5, 1.75, 2.5, 3.0)],
)
def test_half_way_between_two_rows(
    usable_s: float, own: float, empty: float, salvage: float
) -> None:
    """Linear."""
    plan = plan_for(usable(usable_s), FREE)
    assert (plan.own_by_s, plan.empty_by_s) == pytest.approx((own, empty))
    assert plan.salvage_by_s == pytest.approx(salvage)


@pytest.mark.parametrize(
    ("window_s", "first_only"), [(6.0, True), (6.001, False), (3.6, True), (9.6, False)]
)
def test_five_seconds_are_enough_for_the_first_step_alone(
    window_s: float, first_only: bool
) -> None:
    """At five and below; nothing is copied then."""
    plan = plan_for(window_s, FREE)
    assert plan.first_step_only is first_only
    assert (plan.salvage_by_s is None) is first_only


@pytest.mark.parametrize(
    ("window_s", "refused"), [(3.6, False), (3.599, True), (1.0, True), (0.0, True), (-40.0, True)]
)
def test_below_three_seconds_nothing_is_stopped(window_s: float, refused: bool) -> None:
    """Three is enough, just under is not; what is left is for the records."""
    plan = plan_for(window_s, FREE)
    assert plan.refused is refused
    assert plan.usable_s == pytest.approx(max(0.0, window_s * 5 / 6))
    if refused:
        assert plan == Plan(window_s, plan.usable_s, final_by_s=plan.usable_s)


@given(windows, bounds, bounds, bounds)
def test_what_holds_of_every_plan(
    window_s: float, stop: float | None, salvage: float | None, final: float | None
) -> None:
    """In order, KILL never later than half, nothing past the usable time, typed values never exceeded."""
    plan = plan_for(window_s, ShutdownSettings(stop, salvage, final))
    if plan.refused:
        assert plan.usable_s < REFUSED_BELOW_S
        return
    copied_by = plan.empty_by_s if plan.salvage_by_s is None else plan.salvage_by_s
    assert 0 <= plan.own_by_s <= plan.empty_by_s <= copied_by <= plan.final_by_s
    assert plan.empty_by_s <= plan.usable_s / 2
    assert plan.final_by_s <= plan.usable_s + 1e-9
    assert stop is None or plan.empty_by_s <= stop
    assert salvage is None or copied_by - plan.empty_by_s <= salvage + 1e-9
    assert final is None or plan.final_by_s - copied_by <= final + 1e-9


@given(windows, windows)
def test_more_time_never_means_less_for_a_step(one_s: float, other_s: float) -> None:
    """The plan grows with the window."""
    less, more = plan_for(min(one_s, other_s), FREE), plan_for(max(one_s, other_s), FREE)
    assert less.own_by_s <= more.own_by_s + 1e-9
    assert less.empty_by_s <= more.empty_by_s + 1e-9
    assert less.final_by_s <= more.final_by_s + 1e-9


def test_a_bound_on_the_stop_keeps_the_share_of_kill() -> None:
    """Half the time for the stop is half for the harness's own way too; the rest goes to the final pass."""
    plan = plan_for(60, ShutdownSettings(stop_s=12.5, salvage_s=2.0))
    assert (plan.own_by_s, plan.empty_by_s) == (11.0, 12.5)
    assert plan.salvage_by_s == 14.5
    assert plan.final_by_s == 50


@pytest.mark.parametrize(("stop_s", "empty_s"), [(25.0, 25.0), (24.9, 24.9), (25.1, 25.0)])
def test_a_bound_is_a_bound_and_no_wish(stop_s: float, empty_s: float) -> None:
    """Equal and above change nothing."""
    assert plan_for(60, ShutdownSettings(stop_s=stop_s)).empty_by_s == empty_s
