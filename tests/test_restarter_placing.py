"""Holds that the restarter places itself: exactly one, wherever it dies; lifting one resets what tripped it."""

from dataclasses import replace
from pathlib import Path

import pytest

from crash_points import Crash, CrashPoints
from restarter_story import ME, NOON, OTHER, POLICY, mark, now, stopped
from restarter_world import Host
from spoteval.config.restarter import PollSettings
from spoteval.control.holds import look, release
from spoteval.control.owner import owner_of, register
from spoteval.decision import Decision
from spoteval.files import read_text
from spoteval.provider.contract import Observation, State
from spoteval_agents.restarter.placing import hold_for, reset, stop_hold_id
from spoteval_agents.restarter.policy import Policy
from spoteval_agents.restarter.state import Absent, Counts, Refusal
from spoteval_agents.restarter.state import State as Memory

DEAD = Observation(State.UNRESTARTABLE, billed=False)
LOCAL = replace(POLICY, local=True, identity=None)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """A host whose instance can never be started again."""
    found = Host(tmp_path)
    found.provider.answer = DEAD
    return found


def standing(host: Host) -> list[str]:
    """Kinds of the holds that stand in the store."""
    return [name.split("-2026")[0] for name in look(host.store, "gpu-1").standing]


# In the store


def test_its_own_hold_goes_to_the_store_and_to_the_directory(host: Host) -> None:
    """By restarter, with its reason, mirrored; told once."""
    assert host.words(0, 60, 120, 180) == ["unrestartable", "unrestartable", "held", "held"]
    assert standing(host) == ["unrestartable"]
    assert [path.name[:13] for path in host.mirror.iterdir()] == ["unrestartable"]
    assert host.kinds().count("needs_you") == 1
    assert host.kinds()[-2:] == ["hold-seen", "needs_you"]


def test_the_decision_that_holds_is_obeyed_before_it_is_put(host: Host) -> None:
    """The store goes away at that moment: the memory holds, and the hold is put when the store is back."""
    host.cycle(0)
    away = host.store_root.with_name("away")
    place = host.store.put
    host.store.put = lambda *_: (_ for _ in ()).throw(OSError(5, "away"))  # type: ignore[method-assign, assignment]
    host.cycle(60)
    host.store.put = place  # type: ignore[method-assign]
    assert standing(host) == []
    host.store_root.rename(away)
    host.provider.is_now(State.STOPPED)
    assert host.words(120, 180) == ["held", "held"]
    away.rename(host.store_root)
    assert host.words(240) == ["held"]
    assert standing(host) == ["unrestartable"]
    assert host.provider.calls == []


def test_a_crash_at_any_write_places_exactly_one_hold(
    tmp_path: Path, crash_points: CrashPoints
) -> None:
    """Intent first, under a name that is kept; a person is told once (I10)."""

    def story(host: Host) -> None:
        host.words(0, 60, 120)

    def dead(name: str) -> Host:
        found = Host(tmp_path / name)
        found.provider.answer = DEAD
        return found

    points = crash_points.count(lambda: story(dead("whole")))
    begins = crash_points.count(lambda: dead("begin"))
    for n in range(1, points - begins + 1):
        host = dead(str(n))
        with pytest.raises(Crash), crash_points.crash_at(n):
            story(host)
        host.restart()
        host.words(*range(180, 600, 60))
        assert standing(host) == ["unrestartable"], n
        assert host.kinds().count("needs_you") == 1, n
        assert [kind for kind in host.kinds() if kind == "hold-seen"] == ["hold-seen"], n


def test_a_memory_that_is_lost_before_the_hold_was_put_puts_the_same(host: Host) -> None:
    """The event of the decision names it."""
    host.cycle(0)
    host.store.put = lambda *_: (_ for _ in ()).throw(OSError(5, "away"))  # type: ignore[method-assign, assignment]
    host.cycle(60)
    del host.store.put
    host.paths.state.write_bytes(b"\0" * 64)
    host.restart()
    host.words(120)
    assert standing(host) == ["unrestartable"]


def test_lifting_it_begins_anew(host: Host) -> None:
    """Two more looks, and it is held once more: a person is told of each (I5)."""
    host.words(0, 60, 120)
    (name,) = look(host.store, "gpu-1").standing
    release(host.store, "gpu-1", name, "ana", NOON)
    assert host.words(180, 240, 300) == ["unrestartable", "unrestartable", "held"]
    assert [kind for kind in host.kinds() if kind in ("needs_you", "cleared")] == [
        "needs_you",
        "cleared",
        "needs_you",
    ]


# In the touch file


@pytest.fixture
def alone(tmp_path: Path) -> Host:
    """A host without a store."""
    found = Host(tmp_path, LOCAL)
    found.provider.answer = DEAD
    return found


def test_without_a_store_it_is_the_touch_file(alone: Host) -> None:
    """Its reason stands in it; `rm` lifts it and resets what tripped."""
    assert alone.words(0, 60, 120) == ["unrestartable", "unrestartable", "held"]
    assert str(read_text(alone.paths.hold)).startswith("the provider says that it cannot be")
    assert standing(alone) == []
    alone.paths.hold.unlink()
    assert alone.words(180, 240, 300) == ["unrestartable", "unrestartable", "held"]


def test_without_a_store_rm_before_the_next_look_lifts_it_too(alone: Host) -> None:
    """A person need not wait until the file was seen."""
    alone.words(0, 60)
    alone.paths.hold.unlink()
    alone.provider.is_now(State.STOPPED)
    assert alone.words(120, 180) == ["grace", "start"]


def test_without_a_store_it_starts_what_stands_still(tmp_path: Path) -> None:
    """Nobody could assign a run: whoever wants it off touches the file."""
    host = Host(tmp_path, LOCAL)
    assert host.words(0, 60) == ["grace", "start"]
    assert list(host.mirror.parent.iterdir()) == []


def test_without_a_store_a_crash_at_any_write_holds_once(
    tmp_path: Path, crash_points: CrashPoints
) -> None:
    """Also between the file and the note of it."""

    def dead(name: str) -> Host:
        found = Host(tmp_path / name, LOCAL)
        found.provider.answer = DEAD
        return found

    whole = dead("whole")
    points = crash_points.count(lambda: whole.words(0, 60, 120))
    for n in range(1, points + 1):
        host = dead(str(n))
        with pytest.raises(Crash), crash_points.crash_at(n):
            host.words(0, 60, 120)
        host.restart()
        assert set(host.words(*range(240, 600, 60))[2:]) == {"held"}, n
        host.paths.hold.unlink()
        host.provider.is_now(State.STOPPED)
        assert host.words(1860, 1920)[-1] in ("start", "recovering"), n


# Names and resets


def test_names_say_kind_and_second() -> None:
    """A mark keeps two restarters apart; the hold on a stop is named after the stop, whoever places it."""
    rule = Decision("stop-rule", {"rule": "spend"}, "why")
    names = [hold_for(rule, replace(POLICY, identity=name), now(5)).id for name in (ME, OTHER)]
    assert names[0] != names[1]
    assert {name[:-4] for name in names} == {"rule-spend-20261201T120005-"}
    stop = Decision("stopped-on-purpose", {"hold": "stop-1"}, "why")
    assert hold_for(stop, POLICY, now(5)).id == "stop-1"
    assert stop_hold_id(stopped(0, last_start=NOON)) == "stop-20261201T120000"
    assert stop_hold_id(stopped(60)) == "stop-20261201T120100"
    assert stop_hold_id(Memory()) is None


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("gone", False),
        ("unrestartable", False),
        ("stopped-on-purpose", False),
        ("over-running", True),
        ("silent", True),
        ("loop-guard", True),
        ("stop-rule", True),
    ],
)
def test_which_of_them_want_it_off(word: str, expected: bool) -> None:
    """Each of a rule or an ender; not where a person may start it on purpose."""
    hold = hold_for(Decision(word, {"rule": "x"}, "why"), POLICY, now(5))
    assert (hold.ensure_stopped, hold.stop_after_s) == (expected, 600)
    assert (hold.by, hold.reason, hold.instance) == ("restarter", "why", "gpu-1")


TRIPPED = stopped(
    failures=4,
    failing_since=mark(0),
    failed_at=mark(9),
    refusal=Refusal(mark(9), "auth"),
    starts=60,
    spent=600.0,
    absent=Absent(mark(0), 3),
    silent=mark(0),
    over_since=mark(0),
    counts=Counts(
        short_runs=8, unhealthy=2, interrupted=3, faceless=2, finished=7, undone=3, unrestartable=2
    ),
)


@pytest.mark.parametrize(
    ("name", "changes", "counts"),
    [
        (
            "rule-failed_starts",
            {"failures": 0, "failing_since": None, "failed_at": None, "refusal": None},
            {},
        ),
        ("rule-preemptions_before_healthy", {}, {"unhealthy": 0}),
        ("rule-preemptions_before_episodes", {}, {"interrupted": 0}),
        ("rule-no_facts", {}, {"faceless": 0}),
        ("rule-spend", {}, {"spent_from": 600.0}),
        ("rule-starts", {}, {"starts_from": 60}),
        ("rule-until", {"waived": ("until",)}, {}),
        ("rule-type", {"waived": ("type",)}, {}),
        ("rule-region", {"waived": ("region",)}, {}),
        ("rule-currency", {"waived": ("currency",)}, {}),
        ("loop-guard", {}, {"short_runs": 0}),
        ("gone", {"absent": None}, {}),
        ("unrestartable", {}, {"unrestartable": 0}),
        ("over-running", {"over_since": mark(60)}, {}),
        ("silent", {"silent": None}, {}),
        ("operator", {}, {}),
        ("idle", {}, {}),
        ("stop", {}, {}),
    ],
)
def test_lifting_a_hold_resets_what_tripped_it_and_nothing_else(
    name: str, changes: dict[str, object], counts: dict[str, float]
) -> None:
    """By its name, so that a lost memory and another restarter know it too."""
    expected = replace(TRIPPED, **changes)  # type: ignore[arg-type]
    expected = replace(expected, counts=replace(TRIPPED.counts, **counts))  # type: ignore[arg-type]
    assert reset(f"{name}-20261201T120000-ab12", TRIPPED, now(60)) == expected


def test_over_running_of_a_run_that_is_not_over_stays_none() -> None:
    """Nothing begins that was not."""
    assert reset("over-running-1", stopped(), now(60)).over_since is None


# The register


def fresh(root: Path, policy: Policy = POLICY) -> Host:
    """A host that comes to an instance that nobody owns."""
    found = Host(root, replace(policy, identity=None))
    found.policy = policy
    return found


def test_what_nobody_owns_is_adopted_and_then_started(tmp_path: Path) -> None:
    """The first look puts the entry, two more start nothing, the next does."""
    quick = replace(POLICY, poll=PollSettings(grace_s=0))
    host = fresh(tmp_path, quick)
    assert host.words(0, 10, 20, 30) == ["not-owner"] * 3 + ["start"]
    owner = owner_of(look(host.store, "gpu-1"))
    assert owner is not None
    assert (owner.number, owner.identity) == (1, ME)


def test_what_another_owns_is_left_alone(tmp_path: Path) -> None:
    """For ever, and said in every line."""
    host = fresh(tmp_path)
    register(host.store, "gpu-1", OTHER, NOON)
    assert set(host.words(*range(60, 6000, 60))[1:]) == {"not-owner"}
    assert host.provider.calls == []
    assert len(look(host.store, "gpu-1").owners) == 1


def test_an_owner_that_is_overtaken_between_two_lists_starts_nothing(tmp_path: Path) -> None:
    """The second LIST, right before the request, decides."""
    host = Host(tmp_path)
    host.cycle(0)

    def overtake() -> None:
        register(host.store, "gpu-1", OTHER, NOON)

    host.provider.at_price = overtake
    assert host.words(60) == ["not-owner"]
    assert host.provider.calls == []


def test_a_crash_at_any_write_adopts_once(tmp_path: Path, crash_points: CrashPoints) -> None:
    """The entry is create-only under one name."""
    whole = fresh(tmp_path / "whole")
    points = crash_points.count(lambda: whole.words(0, 10))
    for n in range(1, points + 1):
        host = fresh(tmp_path / str(n))
        with pytest.raises(Crash), crash_points.crash_at(n):
            host.words(0, 10)
        host.restart()
        host.words(20, 30, 40)
        assert len(look(host.store, "gpu-1").owners) == 1, n
