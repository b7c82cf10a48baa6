"""What users of neighbouring tools complain of, where work is lost or a process outlives its parent."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

import follower_world
from guest_world import guest
from resume_play import Play
from resume_world import planned, seen
from spoteval.control.runcontrol import RUN_UNIT, killed
from spoteval.files import read_lines
from spoteval.machine.cgroup import MarkedProcesses, mark
from spoteval.machine.process import is_alive
from spoteval.publication.keys import manifest_key
from spoteval_agents.boot_resume.stages import Stages
from spoteval_agents.boot_resume.work import Tools, remove_orphans
from spoteval_agents.publication_follower.cycle import cycle

EVERY_S = 60.0
PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], start_new_session=True)
print(child.pid, flush=True)
time.sleep(600)
"""
CHILD = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"


def orphaned(root: Path) -> int:
    """A process of the run whose parent was killed: in a session of its own, and deaf to SIGTERM."""
    name, _, value = mark(root, RUN_UNIT).partition("=")
    argv = [sys.executable, "-c", PARENT, CHILD]
    env = {**os.environ, name: value}
    with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        until = time.monotonic() + 20
        while not _ignores_term(child):
            assert time.monotonic() < until, "the child never came up"
            time.sleep(0.02)
        parent.send_signal(signal.SIGKILL)
    return child


def _ignores_term(pid: int) -> bool:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    found = next(line for line in lines if line.startswith("SigIgn:"))
    return bool(int(found.split()[1], 16) & (1 << (signal.SIGTERM - 1)))


@pytest.mark.runs("a process that outlives its killed parent")
def test_complaint_45_who_outlives_its_parent_is_found_by_the_unit(tmp_path: Path) -> None:
    """Not by the parent's pid: the stop path meets it and ends it."""
    child = orphaned(tmp_path)
    members = MarkedProcesses(tmp_path)
    assert members.members(RUN_UNIT) == frozenset([child])
    done = killed(members, RUN_UNIT, 20.0)
    assert (done.count, done.empty) == (1, True)  # type: ignore[union-attr]
    assert not is_alive(child)


@pytest.mark.runs("a process that outlives its killed parent")
def test_complaint_45_orphans_go_before_anything_resumes(tmp_path: Path) -> None:
    """boot-resume meets it in the run's unit: nothing is settled, nothing started, while it lives."""
    child = orphaned(tmp_path)
    plan = planned(seen(Stages(booted=True, resumed=True), members=1))
    assert plan.act == "orphans"
    play = Play(guest(tmp_path / "host"))
    tools = Tools(play.made.disk, MarkedProcesses(tmp_path), play.ask)
    assert remove_orphans(tools) == "gone after SIGKILL"
    assert not is_alive(child)
    assert planned(seen(Stages(booted=True, resumed=True), members=0)).act == "settle"


@pytest.mark.parametrize("length_s", [7, 23, 45])
def test_complaint_94_a_lost_disk_costs_what_ran_and_a_minute(
    tmp_path: Path, length_s: int
) -> None:
    """At whatever second the disk is lost: all that ended a pass ago is in the store, byte for byte."""
    world = follower_world.Guest(tmp_path)
    world.config = replace(world.config, publish_every_s=EVERY_S)
    ended: dict[str, float] = {}
    began_s = world.clock.passed_s
    worst = 0.0
    while world.clock.passed_s - began_s < 600:
        world.later(1.0)
        now_s = world.clock.passed_s
        if int(now_s - began_s) % length_s == 0:
            key = str(len(ended) + 1)
            world.finish(key)
            ended[key] = now_s
        cycle(world.world, world.memory)
        lacking = [at_s for key, at_s in ended.items() if not _is_published(world, key)]
        worst = max([worst, *(now_s - at_s for at_s in lacking)])
    assert len(ended) > 10
    assert 0 < worst <= EVERY_S


def _is_published(world: follower_world.Guest, key: str) -> bool:
    """Its manifest is there, which is written last."""
    return (world.root / "store" / manifest_key(follower_world.RUN, key, 1)).exists()


def test_complaint_94_with_the_disk_only_what_ran_is_lost(tmp_path: Path) -> None:
    """A machine that goes without a word: what had ended is finished in the next life, published or not."""
    world = follower_world.Guest(tmp_path)
    world.config = replace(world.config, publish_every_s=EVERY_S)
    cycle(world.world, world.memory)
    for key in ("1", "2", "3"):
        world.finish(key)
    (world.paths.work / "episodes" / "4").mkdir()
    world.reboot("s2")
    world.later(EVERY_S)
    cycle(world.world, world.memory)
    found = {str(line["episode"]) for line in read_lines(world.paths.finished).records}
    assert found == {"1", "2", "3"}
    assert all(_is_published(world, key) for key in found)
