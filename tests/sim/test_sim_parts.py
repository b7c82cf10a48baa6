"""The parts of the virtual world: store, weather, faults and clocks are what they say."""

from itertools import pairwise
from pathlib import Path
from statistics import median

import pytest

from sim.fault_plan import PROBABILITIES, FaultPlan
from sim.figures import COLUMNS, Figures
from sim.rows_seen import rows_there
from sim.scene import MEDIAN_S, SHAPES, Scene, scene_of
from sim.shrink import Failed, shrunk
from sim.truth import LATE_S
from sim.virtual_clock import VirtualClock
from sim.virtual_people import INSIST_S, People
from sim.virtual_store import Shelf, VirtualStore
from sim.virtual_weather import SimWeather
from spoteval.paths import InstancePaths
from spoteval.publication.keys import release_key
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


def test_a_removed_file_holds_again_when_it_is_back(tmp_path: Path) -> None:
    """It is removed once more, and may come back once for each death of a restarter, and once for one before."""
    now = [0.0]
    shelf = Shelf(lambda: now[0], lambda key, data, by: None)
    paths = InstancePaths(tmp_path, "gpu-1")
    people = People(shelf, [paths])
    people.place("operator", ensure_stopped=False)
    file = paths.hold.with_name("gpu-1.d") / "operator-0"
    file.parent.mkdir(parents=True)
    for deaths, returned, stubborn in ((0, 0, []), (0, 1, []), (1, 2, []), (1, 3, ["operator-0"])):
        assert not people.came_back(paths)
        file.touch()
        people.deaths = deaths
        if not people.unheard:
            people.lift(0.0)
        else:
            assert people.came_back(paths)
            now[0] += INSIST_S
            people.insist()
        assert people.unheard["operator-0"].returned == returned
        assert people.stubborn == stubborn
    shelf.put(release_key("gpu-1", "operator-0"), b"{}", "a")
    now[0] += INSIST_S
    people.insist()
    assert people.unheard == {}


@pytest.mark.parametrize("shape", SHAPES)
def test_lives_have_their_median(shape: float) -> None:
    """Half of the drawn lives are longer than the median, for every shape."""
    weather = SimWeather(shape, MEDIAN_S)
    lives = [weather.life_s(11, life) for life in range(1, 1500)]
    assert median(lives) == pytest.approx(MEDIAN_S, rel=0.25)
    assert min(SHAPES) == 0.3
    assert max(SHAPES) == 0.8


def test_every_limit_of_the_grant_is_set() -> None:
    """In every scene, and each of them is the tight one in some."""
    grants = [scene_of(seed).grant for seed in range(200)]
    assert all(
        None not in (grant.spend, grant.starts, grant.price_cap, grant.until) for grant in grants
    )
    assert all(grant.types and grant.regions and grant.failed_starts_s for grant in grants)
    assert min(grant.starts or 0 for grant in grants) == 6
    assert {scene_of(seed).two for seed in range(13)} == {True, False}


def test_no_life_outlasts_the_providers_limit() -> None:
    """However long the tail of its distribution."""
    weather = SimWeather(0.3, MEDIAN_S, longest_s=10_800.0)
    assert max(weather.life_s(3, life) for life in range(1, 200)) == 10_800.0


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


NEEDED = ((3, "slow"), (5, "lie"))


def failed(scene: Scene, what: str = "two are open") -> Failed:
    """A history that broke I2, with the faults that it was left."""
    return Failed(scene, "I2", what, 60.0, 7, tuple(sorted(scene.only or ())), ())


def whole() -> Failed:
    """Forty faults, of which two are needed."""
    faults = {(cycle, kind) for cycle in range(10) for kind in ("slow", "lie", "timeout", "touch")}
    return failed(Scene(1, only=frozenset(faults)))


def test_a_failure_is_shrunk_to_what_it_takes() -> None:
    """In fewer replays than it has faults, and with the command that shows it again."""
    found = shrunk(whole(), lambda scene: failed(scene) if set(NEEDED) <= scene.only else None)  # type: ignore[operator]
    assert found.faults == NEEDED
    assert 0 < found.replays < 40
    assert found.text().endswith("--seed 1 --rough 1 --no-two --only '3:slow,5:lie'")


def test_shrinking_ends_in_time() -> None:
    """Without time nothing is replayed, and the seed alone is the command."""
    found = shrunk(whole(), failed, within_s=0.0)
    assert (len(found.faults), found.replays) == (40, 0)
    assert found.text().endswith("--seed 1 --rough 1 --no-two")
    assert shrunk(whole(), failed, replays=3).replays == 3


def test_another_failure_is_none_of_this_kind() -> None:
    """Which hold or second it was makes no difference; another sentence does."""
    other = shrunk(whole(), lambda scene: failed(scene, "a circle"), replays=20)
    assert len(other.faults) == 40
    scene = Scene(1)
    times = (failed(scene, f"free for {seconds} s: stop-20261201T1{seconds}") for seconds in (1, 2))
    assert len({item.kind for item in times}) == 1


def test_a_start_too_many_and_one_too_few_are_counted() -> None:
    """By the number of the rule; the others count for neither."""
    figures = Figures()
    for number in ("I2", "I11", "I11", "I7"):
        figures.failed(number)
    assert (figures.doubled, figures.missed) == (1, 2)


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
