"""What users of neighbouring tools complain of on the way back: idle while loading, work that is lost or repeated."""

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from crash_points import Crash, CrashPoints
from guest_world import NOW, PLAN, RECORD
from harness_runs import buffer, inspect_work, killed_rows, run_of, written
from resume_play import SERVERS, Play, play, probed
from resume_world import RESUMED, SERVER, looked, mark, planned, seen
from spoteval.control.busy import working
from spoteval.control.environment import Standing
from spoteval.control.runfiles import interruptions
from spoteval.control.settling import settle_run
from spoteval.episode import Attempt, Outcome
from spoteval.files import read_lines
from spoteval.harness.contract import Harness, Survey
from spoteval.harness.directory import Directory
from spoteval.harness.inspect import Inspect
from spoteval.interruption import PREEMPTED
from spoteval.run import RunRecord
from spoteval_agents.boot_resume.seen import Facts, Seen, State
from spoteval_agents.boot_resume.stages import Stages
from spoteval_agents.idle_guard.seen import Policy
from spoteval_agents.idle_guard.seen import Seen as Looked
from spoteval_agents.idle_guard.uses import uses

GATED = replace(RESUMED, gate=mark(60))
READY = replace(GATED, healthy=True, environment=True)
CHECKED = replace(RECORD, plan=replace(PLAN, preflight=("/check.sh",)))
HEAVY = replace(SERVER, weights=True, alive=False)
WORKS = replace(READY, asked=mark(9), ours=True)
AT_WORK: dict[str, tuple[Seen, State]] = {
    "epoch": (seen(Stages(), claimed=False), State()),
    "orphans": (seen(members=2), State()),
    "settlement": (seen(replace(RESUMED, settled=False)), State()),
    "settling": (seen(replace(RESUMED, settled=False), work="settle"), State()),
    "gate": (seen(), State()),
    "machine": (seen(GATED), State()),
    "weights": (seen(GATED, servers=(HEAVY,)), State(facts=Facts())),
    "model load": (seen(GATED), looked(saw="health 503")),
    "environment": (seen(replace(GATED, healthy=True)), State(facts=Facts())),
    "preflight": (seen(READY, record=CHECKED), State()),
    "run start": (seen(WORKS), State()),
    "first episode": (seen(replace(WORKS, started=mark(8)), members=3), State()),
}
QUIET = Looked("s1", members=0, cpu=0.0)


@pytest.mark.parametrize("stage", AT_WORK)
def test_complaint_80_every_stage_of_the_way_back_is_work(stage: str) -> None:
    """Nobody logged in, no request, no GPU: the machine is needed all the same."""
    look, state = AT_WORK[stage]
    assert planned(look, state).busy


def test_complaint_80_a_model_that_loads_for_an_hour_keeps_the_machine(tmp_path: Path) -> None:
    """boot-resume says so on disk, and idle-guard goes by it; a backlog of publication counts too."""
    world = play(tmp_path, SERVERS.replace("60s", "2h"))
    world.answers["server probe"] = lambda _: probed(saw="health 503")
    agent = world.agent()
    world.run(agent, "server")
    for _ in range(400):
        world.pass_s(9)
        world.cycle(agent)
    assert world.now.mono_s - NOW.mono_s > 3600
    busy = working(world.made.disk, world.session, replace(world.now, wall=_disk_time(world)))
    assert busy == ("boot-resume",)
    policy = Policy(after_s=1200.0, cpu_above=0.1, every_s=60.0)
    assert uses(QUIET, policy) == ()
    assert uses(replace(QUIET, busy=busy), policy)
    assert uses(replace(QUIET, publishing="3 MB acknowledged, 9 episodes wait"), policy)


def _disk_time(world: Play) -> datetime:
    """When the busy file was touched last: by the real clock, which the play's does not follow."""
    stat = (world.made.disk.busy / "boot-resume").stat()
    return datetime.fromtimestamp(stat.st_mtime, UTC)


def test_complaint_80_waiting_for_a_person_is_no_work() -> None:
    """GPUs do not run all night for an answer: a hold, a refused key, a changed GPU."""
    held = seen(hold="tp 4 -> 8 (ana)")
    refused = looked(saw="models 401: the key is refused", refused=True)
    assert not planned(held).busy
    changed = seen(READY, standing=Standing(changes=("GPU changed H200 -> H100",)))
    assert not planned(seen(GATED), refused).busy
    assert not planned(changed).busy


def finished(found: Survey) -> dict[str, str]:
    """Native id and outcome of what ended by itself."""
    return {a.native_id: str(a.outcome) for a in found.attempts if a.finished}


def contents(work: Path) -> set[bytes]:
    """What all files hold, whatever they are called; SQLite's own differ from one to the next."""
    files = (path for path in work.rglob("*") if path.is_file() and ".db" not in path.name)
    return {path.read_bytes() for path in files}


def inspect_run(work: Path) -> RunRecord:
    """Logs of two lives, a buffer of the last, half a recovery, and a newest log that is empty."""
    logs = inspect_work(work, ["finished", "killed"])
    buffer(work, killed_rows(), pid=os.getpid())
    shutil.copy(logs / "killed.eval", logs / "killed-recovered.eval")
    written(logs / "killed-recovered.eval", 2)
    (logs / "newest.eval").write_bytes(b"")
    return run_of("inspect")


def directory_run(work: Path) -> RunRecord:
    """Two episodes that ended, one that was cut, one whose last file is empty."""
    for key, done in (("1", '{"verdict": "1"}'), ("2", "{}"), ("3", None), ("4", "")):
        (work / "episodes" / key).mkdir(parents=True)
        (work / "episodes" / key / "log.txt").write_text(f"log of {key}")
        if done is not None:
            (work / "episodes" / key / "episode.json").write_text(done)
    return run_of("directory", executable="/opt/run", expected=5)


@pytest.mark.parametrize(
    ("adapter", "lay"), [(Inspect(), inspect_run), (Directory(), directory_run)]
)
def test_complaint_86_killed_anywhere_on_the_way_back_the_finished_stay(
    adapter: Harness, lay: Callable[[Path], RunRecord], tmp_path: Path, crash_points: CrashPoints
) -> None:
    """No finished episode is lost, changed or run again, and no byte of a log is thrown away."""
    whole = tmp_path / "whole"
    run = lay(whole)
    before, held = finished(adapter.survey(run, whole)), contents(whole)
    assert before
    points = crash_points.count(lambda: adapter.prepare(run, whole))
    assert points > 2
    for n in range(points):
        work = tmp_path / str(n)
        lay(work)
        with pytest.raises(Crash), crash_points.crash_at(n + 1):
            adapter.prepare(run, work)
        adapter.prepare(run, work)
        assert finished(adapter.survey(run, work)) == before, n
        assert held <= contents(work), n


def test_complaint_86_inspect_is_told_to_keep_what_it_retries(tmp_path: Path) -> None:
    """Its eval-set deletes the log of a retry that it has taken over, unless told otherwise."""
    assert "--no-retry-cleanup" in Inspect().command(run_of("inspect"), tmp_path).argv


def cut(world: Play) -> list[tuple[object, object]]:
    """Attempt and outcome of each settled line."""
    lines = read_lines(world.made.run.settlement).records
    return [(line["native_id"], line["outcome"]) for line in lines]


def test_complaint_87_in_flight_at_a_power_loss_is_interrupted_at_boot(tmp_path: Path) -> None:
    """No hook ran and no marker was written: each becomes preemption_interrupted, once, over two more boots."""
    world = play(tmp_path)
    world.run(world.agent(), "first-episode")
    world.survey = Survey(
        intended=("1", "2", "3"),
        in_flight=(Attempt("1", "1#1", None), Attempt("2", "2#1", None)),
    )
    for session in ("s2", "s3"):
        world.reboot(session)
        world.pids = {"vllm.service": frozenset([3_999_999])}
        world.run(world.agent(), "first-episode", cycles=100)
    wanted = Outcome.PREEMPTION_INTERRUPTED.value
    assert cut(world) == [("1#1", wanted), ("2#1", wanted)]
    assert PREEMPTED in [item.cause for item in interruptions(world.made.run).values()]
    assert world.starts == 3


def test_complaint_87_a_log_that_says_started_is_settled_and_resumed(tmp_path: Path) -> None:
    """Inspect's own log of a killed process says `started` for ever; the sample that ran is settled all the same."""
    world = play(tmp_path)
    work = world.made.run.work
    inspect_work(work, ["killed"])
    buffer(work, killed_rows())
    run = run_of("inspect")
    found = Inspect().survey(run, work)
    assert len(found.in_flight) == 1
    done = settle_run(run, world.made.run, found, "s2", world.now)
    again = settle_run(run, world.made.run, found, "s2", world.now)
    assert (done.settled, again.settled) == (1, 0)
    ((_, outcome),) = cut(world)
    assert outcome == Outcome.PREEMPTION_INTERRUPTED.value
