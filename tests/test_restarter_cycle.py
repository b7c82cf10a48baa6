"""The restarter's cycle on a real disk and store: what is written before what, and what a crash leaves."""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from crash_points import Crash, CrashPoints
from restarter_story import NOON, POLICY, PRICE
from restarter_world import FakeProvider, Host
from spoteval.clock import stamp
from spoteval.control.facts import ended_fact
from spoteval.control.holds import look, release
from spoteval.files import encoded
from spoteval.provider.contract import Observation, Reply, State
from spoteval.publication.keys import end_key, heartbeat_key, hold_key, record_key
from spoteval.run import RunPlan, RunRecord, StopRules
from spoteval.shape import Unreadable
from spoteval.store.contract import StoreError
from spoteval_agents.restarter.case import Case

GRACE_S, WINDOW_S = POLICY.poll.grace_s, POLICY.poll.start_window_s


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """A host whose instance stands still, free and with a run to do."""
    return Host(tmp_path)


# From stop to start


def test_stopped_and_free_is_started_after_the_grace(host: Host) -> None:
    """One request, then nothing but waiting while its window is open (I2, I11)."""
    assert host.words(0, 59, 60, 70, 500, 959) == [
        "grace",
        "grace",
        "start",
        *["start-pending"] * 3,
    ]
    assert host.provider.calls == ["start"]
    assert host.kinds() == ["run-assigned", "price-read", "start-asked", "start-answered"]


def test_the_request_is_on_disk_before_it_goes_out(host: Host) -> None:
    """Acting first and writing after starts machines twice."""
    seen: list[object] = []
    host.provider.at_start = lambda: seen.append(json.loads(host.paths.state.read_text())["ask"])
    host.words(0, 60)
    assert isinstance(seen[0], dict)
    assert seen[0]["reply"] is None
    assert json.loads(host.paths.state.read_text())["ask"]["reply"] == "accepted"


def test_a_failed_call_whose_start_goes_on_is_a_start(host: Host) -> None:
    """Only RUNNING counts (complaint 12)."""
    host.provider.reply = Reply(ok=False, kind="unknown", detail="UNAVAILABLE")
    host.words(0, 60)
    line = host.cycle(90).line()
    assert "reply=error:UNAVAILABLE" in line
    host.provider.is_now(State.RUNNING)
    assert host.words(100) == ["running"]
    assert host.kinds()[-1] == "running"
    assert host.provider.calls == ["start"]


def test_an_accepted_call_that_never_runs_is_a_capacity_failure(host: Host) -> None:
    """Then the backoff, then the next request (complaints 12 and 16)."""
    assert host.words(0, 60, 959, 960, 1072, 1073) == [
        "grace",
        "start",
        "start-pending",
        "backoff",
        "backoff",
        "start",
    ]
    assert host.provider.calls == ["start", "start"]
    assert "capacity-failure" in host.kinds()


def test_a_provider_that_times_out_starts_nothing(host: Host) -> None:
    """A hundred looks without an answer, no request; the first good one carries on (complaint 1)."""
    host.provider.answer = Unreadable("timeout:20s")
    assert set(host.words(*range(0, 6000, 60))) == {"unknown"}
    assert host.provider.calls == []
    host.provider.is_now(State.RUNNING)
    assert host.words(6000) == ["running"]


def test_the_price_of_each_start_is_on_record(host: Host) -> None:
    """The price at the moment of the request stands in its event."""
    host.words(0, 60)
    asked = next(event for event in host.events() if event.kind == "start-asked")
    assert asked.price == PRICE.record()


def test_a_start_by_hand_costs_what_it_costs(host: Host) -> None:
    """Its price is read once, while it runs; an hour at 11.60 is spent."""
    asked: list[float] = []
    host.provider.at_price = lambda: asked.append(host.clock.seconds)
    host.provider.is_now(State.RUNNING)
    host.words(0, 60, 120)
    host.provider.is_now(State.STOPPED)
    host.words(3600)
    assert (asked, host.book.state.spent) == ([60], 11.6)


# Looked at again before the request


def test_a_touch_file_that_comes_with_the_price_holds(host: Host) -> None:
    """Holds are read after the price, so they are the newest (I1)."""
    host.cycle(0)
    host.provider.at_price = host.paths.hold.touch
    assert host.words(60) == ["held"]
    assert host.provider.calls == []


def test_a_hold_in_the_store_that_comes_with_the_price_holds(host: Host) -> None:
    """The store is listed again too (I1)."""
    host.cycle(0)
    host.provider.at_price = host.place
    assert host.words(60) == ["held"]
    assert host.provider.calls == []


def test_a_store_that_goes_away_with_the_price_holds(host: Host) -> None:
    """What can no longer be read may hold a hold (I1)."""
    host.cycle(0)

    def away() -> None:
        host.store_root.rename(host.store_root.with_name("away"))

    host.provider.at_price = away
    assert host.words(60) == ["hold-unknown"]
    assert host.provider.calls == []


@pytest.mark.parametrize(("slow_s", "expected"), [(14.9, "start"), (15.0, "changed")])
def test_a_look_that_grew_old_starts_nothing(host: Host, slow_s: float, expected: str) -> None:
    """A slow price makes the look old; the next cycle looks again."""
    host.cycle(0)

    def slow() -> None:
        host.clock.seconds += slow_s

    host.provider.at_price = slow
    assert host.words(60) == [expected]
    assert host.provider.calls == (["start"] if expected == "start" else [])


def test_a_request_that_a_slow_disk_delayed_is_withdrawn(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is open then, and the next look may start."""
    host.cycle(0)
    save = host.book.save

    def slow(*args: object) -> None:
        save(*args)  # type: ignore[arg-type]
        host.clock.seconds += 20

    with monkeypatch.context() as patch:
        patch.setattr(host.book, "save", slow)
        assert host.words(60) == ["start"]
    assert (host.provider.calls, host.book.state.ask, host.book.state.starts) == ([], None, 0)
    assert host.kinds()[-1] == "start-withdrawn"
    host.words(200)
    assert (host.provider.calls, host.book.state.starts) == (["start"], 1)


# Holds


def test_rm_of_the_touch_file_starts(host: Host) -> None:
    """Held as long as it lies there, started at the next look after it is gone (I5)."""
    host.paths.hold.write_text("tp 4 -> 8 (ana)")
    assert host.words(0, 60, 9000) == ["held"] * 3
    host.paths.hold.unlink()
    assert host.words(9060) == ["start"]


def test_a_release_in_the_store_starts(host: Host) -> None:
    """And nothing less: not the loss of the memory, not a hold whose body is damaged (I5)."""
    host.place()
    host.store.put(hold_key("gpu-1", "operator-2"), b"\0\0\0")
    assert host.words(0, 60) == ["held", "held"]
    host.restart()
    assert host.words(120) == ["held"]
    release(host.store, "gpu-1", "operator-1", "ana", NOON)
    assert host.words(180) == ["held"]
    release(host.store, "gpu-1", "operator-2", "ana", NOON)
    assert host.words(240) == ["start"]


def test_a_hold_that_left_the_store_still_holds(host: Host) -> None:
    """It was seen, and no release was (I5)."""
    host.place()
    host.cycle(0)
    (host.store_root / hold_key("gpu-1", "operator-1")).unlink()
    host.restart()
    assert host.words(60) == ["held"]


def test_a_missing_holds_directory_is_a_hold(host: Host) -> None:
    """Whoever removed it may have removed a hold with it."""
    host.paths.hold.parent.rmdir()
    assert host.words(0, 60) == ["hold-unknown", "hold-unknown"]
    assert not host.paths.hold.parent.exists()


def test_a_folder_of_the_store_that_cannot_be_read_is_a_hold(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a LIST would read as "no hold"."""
    host.place()
    real = __import__("os").scandir

    def scandir(path: str) -> object:
        if str(path).endswith("holds") and "store" in str(path):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr("os.scandir", scandir)
    assert host.words(0, 60) == ["hold-unknown", "hold-unknown"]
    with pytest.raises(StoreError, match="Permission denied"):
        look(host.store, "gpu-1")


def test_holds_of_the_store_lie_as_files_and_rm_releases_them(host: Host) -> None:
    """`ls -R holds` is the whole truth; what is removed there is released in the store."""
    host.place()
    host.cycle(0)
    assert [path.name for path in host.mirror.iterdir()] == ["operator-1"]
    assert (host.mirror / "operator-1").read_text() == "tp 4 -> 8 (ana)"
    host.cycle(60)
    (host.mirror / "operator-1").unlink()
    assert host.words(120) == ["held"]
    assert look(host.store, "gpu-1").standing == ()
    assert host.words(180) == ["start"]


def test_rm_of_a_file_that_has_just_appeared_releases_too(host: Host) -> None:
    """A person need not wait until the next look has seen the file."""
    host.place()
    host.cycle(0)
    (host.mirror / "operator-1").unlink()
    host.restart()
    assert host.words(60, 120) == ["held", "start"]


def test_a_release_in_the_store_takes_the_file_along(host: Host) -> None:
    """So that the directory says what is true."""
    host.place()
    host.words(0, 60)
    release(host.store, "gpu-1", "operator-1", "ana", NOON)
    host.words(120)
    assert list(host.mirror.iterdir()) == []


def test_a_mirror_that_is_gone_as_a_whole_releases_nothing(host: Host) -> None:
    """A lost directory is not a person's decision; the files come back."""
    host.place()
    host.words(0, 60)
    (host.mirror / "operator-1").unlink()
    host.mirror.rmdir()
    assert host.words(120, 180) == ["held", "held"]
    assert [path.name for path in host.mirror.iterdir()] == ["operator-1"]


def test_a_hold_of_a_strange_id_names_no_file_elsewhere(host: Host) -> None:
    """Ids come from guests: slashes and dots stay in the name."""
    host.place("../gpu-2")
    host.cycle(0)
    assert [path.name for path in host.mirror.iterdir()] == ["%2E.%2Fgpu-2"]
    assert not (host.paths.hold.parent / "gpu-2").exists()


def test_a_hold_with_ensure_stopped_stops_what_runs(host: Host) -> None:
    """After its grace, one request, on disk before it goes out; the next one after 2 minutes."""
    host.provider.is_now(State.RUNNING)
    host.place("end-1", ensure_stopped=True)
    assert host.words(0, 599, 600, 610, 719, 720) == [
        "held",
        "held",
        "stop",
        "held",
        "held",
        "stop",
    ]
    assert host.provider.calls == ["stop", "stop"]
    host.provider.is_now(State.STOPPED)
    assert host.words(730) == ["held"]
    stopped = next(event for event in host.events() if event.kind == "stopped")
    assert (stopped.reason, stopped.evidence) == ("restarter", "own-stop")


def test_a_name_of_no_instance_is_shown(host: Host) -> None:
    """A typo would otherwise look like a hold that does not work."""
    host.paths.hold.with_name("gpu1").touch()
    host.place()
    assert "holds_of_no_instance=gpu1" in host.cycle(0).line()
    assert "holds_of_no_instance=gpu1 " in host.cycle(60).line()


# The run


def test_a_run_that_ended_while_nobody_looked_starts_nothing(host: Host) -> None:
    """By its fact or by its end record, also with all holds released (complaint 2)."""
    host.fact(ended_fact("swe"))
    assert host.words(0, 60) == ["run-over", "run-over"]


def test_an_end_record_is_the_end(host: Host) -> None:
    """The fact may have been lost with the machine; another run goes on."""
    host.store.put(end_key("swe"), encoded({"reason": "complete"}))
    assert host.words(0, 60) == ["run-over", "run-over"]
    host.fact("run-next-1")
    assert host.words(120) == ["start"]


def test_no_fact_no_run(host: Host, tmp_path: Path) -> None:
    """Nobody has put a run on this instance."""
    other = Host(tmp_path / "other")
    for path in sorted(other.store_root.rglob("*.json")):
        path.unlink()
    assert other.words(0, 60) == ["no-run", "no-run"]


def test_the_record_of_the_run_is_copied_and_obeyed(host: Host) -> None:
    """Fetched once for each generation; a deadline that has passed ends the run."""
    record = RunRecord("swe", "gpu-1", 1, NOON, RunPlan("inspect", "fresh_budget", deadline=NOON))
    host.store.put(record_key("swe", 1), encoded(record.record()))
    assert host.words(0) == ["run-over"]
    assert json.loads(host.paths.run.read_text())["name"] == "swe"
    (host.store_root / record_key("swe", 1)).unlink()
    assert host.words(60) == ["run-over"]


def test_a_damaged_record_starts_nothing(host: Host) -> None:
    """It may say that the deadline has passed."""
    host.store.put(record_key("swe", 1), b'{"format": 1, "name": "sw')
    line = host.cycle(60).line()
    assert line.startswith("decision=hold-unknown")
    assert "runs/swe/record/000001.json" in line


def recorded(host: Host, run: str, generation: int, failed_starts_s: float | None) -> None:
    """The follower publishes a record with that limit."""
    rules = StopRules(failed_starts_s=failed_starts_s)
    plan = RunPlan("inspect", "fresh_budget", stop_rules=rules)
    body = RunRecord(run, "gpu-1", generation, NOON, plan).record()
    host.store.put(record_key(run, generation), encoded(body))


def limit(host: Host, at_s: float) -> tuple[float | None, object]:
    """After a look: the limit in force, and whose rules the line says it obeys."""
    decision = host.cycle(at_s)
    seen = host.world.look(host.book.state)
    in_force = Case(host.book.state, seen, host.policy, host.clock()).limits.failed_starts_s
    return in_force, decision.pairs["rules_of"]


def test_the_earlier_rules_are_obeyed_until_the_newer_record_can_be_read(host: Host) -> None:
    """Also after a restart of the process, and of its whole memory; the line says whose they are."""
    recorded(host, "swe", 1, 600)
    assert limit(host, 0) == (600, None)
    host.fact("run-swe-2")
    assert limit(host, 10) == (600, "swe-1")
    assert host.book.state.run is not None
    assert (host.book.state.run.generation, host.book.state.run.recorded) == (2, False)
    host.restart()
    assert limit(host, 20) == (600, "swe-1")
    host.paths.state.unlink()
    host.paths.events.unlink()
    host.restart()
    assert limit(host, 30) == (600, "swe-1")
    assert host.events()[0].detail["rules_of"] == "swe-1"
    recorded(host, "swe", 2, 900)
    assert limit(host, 40) == (900, None)


def test_another_run_is_assigned_under_the_earlier_rules(host: Host) -> None:
    """It is not over by the end or the deadline of the earlier one."""
    recorded(host, "swe", 1, 600)
    host.fact(ended_fact("swe"))
    assert host.cycle(0).word == "run-over"
    host.fact("run-gaia-1", 2)
    assert limit(host, 60) == (600, "swe-1")
    assert host.provider.calls == ["start"]
    host.fact("run-gaia-2", 2)
    assert limit(host, 70) == (600, "swe-1")
    recorded(host, "gaia", 2, None)
    assert limit(host, 80) == (2700, None)


def test_a_damaged_newer_record_leaves_the_earlier_rules(host: Host) -> None:
    """It is published, and cannot be read; holds are seen all the same."""
    recorded(host, "swe", 1, 600)
    host.cycle(0)
    host.store.put(record_key("swe", 2), b"\0\0\0")
    host.fact("run-swe-2")
    host.place()
    assert limit(host, 60) == (600, "swe-1")
    assert host.cycle(61).word == "held"


def test_a_rule_looser_than_the_grant_is_told_once(host: Host) -> None:
    """It was typed where nobody knows the grant; the grant stands, and when it is mended that is told too."""
    recorded(host, "swe", 1, 2701)
    assert limit(host, 0) == (2700, None)
    host.cycle(10)
    assert host.told() == ["looser"]
    (event,) = [event for event in host.events() if event.detail.get("topic") == "looser"]
    assert event.reason == (
        'run swe: failed_starts "2701s": looser than "45min" in [grant]: a run may only tighten it;'
        " [grant] stands"
    )
    recorded(host, "swe", 2, 2700)
    host.fact("run-swe-2")
    host.cycle(20)
    assert host.told() == ["looser", "-looser"]


def test_without_an_earlier_record_the_grant_is_the_limit(host: Host) -> None:
    """Nobody's rules are obeyed, and the line names none."""
    assert limit(host, 0) == (2700, None)


def test_the_guests_last_sign_stands_in_the_line(host: Host) -> None:
    """The newest heartbeat of the newest boot."""
    host.provider.is_now(State.RUNNING)
    for number, finished in enumerate((3, 212)):
        beat = {"finished": finished, "intended": 500, "in_flight": 16, "at": stamp(NOON)}
        host.store.put(heartbeat_key("swe", "s1", number), encoded(beat))
    assert host.cycle(38).line() == (
        "decision=running instance=gpu-1 state=RUNNING up_s=0 run=swe finished=212 intended=500"
        " in_flight=16 guest_age_s=38 holds=none next_s=60"
    )


# Memory


@pytest.mark.parametrize("damage", [b"", b"\0" * 300, b'{"format": 1}', b'{"format": 1, "wo', None])
def test_a_lost_memory_waits_one_window(host: Host, damage: bytes | None) -> None:
    """A start may have been open; counters come back from the events."""
    host.words(0, 60, 960)
    if damage is None:
        host.paths.state.unlink()
    else:
        host.paths.state.write_bytes(damage)
    host.clock.seconds = 961
    host.restart()
    assert (host.book.state.starts, host.book.state.failures) == (1, 1)
    assert host.words(961, 1860, 1861) == ["recovering", "recovering", "start"]
    assert host.provider.calls == ["start", "start"]


def test_a_lost_memory_keeps_its_own_stop(host: Host) -> None:
    """The stop that it asked for is its own, whoever the provider names; no hold says that a person did it."""
    host.provider.is_now(State.RUNNING)
    host.cycle(0)
    host.place(ensure_stopped=True, stop_after_s=0)
    assert host.words(60) == ["stop"]
    host.paths.state.write_bytes(b"\0" * 100)
    host.restart()
    asks = host.book.state.stop_asks
    assert asks is not None
    assert asks.count == 1
    release(host.store, "gpu-1", "operator-1", "ana", NOON)
    host.provider.is_now(State.STOPPED, "user")
    host.cycle(120)
    stop = host.book.state.stop
    assert stop is not None
    assert (stop.cause, stop.evidence) == ("restarter", "own-stop")
    assert look(host.store, "gpu-1").standing == ()
    assert host.book.state.stop_asks is None


def test_a_lost_memory_forgets_a_stop_that_is_over(host: Host) -> None:
    """What it asked for in an earlier life says nothing about the next one."""
    host.provider.is_now(State.RUNNING)
    host.cycle(0)
    host.place(ensure_stopped=True, stop_after_s=0)
    host.cycle(60)
    host.provider.is_now(State.STOPPED, "user")
    host.cycle(120)
    host.paths.state.unlink()
    host.restart()
    assert host.book.state.stop_asks is None


def boots_after_a_lost_memory(host: Host) -> tuple[int, int | None]:
    """The newest boot before the life that is then found RUNNING, and its own."""
    host.paths.state.unlink()
    host.restart()
    host.provider.is_now(State.RUNNING)
    host.cycle(120)
    life = host.book.state.life
    assert life is not None
    return life.boot_seq, life.boot


def test_a_lost_memory_knows_which_boots_were_before_the_life(host: Host) -> None:
    """A guest that says nothing is silent also then: the last one's facts are not taken for its own."""
    host.fact("booted", 1)
    host.provider.is_now(State.RUNNING)
    host.cycle(0)
    host.provider.is_now(State.STOPPED, "preempted")
    host.cycle(60)
    host.provider.is_now(State.RUNNING)
    host.cycle(120)
    life = host.book.state.life
    assert life is not None
    assert life.boot_seq == 1
    host.paths.state.unlink()
    host.restart()
    assert host.words(180, 2881, 2941) == ["running", "silent", "silent"]


def test_a_memory_lost_while_it_is_off_knows_which_boots_were_before(host: Host) -> None:
    """The events tell it with the last stop."""
    host.fact("booted", 1)
    host.provider.is_now(State.RUNNING)
    host.cycle(0)
    host.provider.is_now(State.STOPPED, "preempted")
    host.cycle(60)
    assert boots_after_a_lost_memory(host) == (1, None)


def test_a_memory_lost_after_a_start_knows_which_boots_were_before(host: Host) -> None:
    """The request tells it, also of boots that no life was seen of."""
    host.fact("booted", 3)
    host.words(0, 60)
    assert boots_after_a_lost_memory(host) == (3, None)


def test_an_old_answer_makes_no_start_new(host: Host) -> None:
    """After a stop of its own, an answer from an old page and then a true one are no life of somebody else's."""
    host.place(ensure_stopped=True, stop_after_s=0)
    for state, start_s in ((State.STOPPED, 0), (State.RUNNING, 30), (State.STOPPED, 30)):
        seen = Observation(state, billed=None, last_start=NOON + timedelta(seconds=start_s))
        host.provider.answer = replace(seen, cause="user")
        host.cycle(60 + start_s)
    for start_s in (0, 30):
        old = Observation(State.STOPPED, billed=False, last_start=NOON + timedelta(seconds=start_s))
        host.provider.answer = replace(old, cause="user")
        host.cycle(180 + start_s)
        assert host.kinds().count("running") == 1
    stop = host.book.state.stop
    assert stop is not None
    assert stop.cause == "restarter"


def test_a_lost_memory_keeps_holds_and_the_life_that_goes_on(host: Host) -> None:
    """Also of a hold that the store no longer lists; the life is not told twice."""
    host.provider.is_now(State.RUNNING)
    host.place("end-1", ensure_stopped=True)
    host.cycle(0)
    (host.store_root / hold_key("gpu-1", "end-1")).unlink()
    host.paths.state.write_bytes(b"")
    host.restart()
    assert host.words(600) == ["stop"]
    assert host.kinds().count("running") == 1


def test_a_first_start_of_the_process_waits_for_nothing(host: Host) -> None:
    """No memory and no events: there was never a request."""
    assert host.book.state.ask is None
    assert host.words(0, 60) == ["grace", "start"]


@pytest.mark.parametrize(
    ("before", "after", "asked_s"),
    [(True, True, 100), (True, False, 30), (False, True, 30), (False, False, 30)],
)
def test_a_window_goes_on_through_a_reboot(
    host: Host, *, before: bool, after: bool, asked_s: int
) -> None:
    """By a wall clock that could be believed before and after; else anew from the reboot."""
    host.clock.synced = before
    host.words(0, 60)
    host.clock.boot, host.clock.booted_s, host.clock.synced = "b2", 125, after
    host.clock.seconds = 130
    host.restart()
    line = host.cycle(160).line()
    assert f"decision=start-pending instance=gpu-1 state=STOPPED asked_s={asked_s} " in line


def test_a_crash_at_any_write_loses_no_event_and_starts_once(
    tmp_path: Path, crash_points: CrashPoints
) -> None:
    """Before and after each effect on a file, the request that took effect included (I2, I10)."""

    def story(host: Host) -> None:
        host.place("operator-1")
        host.cycle(0)
        release(host.store, "gpu-1", "operator-1", "ana", NOON)
        host.words(60, 120)

    whole = Host(tmp_path / "whole")
    points = crash_points.count(lambda: story(whole))
    assert points > 30
    for n in range(1, points + 1):
        host = Host(tmp_path / str(n))
        with pytest.raises(Crash), crash_points.crash_at(n):
            story(host)
        host.restart()
        host.place("operator-1")
        release(host.store, "gpu-1", "operator-1", "ana", NOON)
        for second in range(180, 1000, 60):
            host.cycle(second)
        asked = host.kinds().count("start-asked")
        assert (len(host.provider.calls) <= 1, asked) == (True, 1), n
        kinds = [kind for kind in host.kinds() if kind.startswith("hold-")]
        assert kinds in (["hold-seen", "hold-gone"], []), n


def test_a_crash_right_after_the_call_took_effect(host: Host) -> None:
    """The answer is lost, the request is not: no second one while the window is open."""

    def die() -> None:
        raise Crash("after effect, before record")

    host.provider.at_start = die
    host.cycle(0)
    with pytest.raises(Crash):
        host.cycle(60)
    host.restart()
    assert host.words(61, 500) == ["start-pending", "start-pending"]
    assert "reply=none" in host.cycle(501).line()
    host.provider.is_now(State.RUNNING)
    assert host.words(502) == ["running"]
    assert host.provider.calls == ["start"]


def test_nothing_is_written_where_nothing_changed(host: Host, crash_points: CrashPoints) -> None:
    """A week of `running` costs no write but the hourly line."""
    host.provider.is_now(State.RUNNING)
    host.words(0, 60)
    assert crash_points.count(lambda: host.cycle(120)) == 0


def test_the_decision_is_written_before_the_call(host: Host) -> None:
    """Who reads the log after a hang sees what was being done."""
    host.cycle(0)
    lines: list[str] = []
    host.provider.at_start = lambda: lines.append(host.paths.decisions.read_text())
    host.cycle(60)
    assert "decision=start" in lines[0]


def test_other_instances_do_not_matter(host: Host) -> None:
    """A hold, a file, a fact of gpu-2 are none of gpu-1."""
    host.paths.hold.with_name("gpu-2").touch()
    host.store.put(hold_key("gpu-2", "x"), b"")
    host.store.put(hold_key("gpu-12", "x"), b"")
    assert host.words(0, 60) == ["grace", "start"]


def test_a_provider_whose_words_are_new_starts_nothing(host: Host) -> None:
    """UNKNOWN is an answer that we do not understand."""
    host.provider.answer = Observation(State.UNKNOWN)
    assert host.words(0, 60, 6000) == ["unknown"] * 3
    assert FakeProvider().calls == host.provider.calls == []
