"""Two copies of one durable disk: whoever comes second resumes nothing and publishes nothing."""

import shutil
from pathlib import Path

import pytest

from follower_world import Clock
from guest_world import Guest
from resume_play import Play, play, said
from spoteval.control.children import Reply
from spoteval.control.epochs import Claimant, Forked, claim
from spoteval.files import read_lines, write_whole
from spoteval.harness.parts import read_part
from spoteval.harness.registry import adapter
from spoteval.shape import Reading
from spoteval.store.file import FileStore
from spoteval_agents.publication_follower.cycle import cycle
from spoteval_agents.publication_follower.job import World
from spoteval_agents.publication_follower.memory import Memory


def claims(one: Play, store: FileStore) -> None:
    """The child `fact epoch` of this machine claims for real."""

    def answer(verb: list[str]) -> Reading[Reply]:
        who = Claimant("swe", "gpu-1", one.session)
        try:
            return said(epoch=claim(store, one.made.run, who, one.now))
        except Forked as error:
            return Reply(said(forked=True).body, refused=True, said=f"the disk is a copy: {error}")

    one.answers["fact epoch"] = answer


def publishes(one: Play) -> str:
    """Two passes of this machine's follower; its last line."""
    clock = Clock(boot=f"boot-{one.session}")
    store = FileStore(Path(one.made.config.store.url.removeprefix("file://")))
    world = World(one.made.config, store, one.session, clock, adapter, read_part)
    memory = Memory()
    for _ in range(2):
        cycle(world, memory)
        clock.passed_s += 61.0
    path = one.made.disk.root / "decisions" / "publication-follower.jsonl"
    return str(read_lines(path).records[-1]["line"])


def finish(made: Guest, episode: str) -> None:
    """An episode ended on this machine."""
    write_whole(made.run.work / "episodes" / episode / "episode.json", b'{"verdict": "C"}')


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Play, Play, FileStore]:
    """A machine that has run once, and another one with a copy of its disk; both boot now."""
    first = play(tmp_path / "a")
    store = FileStore(tmp_path / "a" / "store")
    claims(first, store)
    finish(first.made, "before")
    first.run(first.agent(), "running", cycles=200)
    shutil.copytree(tmp_path / "a" / "durable", tmp_path / "b" / "durable")
    other = Guest(tmp_path / "b")
    for folder in (other.paths.run, other.paths.credentials):
        folder.mkdir(parents=True)
    text = first.made.paths.config.read_text()
    other.paths.config.write_text(text.replace(f"{tmp_path}/a/durable", f"{tmp_path}/b/durable"))
    second = Play(other, session="copy", pids=dict(first.pids), now=first.now)
    claims(second, store)
    first.reboot("original")
    second.reboot("copy")
    return first, second, store


def test_disk_forked_the_second_copy_resumes_nothing(pair: tuple[Play, Play, FileStore]) -> None:
    """It says so, calls a person once, and starts nothing however long it waits."""
    first, second, _ = pair
    first.run(first.agent(), "epoch")
    first.run(first.agent(), "server")
    agent = second.agent()
    second.run(agent, "disk-forked")
    for _ in range(20):
        second.cycle(agent)
        second.pass_s(600.0)
    assert second.lines[-1]["stage"] == "disk-forked"
    assert "epochs/000002.json" in second.lines[-1]["why"]
    assert second.starts == 0
    calls = [
        str(record["reason"])
        for record in read_lines(second.made.run.events).records
        if record["kind"] == "needs_you"
    ]
    assert len(calls) == 1
    assert calls[0].startswith("this disk is a copy, another machine went on from it: ")


def test_disk_forked_the_second_copy_publishes_nothing(pair: tuple[Play, Play, FileStore]) -> None:
    """What it finished meanwhile stays on its disk; the original goes on publishing."""
    first, second, store = pair
    first.run(first.agent(), "epoch")
    finish(first.made, "of-the-original")
    finish(second.made, "of-the-copy")
    second.run(second.agent(), "disk-forked")
    before = [item.key for item in store.list("")]
    assert "decision=wait stage=epoch left=2 " in publishes(second)
    assert [item.key for item in store.list("")] == before
    publishes(first)
    episodes = {item.key.split("/")[3] for item in store.list("runs/swe/episodes/")}
    assert episodes == {"before", "of-the-original"}


def test_disk_forked_whoever_comes_first_goes_on(pair: tuple[Play, Play, FileStore]) -> None:
    """Nothing tells the copy from its original but the order in which they claim."""
    first, second, _ = pair
    second.run(second.agent(), "server")
    first.run(first.agent(), "disk-forked")
