"""publication_follower.milestone: the restarter hears that enough episodes are finished, by a fact too."""

from dataclasses import replace
from pathlib import Path

import pytest

from follower_world import START, Guest
from spoteval.files import write_record
from spoteval.publication.listing import Fact, listing
from spoteval.run import RunPlan, RunRecord, StopRules
from spoteval_agents.publication_follower.cycle import cycle
from spoteval_agents.publication_follower.milestone import threshold_of


@pytest.fixture
def guest(tmp_path: Path) -> Guest:
    """Its run's rule ends with the second finished episode; its boot has the number 4."""
    guest = Guest(tmp_path)
    rules = StopRules(preemptions_before_episodes=(3, 2))
    write_record(
        guest.paths.record,
        replace(guest.record, plan=replace(guest.record.plan, stop_rules=rules)).record(),
    )
    write_record(guest.disk.boot, {"seq": 4, "session": "s1"})
    return guest


def run(guest: Guest) -> tuple[Fact, ...]:
    """A pass; then the facts in the store."""
    guest.later(2.0)
    cycle(guest.world, guest.memory)
    keys = [item.key for item in guest.store.inner.list("instances/gpu-1/")]
    return listing("gpu-1", keys).facts


def test_the_fact_comes_with_the_episode_that_reaches_the_threshold(guest: Guest) -> None:
    """One before is too few; later ones put nothing more."""
    guest.finish("1")
    assert run(guest) == ()
    guest.finish("2")
    assert run(guest) == (Fact(4, "s1", "finished-2"),)
    guest.store.asked.clear()
    guest.finish("3")
    assert run(guest) == (Fact(4, "s1", "finished-2"),)
    assert not [key for key in guest.store.asked if key.startswith("instances/")]


def test_a_fact_that_fails_is_put_with_the_next_pass(guest: Guest) -> None:
    """It is no part of the pass: what was finished is published all the same."""
    guest.store.refused = ("finished-2",)
    guest.finish("1")
    guest.finish("2")
    assert run(guest) == ()
    assert len(guest.witness()) == 2
    guest.store.refused = ()
    assert run(guest) == (Fact(4, "s1", "finished-2"),)


def test_a_boot_without_its_number_announces_nothing(guest: Guest) -> None:
    """It would speak as the boot before."""
    write_record(guest.disk.boot, {"seq": 3, "session": "before"})
    guest.finish("1")
    guest.finish("2")
    assert run(guest) == ()


def test_each_boot_announces_it(guest: Guest) -> None:
    """The restarter counts what boots of this run have said; saying it again changes nothing."""
    guest.finish("1")
    guest.finish("2")
    run(guest)
    guest.reboot("s2")
    write_record(guest.disk.boot, {"seq": 5, "session": "s2"})
    assert run(guest) == (Fact(4, "s1", "finished-2"), Fact(5, "s2", "finished-2"))


@pytest.mark.parametrize(("rule", "episodes"), [(None, 20), ((5, 40), 40)])
def test_without_a_rule_of_its_own_the_usual_one_counts(
    rule: tuple[int, int] | None, episodes: int
) -> None:
    """The guest does not know the restarter's [grant]; its default it knows."""
    plan = RunPlan(
        "directory", "fresh_budget", stop_rules=StopRules(preemptions_before_episodes=rule)
    )
    assert threshold_of(RunRecord("swe", "gpu-1", 1, START, plan)) == episodes
