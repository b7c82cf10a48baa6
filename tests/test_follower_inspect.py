"""The follower over Inspect's logs: episodes are members of containers, the containers are state files."""

from pathlib import Path

import pytest

from follower_world import RUN, Guest
from harness_runs import inspect_work
from spoteval.harness.inspect import Inspect
from spoteval.harness.parts import read_part
from spoteval.publication.pull import pull
from spoteval.publication.verify import compare
from spoteval_agents.publication_follower.cycle import cycle


@pytest.fixture
def guest(tmp_path: Path) -> Guest:
    """A run that was killed and resumed, as its logs were left."""
    guest = Guest(tmp_path, harness="inspect")
    inspect_work(guest.paths.work, ["killed", "resumed"])
    guest.later()
    cycle(guest.world, guest.memory)
    return guest


def test_every_finished_sample_is_an_episode_of_its_own_bytes(guest: Guest, tmp_path: Path) -> None:
    """What a pull brings is the member as the adapter reads it, and each log byte for byte."""
    report = pull(guest.store, RUN, tmp_path / "out")
    survey = Inspect().survey(guest.record, guest.paths.work)
    ended = [attempt for attempt in survey.attempts if attempt.finished]
    assert ended
    assert (report.differences, report.episodes) == ((), len({item.key for item in ended}))
    numbers = {(line["episode"], line["native_id"]): line["attempt"] for line in guest.witness()}
    for attempt in ended:
        number = numbers[attempt.key, attempt.native_id]
        folder = tmp_path / "out/episodes" / attempt.key.replace("/", "%2F") / str(number)
        for part in attempt.parts:
            assert part.member is not None
            assert (folder / part.name).read_bytes() == read_part(part)
    for log in survey.state_files:
        name = log.relative_to(guest.paths.root)
        assert (tmp_path / "out" / name).read_bytes() == log.read_bytes()
    assert compare(guest.store, RUN, guest.paths.root).verified


def test_a_resumed_run_s_copies_are_no_new_attempts(guest: Guest) -> None:
    """A log written later holds the kept samples again: nothing of them is published twice, or asked for."""
    keys = guest.keys("episodes/")
    guest.asked()
    (guest.paths.work / "logs" / "killed.eval").touch()
    guest.later()
    cycle(guest.world, guest.memory)
    assert guest.keys("episodes/") == keys
    assert guest.asked() == []


def test_intended_episodes_come_from_the_header(guest: Guest) -> None:
    """Frozen by the first pass that saw one."""
    survey = Inspect().survey(guest.record, guest.paths.work)
    assert survey.intended is not None
    assert guest.paths.intended.exists()
