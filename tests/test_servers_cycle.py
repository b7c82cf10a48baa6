"""boot-resume and model servers that lie, fail, die or never come: the documented line and the end of each."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from crash_points import Crash, CrashPoints
from guest_world import RECORD
from resume_play import SERVERS, Play, play, probed
from spoteval.control.children import Reply
from spoteval.control.environment import ACCEPTED
from spoteval.control.eventlog import log_event
from spoteval.control.runcontrol import RUN_UNIT
from spoteval.control.runfiles import interruptions
from spoteval.episode import Attempt, Outcome
from spoteval.event import Event
from spoteval.files import read_lines
from spoteval.harness.contract import Survey
from spoteval.interruption import SERVER
from spoteval.settlement import settled_attempts
from spoteval.shape import Reading, Unreadable
from spoteval_agents.boot_resume.agent import Agent

JUDGE = SERVERS.replace('unit = "vllm', 'name = "judge"\nunit = "vllm-judge')
CACHE = 'compile_cache = "{}"\n'
ACCEPT = 'spoteval run accept-environment --reason "…"'


@pytest.fixture
def world(tmp_path: Path) -> Play:
    """A machine that has just come up with an active run and one server, which may take 60 s."""
    return play(tmp_path)


def says(world: Play, **look: object) -> None:
    """What each look at a server sees from now on."""
    answer = probed(**look)
    world.answers["server probe"] = lambda _: answer


def well(world: Play) -> None:
    """Every server is ready from now on."""
    world.answers.pop("server probe", None)


def needs(world: Play) -> list[str]:
    """What a person was told, in order."""
    records = read_lines(world.made.run.events).records
    return [str(record["reason"]) for record in records if record["kind"] == "needs_you"]


def details(world: Play, kind: str) -> list[dict[str, object]]:
    """The details of the run's events of a kind."""
    records = read_lines(world.made.run.events).records
    found = [record.get("detail") for record in records if record["kind"] == kind]
    return [detail if isinstance(detail, dict) else {} for detail in found]


def saw(world: Play) -> str:
    """What the newest line saw of a server."""
    return world.lines[-1]["saw"]


def waits_for(world: Play, agent: Agent, text: str, cycles: int = 40) -> None:
    """Cycle until a line saw this."""
    for _ in range(cycles):
        world.cycle(agent)
        if world.lines[-1].get("saw") == text:
            return
    raise AssertionError(f"{text}: never; last {world.lines[-1]}")


def counted(world: Play, agent: Agent, failed: int) -> None:
    """Cycle until so many failed starts are on record, and a line after that."""
    for _ in range(40):
        world.cycle(agent)
        known = sum(int(str(item["failed"])) for item in details(world, "server-failed"))
        if known == failed and world.lines[-1].get("saw", "not").startswith("connection"):
            return
    raise AssertionError(f"{failed} failures: never")


def held_with(world: Play, agent: Agent, text: str) -> None:
    """It ends under the guest hold with this text, told once; the machine is not kept on for it."""
    world.run(agent, "guest-hold", cycles=200)
    assert world.made.disk.guest_hold.read_text() == text
    for _ in range(5):
        world.cycle(agent)
    assert needs(world) == [text]
    assert details(world, "needs_you") == [{"command": "spoteval hold show"}]
    assert world.starts == 0


def test_server_answers_too_early_and_is_waited_for(world: Play) -> None:
    """An open port and a list are no readiness: the line says what is missing, and the run starts when it is there."""
    says(world, saw="health 503", stage="loading weights 71 %")
    agent = world.agent()
    waits_for(world, agent, "health 503, process alive, loading weights 71 %")
    assert {key: world.lines[-1][key] for key in ("decision", "stage", "name", "limit_s")} == {
        "decision": "wait",
        "stage": "server",
        "name": "policy",
        "limit_s": "60",
    }
    well(world)
    world.run(agent, "first-episode")
    assert needs(world) == []


def test_server_ready_once_is_not_ready(world: Play) -> None:
    """Twice in a row: a good look, a bad one, a good one are none."""
    looks = iter([True, False, True, False])
    world.answers["server probe"] = lambda _: probed(ready=next(looks), saw="x")
    agent = world.agent()
    with pytest.raises(StopIteration):  # the looks are used up, and no run was started
        world.run(agent, "run-start", cycles=200)
    assert world.starts == 0


def test_server_needs_a_key_and_a_person_is_told_once(world: Play) -> None:
    """No hold, no sign of work, no waiting for anything but a person: it goes on by itself once the key is right."""
    says(world, refused=True, saw="models 401: the key is refused")
    agent = world.agent()
    waits_for(world, agent, "models 401: the key is refused, process alive")
    for _ in range(80):
        world.cycle(agent)
    assert needs(world) == ["server policy: models 401: the key is refused"]
    assert details(world, "needs_you") == [{"command": "spoteval server probe policy"}]
    assert not world.made.disk.guest_hold.exists()
    well(world)
    world.run(agent, "first-episode")


def test_server_serves_another_model_and_a_person_is_told_once(world: Play) -> None:
    """At once, not after 75 minutes: the list of a server that is up does not change."""
    says(world, refused=True, saw='serves llama, not "m"')
    agent = world.agent()
    waits_for(world, agent, 'serves llama, not "m", process alive')
    assert needs(world) == ['server policy: serves llama, not "m"']
    well(world)
    world.run(agent, "first-episode")


def test_server_never_comes_and_ends_in_a_hold(world: Play) -> None:
    """After ready_within, with what was last seen of it."""
    says(world, stage="compiling")
    text = "server policy is not ready after 60 s: connection refused, process alive, compiling"
    held_with(world, world.agent(), text)


def test_server_fails_to_start_thrice_and_ends_in_a_hold(world: Play) -> None:
    """Counted by the unit's own manager; each failure is an event; a person's rm gives it its starts again."""
    agent = world.agent()
    for restarts in range(3):
        says(world, restarts=restarts, stage="out of GPU memory")
        counted(world, agent, restarts)
        assert saw(world) == "connection refused, process alive, out of GPU memory"
    world.pass_s(10)
    says(world, restarts=3, stage="out of GPU memory")
    world.run(agent, "guest-hold", cycles=200)
    text = (
        "server policy failed to start 3 times:"
        " connection refused, process alive, out of GPU memory"
    )
    assert world.made.disk.guest_hold.read_text() == text
    failures = [(item["failed"], item["restarts"]) for item in details(world, "server-failed")]
    assert failures == [(1, 1), (1, 2), (1, 3)]
    world.cycle(agent)
    world.made.disk.guest_hold.unlink()
    says(world, restarts=3)
    waits_for(world, agent, "connection refused, process alive")
    well(world)
    world.run(agent, "first-episode")


def test_server_failures_outlive_the_agent(world: Play) -> None:
    """They are events: an agent that is started anew goes on counting."""
    says(world, restarts=2)
    waits_for(world, world.agent(), "connection refused, process alive")
    says(world, restarts=3)
    agent = world.agent()
    world.run(agent, "guest-hold", cycles=200)
    assert [item["failed"] for item in details(world, "server-failed")] == [2, 1]


def test_server_started_by_hand_begins_its_count_anew(world: Play) -> None:
    """The manager's counter went back: its next restart is one failure, not none."""
    agent = world.agent()
    for restarts in (1, 0, 1):
        says(world, restarts=restarts, saw=f"health {restarts}")
        waits_for(world, agent, f"health {restarts}, process alive")
    world.cycle(agent)
    assert [item["failed"] for item in details(world, "server-failed")] == [1, 1]
    assert world.kinds().count("server-started-anew") == 1


def test_server_restart_after_a_death_is_no_failed_start(world: Play) -> None:
    """The first one is the death's; the next one is a start that failed."""
    agent = world.agent()
    running(world, agent)
    world.pids.pop("vllm.service")
    says(world, restarts=1)
    world.run(agent, "server", cycles=100)
    world.pids["vllm.service"] = frozenset([3_999_997])
    waits_for(world, agent, "connection refused, process alive")
    assert details(world, "server-failed") == []
    assert world.kinds().count("server-started-anew") == 1
    says(world, restarts=2, saw="health 503")
    waits_for(world, agent, "health 503, process alive")
    world.cycle(agent)
    assert [item["failed"] for item in details(world, "server-failed")] == [1]


def test_server_whose_unit_gave_up_is_not_waited_for(world: Play) -> None:
    """Nobody starts it again: the hold comes at once, not after ready_within."""
    says(world, gave_up="exit-code", restarts=1, stage="the port is taken")
    world.pids.pop("vllm.service")
    text = (
        "server policy will not come by itself, vllm.service failed (exit-code):"
        " connection refused, no process in vllm.service, the port is taken"
    )
    held_with(world, world.agent(), text)


def test_server_that_is_ready_is_forgiven_its_failures(world: Play) -> None:
    """Three failures before anybody looked, and it answers now: it is used."""
    says(world, ready=True, saw="all well", restarts=3)
    world.run(world.agent(), "first-episode")
    assert [item["failed"] for item in details(world, "server-failed")] == [3]


def test_server_cache_is_set_aside_once_before_the_last_start(tmp_path: Path) -> None:
    """A kill in mid-compile poisons it: the last start has none, nothing is deleted, and it is on record."""
    cache = tmp_path / "durable" / "cache" / "vllm"
    world = play(tmp_path, SERVERS + CACHE.format(cache))
    cache.mkdir(parents=True)
    (cache / "aot.bin").write_bytes(b"")
    agent = world.agent()
    says(world, restarts=1)
    waits_for(world, agent, "connection refused, process alive")
    world.cycle(agent)
    assert cache.exists()
    says(world, restarts=2)
    world.pass_s(10)
    world.run(agent, "compile-cache")
    world.cycle(agent)
    (aside,) = cache.parent.iterdir()
    assert aside.name.startswith("vllm.aside-")
    assert (aside / "aot.bin").exists()
    cache.mkdir()
    world.run(world.agent(), "server")
    well(world)
    world.run(world.agent(), "first-episode")
    assert cache.exists()
    assert details(world, "compile-cache-moved") == [{"server": "policy", "took_s": 1.0}]


def test_server_cache_that_cannot_be_moved_does_not_stop_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another user's folder: said in the journal, and the last start is tried with it."""
    world = play(tmp_path, SERVERS + CACHE.format(tmp_path))

    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "x")

    monkeypatch.setattr("spoteval_agents.boot_resume.work.move_aside", refused)
    agent = world.agent()
    says(world, restarts=2)
    waits_for(world, agent, "connection refused, process alive")
    assert tmp_path.exists()
    well(world)
    world.run(agent, "first-episode", cycles=100)


def test_server_weights_are_verified_before_anything_runs(tmp_path: Path) -> None:
    """Once in a boot; weights that differ end in the hold, and rm tries again."""
    world = play(tmp_path, SERVERS + 'weights = "/models/q"\n')
    wrong = Reply(probed().body, refused=True, said="/models/q/a: is not what SHA256SUMS says")
    world.answers["server weights"] = lambda _: wrong
    agent = world.agent()
    world.run(agent, "guest-hold", cycles=100)
    text = "weights of server policy: /models/q/a: is not what SHA256SUMS says"
    assert world.made.disk.guest_hold.read_text() == text
    world.cycle(agent)
    world.made.disk.guest_hold.unlink()
    world.answers["server weights"] = lambda _: probed(files=7)
    world.run(agent, "first-episode", cycles=100)
    (verified,) = details(world, "weights-verified")
    assert set(verified) == {"server", "took_s"}
    asked = [verb for verb in world.asked if verb[:2] == ["server", "weights"]]
    world.pids.pop(RUN_UNIT)
    world.run(agent, "run-start", cycles=100)
    assert [verb for verb in world.asked if verb[:2] == ["server", "weights"]] == asked


def test_server_of_two_keeps_the_run_from_starting_by_its_name(tmp_path: Path) -> None:
    """All must be ready; each line names the one that is not."""
    world = play(tmp_path, SERVERS + JUDGE)
    world.pids["vllm-judge.service"] = frozenset([3_999_998])
    slow = probed(saw="health 503")
    world.answers["server probe"] = lambda verb: (
        slow if verb[2] == "judge" else probed(ready=True, saw="all well")
    )
    agent = world.agent()
    waits_for(world, agent, "health 503, process alive")
    assert world.lines[-1]["name"] == "judge"
    assert world.starts == 0
    well(world)
    world.run(agent, "first-episode", cycles=100)


def running(world: Play, agent: Agent) -> None:
    """The run works, an episode has begun."""
    world.run(agent, "first-episode", cycles=100)
    (world.made.run.work / "episodes" / "1").mkdir(parents=True)
    world.survey = Survey(intended=("1",), in_flight=(Attempt("1", "1#1", None),))
    world.run(agent, "running")


def cut(world: Play) -> list[tuple[object, object]]:
    """Outcome and origin of each settled attempt."""
    lines = read_lines(world.made.run.settlement).records
    return [(line["outcome"], line["origin"]) for line in lines]


def test_server_dies_in_mid_run_and_the_run_waits_for_it(world: Play) -> None:
    """Stopped by its own path, marked, settled as a harness error of the server's; then the gate, then on."""
    agent = world.agent()
    running(world, agent)
    world.pids.pop("vllm.service")
    says(world)
    stages = world.run(agent, "server", cycles=100)
    assert stages[-3:] == ["server-died", "settlement", "server"]
    assert (world.stops, world.starts) == (1, 1)
    assert [item.cause for item in interruptions(world.made.run).values()] == [SERVER]
    assert cut(world) == [(Outcome.HARNESS_ERROR.value, "model_server")]
    waits_for(world, agent, "connection refused, no process in vllm.service")
    well(world)
    world.pids["vllm.service"] = frozenset([3_999_997])
    world.run(agent, "running", cycles=100)
    assert (world.starts, needs(world)) == (2, [])


def test_server_death_is_seen_twice_before_anything_is_stopped(world: Play) -> None:
    """One look may err; a unit that nobody can read is no death."""
    agent = world.agent()
    running(world, agent)
    alive = world.pids.pop("vllm.service")
    world.cycle(agent)
    world.pids["vllm.service"] = alive
    for _ in range(3):
        world.cycle(agent)
    world.blind = True
    for _ in range(3):
        world.cycle(agent)
    assert (world.stops, world.kinds().count("server-died")) == (0, 0)


def test_server_that_lives_and_answers_no_more_is_dead(world: Play) -> None:
    """The engine is gone, its HTTP process is not: every episode would end in an error, within minutes."""
    agent = world.agent()
    running(world, agent)
    world.answers["server health"] = lambda _: probed(sick="health 503")
    says(world, saw="health 503")
    began_s = world.now.mono_s
    world.run(agent, "server-died", cycles=100)
    assert 60 + 2 * 10 <= world.now.mono_s - began_s <= 100
    world.run(agent, "server", cycles=100)
    (death,) = [r for r in read_lines(world.made.run.events).records if r["kind"] == "server-died"]
    assert death["reason"] == "policy: health 503"
    assert (world.stops, cut(world)) == (1, [(Outcome.HARNESS_ERROR.value, "model_server")])


def test_server_outside_its_unit_is_watched_by_its_port(world: Play) -> None:
    """A container that a unit only began: there never was a process to miss."""
    world.pids.pop("vllm.service")
    agent = world.agent()
    running(world, agent)
    for _ in range(5):
        world.cycle(agent)
    assert "server-died" not in world.kinds()
    world.answers["server health"] = lambda _: probed(sick="connection refused")
    world.run(agent, "server-died", cycles=100)
    assert world.stops == 1


def test_server_that_is_slow_under_the_run_is_not_dead(world: Play) -> None:
    """A look that fails or finds nothing wrong says nothing; two sick ones and a good one are none."""
    agent = world.agent()
    running(world, agent)
    sick, well = probed(sick="connection refused"), probed(sick=None)
    looks: list[Reading[Reply]] = [sick, sick, well, sick, Unreadable("timeout:20s"), sick, sick]
    world.answers["server health"] = lambda _: looks.pop(0) if looks else well
    for _ in range(120):
        world.cycle(agent)
    assert looks == []
    assert (world.stops, "server-died" in world.kinds()) == (0, False)


def test_server_that_was_restarted_between_two_looks_died(
    world: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its processes are new: what the run had asked of it is lost."""
    agent = world.agent()
    running(world, agent)
    born = int((world.now.mono_s - 1) * 100)
    monkeypatch.setattr("spoteval.machine.process.start_time", lambda _: born)
    world.run(agent, "server-died")
    assert world.stops == 1


def test_server_and_run_that_went_together_are_no_failure_of_the_run(world: Play) -> None:
    """The harness was quicker than we: nothing is left to stop, the cut is the server's all the same."""
    agent = world.agent()
    running(world, agent)
    world.pids = {}
    says(world)
    world.run(agent, "server", cycles=100)
    assert world.stops == 0
    assert cut(world) == [(Outcome.HARNESS_ERROR.value, "model_server")]
    assert [item["wanted"] for item in details(world, "run-gone")] == [True]


def test_server_stop_that_was_cut_short_goes_on(world: Play) -> None:
    """The agent was killed in the middle: one marker, one settlement."""
    agent = world.agent()
    running(world, agent)
    world.pids.pop("vllm.service")
    world.stop_fails = True
    world.run(agent, "server-died")
    world.cycle(agent)
    world.stop_fails = False
    says(world)
    world.run(world.agent(), "server", cycles=100)
    assert len(interruptions(world.made.run)) == 1
    assert len(cut(world)) == 1


def test_server_death_survives_an_agent_that_is_killed_anywhere(
    tmp_path: Path, crash_points: CrashPoints
) -> None:
    """After any write: one marker, one settlement, one more start, and the death is no failure of the run."""

    def dying(name: str) -> Play:
        world = play(tmp_path / name)
        running(world, world.agent())
        world.pids["vllm.service"] = frozenset()
        return world

    def back(world: Play) -> None:
        agent = world.agent()
        for _ in range(200):
            if world.kinds().count("server-died") and not world.pids.get(RUN_UNIT):
                world.pids["vllm.service"] = frozenset([3_999_997])
            if world.starts == 2:
                return
            world.cycle(agent)
        raise AssertionError("it does not come back")

    whole = dying("whole")
    points = crash_points.count(lambda: back(whole))
    assert points > 30
    for n in range(1, points, 4):
        world = dying(str(n))
        with pytest.raises(Crash), crash_points.crash_at(n):
            back(world)
        back(world)
        assert [item.cause for item in interruptions(world.made.run).values()] == [SERVER], n
        assert cut(world) == [(Outcome.HARNESS_ERROR.value, "model_server")], n
        assert world.starts == 2, n
        assert details(world, "run-gone")[0]["wanted"] is True, n


def test_server_death_asks_for_the_containers_of_the_run(
    world: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the harness began in this life, and nothing older."""
    monkeypatch.setattr("spoteval_agents.boot_resume.work.DOCKER", world.made.root)
    plan = replace(RECORD.plan, containers=("label=com.docker.compose.project=x",))
    world.made.activate(replace(RECORD, plan=plan))
    agent = world.agent()
    running(world, agent)
    world.pids.pop("vllm.service")
    world.run(agent, "server-died")
    asked = json.loads(world.made.paths.remove_containers.read_text())
    (began,) = [
        r["at"] for r in read_lines(world.made.run.events).records if r["kind"] == "run-start"
    ]
    assert (asked["filters"], asked["since"]) == (["label=com.docker.compose.project=x"], began)


def test_server_that_keeps_dying_soon_is_for_a_person(world: Play) -> None:
    """What the run asks of it may be what kills it: three times in a row, then the hold."""
    agent = world.agent()
    for life in range(3):
        world.run(agent, "first-episode", cycles=100)
        world.pids.pop("vllm.service")
        world.run(agent, "server-died", cycles=100)
        world.cycle(agent)
        world.pids["vllm.service"] = frozenset([3_000_000 + life])
    world.run(agent, "guest-hold", cycles=100)
    text = "server policy died under the run, 3 times in a row"
    assert world.made.disk.guest_hold.read_text() == text
    assert (world.starts, needs(world)) == (3, [text])
    world.cycle(agent)
    world.made.disk.guest_hold.unlink()
    world.run(agent, "first-episode", cycles=100)


def test_server_that_dies_after_long_service_is_counted_from_one(world: Play) -> None:
    """A crash a day is weather."""
    agent = world.agent()
    for life in range(5):
        world.run(agent, "first-episode", cycles=100)
        world.pass_s(3600)
        world.pids.pop("vllm.service")
        world.run(agent, "server-died", cycles=100)
        world.cycle(agent)
        world.pids["vllm.service"] = frozenset([3_000_000 + life])
    assert needs(world) == []


@pytest.mark.parametrize("over", ["draining", "hold"])
def test_server_that_stops_with_everything_has_not_died(world: Play, over: str) -> None:
    """A shutdown, or a person's stop, takes servers and run alike."""
    agent = world.agent()
    running(world, agent)
    place = world.made.paths.draining if over == "draining" else world.made.disk.guest_hold
    place.parent.mkdir(parents=True, exist_ok=True)
    place.touch()
    world.pids = {}
    for _ in range(5):
        world.cycle(agent)
    assert "server-died" not in world.kinds()


def test_server_death_leaves_the_rerun_to_count() -> None:
    """The attempt was cut, it did not end by itself: the attempt that does is the one that counts."""
    (first,) = settled_attempts(
        [Attempt("1", "1#1", Outcome.HARNESS_ERROR, 1, origin="model_server").record()]
    )
    assert (first.cut, first.finished, first.origin) == (True, False, "model_server")


def scored(world: Play) -> None:
    """The run is a scored one."""
    world.made.activate(replace(RECORD, plan=replace(RECORD.plan, label="scored")))


def reboot(world: Play, session: str, **facts: str) -> Agent:
    """The next life of the machine, with another environment."""
    world.reboot(session)
    world.pids = {"vllm.service": frozenset([3_999_999])}
    world.facts = {**world.facts, **facts}
    return world.agent()


def test_environment_that_changed_keeps_a_scored_run_waiting(world: Play) -> None:
    """The sentence of the manual, told once, with what to type; nothing is started and nobody is busy."""
    scored(world)
    world.run(world.agent(), "first-episode")
    agent = reboot(world, "s2", gpu="H100")
    world.run(agent, "environment")
    for _ in range(30):
        world.cycle(agent)
    assert world.lines[-1] == {
        "agent": "boot-resume",
        "decision": "wait",
        "stage": "environment",
        "changed": "GPU changed H200 -> H100",
        "why": ACCEPT,
    }
    assert needs(world) == ["does not resume: GPU changed H200 -> H100"]
    assert details(world, "needs_you") == [{"command": ACCEPT}]
    assert world.starts == 1
    log_event(
        world.made.run.events,
        Event(world.now.wall, ACCEPTED, "operator", "gpu-1", reason="sold out (ana)"),
    )
    world.run(agent, "first-episode")
    agent = reboot(world, "s3")
    world.run(agent, "first-episode", cycles=100)
    assert len(needs(world)) == 1


def test_environment_that_changes_again_in_one_life_is_told_again(world: Play) -> None:
    """Only its figures differ from what was told and accepted; the run has started in between."""
    scored(world)
    says(world, ready=True, saw="all well", version="0.12.1")
    world.run(world.agent(), "first-episode")
    agent = reboot(world, "s2")
    for version in ("0.12.2", "0.12.3"):
        says(world, ready=True, saw="all well", version=version)
        world.pids.pop(RUN_UNIT, None)
        world.run(agent, "environment", cycles=200)
        for _ in range(9):
            world.cycle(agent)
        log_event(world.made.run.events, Event(world.now.wall, ACCEPTED, "operator", "gpu-1"))
        world.run(agent, "first-episode", cycles=100)
    assert [text.rpartition(" ")[2] for text in needs(world)] == ["0.12.2", "0.12.3"]


def test_environment_that_comes_back_needs_nobody(world: Play) -> None:
    """A boot on another GPU that nobody accepted is no baseline."""
    scored(world)
    world.run(world.agent(), "first-episode")
    agent = reboot(world, "s2", gpu="H100")
    for _ in range(30):
        world.cycle(agent)
    world.run(reboot(world, "s3", gpu="H200"), "first-episode", cycles=100)
    assert world.starts == 2


def test_environment_that_changed_is_said_of_an_exploratory_run(world: Play) -> None:
    """It goes on, and the change is on record."""
    world.run(world.agent(), "first-episode")
    world.run(reboot(world, "s2", gpu="H100", driver="590"), "first-episode", cycles=100)
    found = details(world, "environment")[-1]
    assert (found["changes"], found["waits"]) == (["GPU changed H200 -> H100"], False)
    assert needs(world) == []


def test_environment_that_nobody_can_tell_is_no_change(world: Play) -> None:
    """nvidia-smi failed: unknown, which is on record as such; the boot after is held against what was known."""
    scored(world)
    world.run(world.agent(), "first-episode")
    del world.facts["gpu"]
    world.run(reboot(world, "s2"), "first-episode", cycles=100)
    agent = reboot(world, "s3", gpu="H100")
    world.run(agent, "environment", cycles=100)
    for _ in range(9):
        world.cycle(agent)
    assert needs(world) == ["does not resume: GPU changed H200 -> H100"]


def test_environment_has_the_versions_that_servers_say(world: Play) -> None:
    """An upgrade between two boots of a scored run waits for a person."""
    scored(world)
    says(world, ready=True, saw="all well", version="0.12.1")
    world.run(world.agent(), "first-episode")
    says(world, ready=True, saw="all well", version="0.13.0")
    agent = reboot(world, "s2")
    for _ in range(30):
        world.cycle(agent)
    assert needs(world) == ["does not resume: server policy changed vllm 0.12.1 -> vllm 0.13.0"]


def test_environment_that_cannot_be_asked_is_asked_again(world: Play) -> None:
    """A child that fails: a person is told, nothing is started blind, and it goes on when it works."""
    fails: Callable[[list[str]], Reading[Reply]] = lambda _: Unreadable("exit 1")  # noqa: E731
    world.answers["run environment"] = fails
    agent = world.agent()
    world.run(agent, "environment", cycles=100)
    for _ in range(30):
        world.cycle(agent)
    assert (world.starts, needs(world)) == (0, ["environment: exit 1"])
    del world.answers["run environment"]
    world.run(agent, "first-episode", cycles=100)
