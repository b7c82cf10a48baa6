"""boot-resume's cycles over real files: from a boot to running episodes, whatever comes between."""

from dataclasses import replace
from pathlib import Path

import pytest

from crash_points import Crash, CrashPoints
from resume_play import Play, Waits, away, play, probed, said
from spoteval.clock import Mark
from spoteval.control import enders
from spoteval.control.enders import Ender
from spoteval.control.runcontrol import RUN_UNIT
from spoteval.control.runfiles import interruptions, read_run
from spoteval.episode import Attempt
from spoteval.event import events_from
from spoteval.files import append_line, read_lines, read_record, write_record
from spoteval.harness.contract import Survey
from spoteval.interruption import PREEMPTED
from spoteval.loop import Wake
from spoteval.run import RunRecord
from spoteval.shape import Table, Unreadable
from spoteval_agents.boot_resume.agent import told_to_go

GATE = ["server", "environment", "server"]
AT = Mark(Play.now.wall, 0.0, "boot-0")
INTENT = Ender("", "s0", "idle-guard", "idle for 1200 s", "idle-20261201T030000-ab12", AT)


@pytest.fixture
def world(tmp_path: Path) -> Play:
    """A machine that has just come up with an active run."""
    return play(tmp_path)


def begin_episode(world: Play) -> None:
    """The harness makes the directory of its first episode."""
    (world.made.run.work / "episodes" / "1").mkdir(parents=True)


def number(world: Play) -> object:
    """The boot's number on disk."""
    found = read_record(world.made.disk.boot)
    return found.values["seq"] if isinstance(found, Table) else None


def test_from_boot_to_the_first_episode(world: Play) -> None:
    """Stages in the design's order, each an event; the store is told beside it."""
    stages = world.run(world.agent(), "first-episode")
    assert stages == [
        "boot-number",
        "epoch",
        "resume",
        "settlement",
        *GATE,
        "run-start",
        "first-episode",
    ]
    assert world.starts == 1
    kinds = ["booted", "epoch", "resume-began", "settled", "server-start", "healthy"]
    assert world.kinds() == [*kinds, "environment", "run-start", "run-started"]
    posts = [" ".join(verb) for verb in world.asked if verb[0] == "fact"]
    assert posts[:4] == ["fact epoch", "fact put booted", "fact put run-swe-2", "fact put healthy"]
    assert (world.made.disk.busy / "boot-resume").read_text() == "s1"


def test_the_first_episode_is_seen_told_and_watched_over(world: Play) -> None:
    """Then it looks seldom, and is not busy."""
    agent = world.agent()
    world.run(agent, "first-episode")
    begin_episode(world)
    world.run(agent, "running")
    world.cycle(agent)
    assert world.kinds()[-1] == "first-episode"
    assert ["fact", "put", "first-episode"] in world.asked
    before = world.now.mono_s
    world.cycle(agent)
    assert world.now.mono_s - before == 5.0


def test_an_agent_that_is_killed_at_any_write_goes_on(
    tmp_path: Path, crash_points: CrashPoints
) -> None:
    """One start, one settlement of each attempt, no stage skipped; a number is never used by two boots."""

    def cut_before(folder: Path) -> Play:
        world = play(folder)
        append_line(world.made.run.events, old_start())
        world.survey = Survey(intended=("1", "2"), in_flight=(Attempt("1", "1#1", None),))
        return world

    whole = cut_before(tmp_path / "whole")
    points = crash_points.count(lambda: whole.run(whole.agent(), "first-episode"))
    assert points > 50
    for n in range(1, points, 2):
        world = cut_before(tmp_path / str(n))
        with pytest.raises(Crash), crash_points.crash_at(n):
            world.run(world.agent(), "first-episode")
        world.run(world.agent(), "first-episode", cycles=200)
        assert world.starts == 1
        assert number(world) == 1
        settled = read_lines(world.made.run.settlement).records
        assert [line["native_id"] for line in settled] == ["1#1"]
        assert len(interruptions(world.made.run)) == 1


def old_start() -> dict[str, object]:
    """The life before started the run and left no marker."""
    return {
        "at": "2026-12-01T02:00:00.000Z",
        "kind": "run-started",
        "source": "boot-resume",
        "instance": "gpu-1",
        "session": "s0",
    }


def test_each_boot_counts_up_and_settles_what_the_last_one_left(world: Play) -> None:
    """Taken without a word in mid-run: the marker is made up for, the attempt settled, the run started again."""
    world.run(world.agent(), "first-episode")
    world.reboot("s2")
    world.survey = Survey(in_flight=(Attempt("1", "1#1", None),))
    world.run(world.agent(), "first-episode")
    assert (number(world), world.starts) == (2, 2)
    assert [item.cause for item in interruptions(world.made.run).values()] == [PREEMPTED]
    booted = [r for r in read_lines(world.made.run.events).records if r["kind"] == "booted"]
    assert [record["detail"] for record in booted] == [{"seq": 1}, {"seq": 2}]


@pytest.mark.parametrize("label", ["drill", "exploratory"])
def test_what_happens_to_the_run_of_a_drill_is_rehearsed(world: Play, label: str) -> None:
    """Every event of its resume says so, and none of another run's."""
    record = read_run(world.made.run)
    assert isinstance(record, RunRecord)
    plan = replace(record.plan, label=label)
    write_record(world.made.run.record, replace(record, plan=plan).record())
    world.run(world.agent(), "first-episode")
    events = events_from(read_lines(world.made.run.events).records)
    own = [event for event in events if event.kind != "settled"]  # which is another program's
    assert {event.rehearsal for event in own} == {label == "drill"}
    assert len(own) > 5


@pytest.mark.parametrize("damage", [b"", b"\0" * 64, None])
def test_a_lost_number_is_found_in_the_events(world: Play, damage: bytes | None) -> None:
    """Torn, zero-filled or gone: facts of the next boot still sort after those before."""
    world.run(world.agent(), "first-episode")
    if damage is None:
        world.made.disk.boot.unlink()
    else:
        world.made.disk.boot.write_bytes(damage)
    world.reboot("s2")
    world.run(world.agent(), "resume")
    assert number(world) == 2


def test_an_agent_that_starts_anew_in_mid_run_only_watches(world: Play) -> None:
    """No probe, no settlement, no start: the events say that this life's run works."""
    world.run(world.agent(), "first-episode")
    world.asked.clear()
    assert world.run(world.agent(), "first-episode") == ["first-episode"]
    assert not [verb for verb in world.asked if verb[0] != "fact"]


def test_a_hold_waits_and_rm_resumes(world: Play) -> None:
    """Placed while the servers load: the way begins again at its begin, servers anew."""
    world.answers["server probe"] = lambda _: probed(ready=False, refused=False, saw="health 503")
    agent = world.agent()
    world.run(agent, "server")
    world.made.disk.guest_hold.parent.mkdir()
    world.made.disk.guest_hold.write_text("tp 4 -> 8 (ana)\n")
    assert world.run(agent, "guest-hold") == ["guest-hold"]
    assert world.lines[-1]["hold_reason"] == "tp 4 -> 8 (ana)"
    world.cycle(agent)
    world.made.disk.guest_hold.unlink()
    del world.answers["server probe"]
    assert world.run(agent, "first-episode") == [
        "resume",
        *GATE,
        "run-start",
        "first-episode",
    ]
    assert world.kinds().count("held") == 1


def test_a_late_server_is_held_and_a_person_told_once(world: Play) -> None:
    """The machine is not kept on for it; lifting the hold gives the server its time again."""
    world.answers["server probe"] = lambda _: probed(ready=False, refused=False, saw="health 503")
    agent = world.agent()
    world.run(agent, "guest-hold", cycles=200)
    text = "server policy is not ready after 60 s: health 503, process alive"
    assert world.made.disk.guest_hold.read_text() == text
    assert world.kinds().count("needs_you") == 1
    world.cycle(agent)
    world.made.disk.guest_hold.unlink()
    assert world.run(agent, "server")[-1] == "server"
    assert float(world.lines[-1].get("elapsed_s", 0)) < 1


def test_a_refused_key_tells_a_person_once_and_goes_on_when_it_is_right(world: Play) -> None:
    """However often it is looked at."""
    refusal = probed(ready=False, refused=True, saw="models 401: the key is refused")
    world.answers["server probe"] = lambda _: refusal
    agent = world.agent()
    world.run(agent, "server")
    for _ in range(80):
        world.cycle(agent)
    assert world.kinds().count("needs_you") == 1
    del world.answers["server probe"]
    world.run(agent, "first-episode")


@pytest.mark.parametrize("text", ["claimed 2: 503 ({} tries)", "clock is {}.5 s slow"])
def test_a_report_that_only_counts_on_is_told_once(world: Play, text: str) -> None:
    """Tried again every ten seconds, with other figures each time; other words are another report."""
    tries = iter(range(1, 1000))
    world.answers["settle --by"] = lambda _: Unreadable(text.format(next(tries)))
    agent = world.agent()
    world.run(agent, "settlement")
    for _ in range(40):
        world.pass_s(11)
        world.cycle(agent)
    assert next(tries) > 5
    assert world.kinds().count("needs_you") == 1
    world.answers["settle --by"] = lambda _: Unreadable("the disk is read-only")
    for _ in range(4):
        world.pass_s(11)
        world.cycle(agent)
    assert world.kinds().count("needs_you") == 2


def test_an_intent_is_owed_until_its_hold_is_proved(world: Play) -> None:
    """The guest hold at once, the store's hold when it answers; then only a person lifts what stands."""
    enders.write_intent(world.made.disk.enders, INTENT)
    world.answers["hold place"] = away
    agent = world.agent()
    world.run(agent, "stop-intent")
    world.cycle(agent)
    assert world.made.disk.guest_hold.read_text().startswith("idle-guard wanted this machine off")
    assert not (world.made.disk.enders / "s0.done.json").exists()
    del world.answers["hold place"]
    assert world.run(agent, "guest-hold")[-1] == "guest-hold"
    placed = [verb for verb in world.asked if verb[0] == "hold"]
    assert placed[-1][-4:] == ["idle-guard", "--id", INTENT.hold_id, "--ensure-stopped"]
    assert (world.made.disk.enders / "s0.done.json").exists()
    assert world.starts == 0
    world.made.disk.guest_hold.unlink()
    world.run(agent, "first-episode")


def test_with_the_store_away_the_run_resumes_and_the_claim_comes_later(world: Play) -> None:
    """Only publishing waits for it."""
    world.answers["fact epoch"] = away
    world.answers["fact put"] = away
    agent = world.agent()
    world.run(agent, "first-episode")
    assert not world.made.run.epochs.exists()
    world.answers.clear()
    world.pass_s(11)
    for _ in range(6):
        world.cycle(agent)
    assert (world.made.run.epochs / "1.json").exists()
    assert ["fact", "put", "booted"] in world.asked


def test_a_copied_disk_does_not_resume(world: Play) -> None:
    """Nothing is started; a person is told once."""
    refusal = said(forked=True)
    world.answers["fact epoch"] = lambda _: refusal
    agent = world.agent()
    world.run(agent, "disk-forked")
    for _ in range(9):
        world.cycle(agent)
    assert (world.starts, world.kinds().count("needs_you")) == (0, 1)


def test_a_run_that_keeps_ending_is_started_again_three_times(world: Play) -> None:
    """Servers are looked at again each time; then a person, and nothing more; a person's hold and rm forgives."""
    agent = world.agent()
    for _ in range(4):
        world.run(agent, "first-episode", cycles=400)
        world.pids.pop(RUN_UNIT)
    world.run(agent, "run-fails")
    assert world.starts == 4
    world.cycle(agent)
    assert world.kinds().count("needs_you") == 1
    assert world.kinds().count("healthy") == 4
    world.made.disk.guest_hold.parent.mkdir()
    world.made.disk.guest_hold.touch()
    world.run(agent, "guest-hold")
    world.cycle(agent)
    world.made.disk.guest_hold.unlink()
    world.run(agent, "first-episode")
    assert world.starts == 5


def test_a_run_that_ends_complete_is_left_to_end_handler(world: Play) -> None:
    """Also while the witness lags behind the harness's own files."""
    agent = world.agent()
    world.run(agent, "first-episode")
    world.survey = Survey(intended=())
    world.pids.pop(RUN_UNIT)
    assert world.run(agent, "complete")[-1] == "complete"
    assert world.lines[-1]["why"].startswith("nothing is left to run")
    write_record(world.made.run.intended, {"episodes": []})
    world.cycle(agent)
    assert world.lines[-1]["why"] == "the end is end-handler's"
    assert world.starts == 1


def test_a_run_that_an_interruption_ended_has_not_failed(world: Play) -> None:
    """The notice came to nothing: it is started again without a pause."""
    agent = world.agent()
    world.run(agent, "first-episode")
    world.made.paths.draining.touch()
    world.pids.pop(RUN_UNIT)
    world.run(agent, "draining")
    world.cycle(agent)
    world.made.paths.draining.unlink()
    stages = world.run(agent, "first-episode")
    assert "run-pause" not in stages
    assert world.starts == 2


def test_a_disk_that_is_not_ours_is_not_written_to(world: Play) -> None:
    """I8: no number, no event, no line on it."""
    world.made.disk.sentinel.unlink()
    before = sorted(world.made.disk.disk.rglob("*"))
    agent = world.agent()
    for _ in range(3):
        world.cycle(agent)
    assert sorted(world.made.disk.disk.rglob("*")) == before
    assert {line["stage"] for line in world.lines} == {"disk"}


def test_a_disk_that_takes_nothing_is_said_once_and_its_end_once(
    world: Play, capsys: pytest.CaptureFixture[str]
) -> None:
    """Looked at once a second: a full disk must not fill the journal too. Then it goes on by itself."""
    agent, busy = world.agent(), world.made.disk.busy
    busy.parent.mkdir(parents=True, exist_ok=True)
    busy.write_text("in the way of the folder")
    for _ in range(20):
        world.cycle(agent)
    said = [line for line in capsys.readouterr().err.splitlines() if "<4>" in line]
    assert said == [f"<4>{busy / 'boot-resume'}: File exists"]
    busy.unlink()
    world.run(agent, "first-episode")
    assert f"{world.made.disk.root}: takes what is written again" in capsys.readouterr().err


def test_without_servers_the_gate_is_open(tmp_path: Path) -> None:
    """It is passed all the same, for the stages of the report."""
    world = play(tmp_path, servers="")
    world.run(world.agent(), "first-episode")
    assert world.kinds()[4:6] == ["server-start", "healthy"]


def test_no_secret_is_in_what_is_written(world: Play) -> None:
    """The agent never reads the credential: its children do."""
    secret = world.made.paths.credentials / "model-key"
    secret.write_text("sk-very-secret-4\n")
    secret.chmod(0o600)
    world.run(world.agent(), "first-episode")
    files = [path for path in world.made.disk.disk.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if b"sk-very-secret-4" in path.read_bytes()]
    assert not [verb for verb in world.asked if "sk-very-secret-4" in " ".join(verb)]


def test_term_ends_the_wait_at_once(world: Play) -> None:
    """Also while slow work is under way: then the wait is short, and its end is noticed."""
    agent = world.agent()
    assert told_to_go(Waits(Wake("signal", 15)), agent, 5.0)
    waits = Waits()
    assert not told_to_go(waits, agent, 5.0)
    assert waits.waited == [5.0]


def test_the_end_of_slow_work_ends_the_wait(world: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    """In slices of a tenth of a second while something is under way."""
    agent = world.agent()
    states = iter(["settle"] * 3 + [None] * 9)
    monkeypatch.setattr(type(agent), "working", property(lambda _: next(states)))
    waits = Waits()
    assert not told_to_go(waits, agent, 5.0)
    assert waits.waited == [0.1, 0.1, 0.1]
