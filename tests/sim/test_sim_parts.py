"""The parts of the virtual world: store, weather, faults and clocks are what they say."""

from itertools import pairwise
from pathlib import Path
from statistics import median

import pytest

from sim.fault_plan import PROBABILITIES, FaultPlan
from sim.figures import COLUMNS, Figures
from sim.rows_seen import rows_there
from sim.scene import MEDIAN_S, SHAPES
from sim.truth import LATE_S
from sim.virtual_clock import VirtualClock
from sim.virtual_store import Shelf, VirtualStore
from sim.virtual_weather import SimWeather
from spoteval.store.contract import Put, Store, StoreError
from store_contract import StoreContract, keys


class TestVirtualStore(StoreContract):
    """What every store must do."""

    @pytest.fixture
    def store(self) -> Store:
        """Empty, and read by who wrote it."""
        return VirtualStore(Shelf(lambda: 0.0, lambda key, data, by: None), "a")

    def test_nothing_deletes_or_overwrites(self, store: Store) -> None:
        """Besides the verbs of a store it has only what the world sets and asks."""
        knobs = {"away", "loses_answers", "answered", "lost", "lost_now", "late", "listed", "keys"}
        public = {name for name in dir(store) if not name.startswith("_")}
        assert public - knobs == {"put", "put_file", "get", "list", "url"}


def test_others_are_listed_a_put_later() -> None:
    """Its writer sees it at once, everybody gets it at once."""
    now = [100.0]
    shelf = Shelf(lambda: now[0], lambda key, data, by: None, late_s=LATE_S)
    one, two = VirtualStore(shelf, "a"), VirtualStore(shelf, "b")
    assert one.put("k/1", b"x") is Put.CREATED
    assert keys(one, "k/") == ["k/1"]
    assert keys(two, "k/") == []
    assert two.get("k/1") == b"x"
    now[0] += LATE_S
    assert keys(two, "k/") == ["k/1"]


def test_a_lost_answer_is_a_put_all_the_same(tmp_path: Path) -> None:
    """What was put is there though the call failed; a store that is away does nothing."""
    store = VirtualStore(Shelf(lambda: 0.0, lambda key, data, by: None), "a")
    store.loses_answers = True
    with pytest.raises(StoreError, match="timeout"):
        store.put("k/1", b"x")
    assert store.get("k/1") == b"x"
    store.away = True
    with pytest.raises(StoreError, match="refused"):
        store.list("k/")


@pytest.mark.parametrize("shape", SHAPES)
def test_lives_have_their_median(shape: float) -> None:
    """Half of the drawn lives are longer than the median, for every shape."""
    weather = SimWeather(shape, MEDIAN_S)
    lives = [weather.life_s(11, life) for life in range(1, 1500)]
    assert median(lives) == pytest.approx(MEDIAN_S, rel=0.25)
    assert min(SHAPES) == 0.3
    assert max(SHAPES) == 0.8


def test_a_fault_left_out_leaves_all_others() -> None:
    """The draws of a cycle do not depend on what struck."""
    plan = FaultPlan(5)
    for _ in range(200):
        plan.next()
    kept = frozenset(plan.struck[::2])
    again = FaultPlan(5, only=kept)
    found = [again.next() for _ in range(200)]
    assert frozenset(again.struck) == kept
    assert all(a.cycle + 1 == b.cycle for a, b in pairwise(found))


def test_every_fault_of_the_table_can_strike() -> None:
    """A column that nothing fills would be an empty promise."""
    assert set(COLUMNS) - {"two"} <= set(PROBABILITIES)
    assert rows_there() == tuple(range(1, 19))


def test_thin_cells_are_named() -> None:
    """Row and fault of each cell that was hit too rarely."""
    figures = Figures()
    figures.cells[1, "timeout"] = 50
    thin = figures.thin_cells([1], 50)
    assert "row 1 × timeout: 50" not in thin
    assert len(thin) == len(COLUMNS) - 1


def test_a_clock_that_was_set_is_not_synchronised_until_it_is_right_again() -> None:
    """The wall clock jumps, the monotonic one does not, and another boot begins at zero."""
    now = [1000.0]
    clock = VirtualClock("a", lambda: now[0])
    before = clock()
    clock.jump(7200.0, 60.0)
    assert (clock().wall - before.wall).total_seconds() == 7200.0
    assert not clock().synced
    assert clock().mono_s == before.mono_s
    now[0] += 60.0
    assert clock().synced
    assert (clock().wall - before.wall).total_seconds() == 60.0
    clock.reboot()
    assert clock().mono_s == 0.0
    assert clock().boot != before.boot
