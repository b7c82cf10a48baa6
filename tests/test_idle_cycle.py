"""idle_guard: whole cycles on a directory that stands for the disk."""

import errno
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from crash_points import Crash, CrashPoints
from hook_world import Guest
from idle_world import AGENT, Idle
from spoteval.control import enders, stopping
from spoteval.control.busy import show_work
from spoteval.control.enders import Ender
from spoteval.control.runcontrol import RUN_UNIT
from spoteval.files import touch, write_record
from spoteval.shape import Reading, Unreadable
from spoteval_agents.idle_guard.agent import RETRY_S
from spoteval_agents.idle_guard.samples import OVER_S


@pytest.fixture
def idle(tmp_path: Path) -> Idle:
    """A machine that nothing uses; its run `swe` is active, but nobody works on it."""
    return Idle(Guest(tmp_path))


def test_an_idle_machine_ends_after_its_time_and_not_before(idle: Idle) -> None:
    """Intent, hold, one more look, off: 20 min after the first quiet look."""
    idle.until(1000 + 1200)
    assert not idle.off
    assert idle.intents() == ()
    idle.until(1000 + 1400)
    assert idle.off
    (intent,) = idle.intents()
    assert intent.hold_id == "idle-20261201T031821-ab12"
    assert (intent.agent, intent.proved, intent.reason) == (AGENT, True, "idle for 1200 s")
    assert idle.tried == [intent.hold_id]
    assert idle.kinds() == ["idle-intent", "idle-stop"]
    words = [line.split()[1] for line in idle.guest.lines(AGENT)]
    assert words == [f"decision={word}" for word in ("look", "idle", "intent", "hold", "stop")]


def test_nothing_is_asked_of_the_store_before_the_intent_is_written(idle: Idle) -> None:
    """Intent before effect."""
    found: list[int] = []

    def prove(places: Sequence[Path], intent: Ender) -> Reading[str]:
        found.append(len(idle.intents()))
        return Unreadable("store away")

    idle.guard.prove = prove
    idle.until(1000 + 1400)
    assert set(found) == {1}


def test_work_of_the_processors_starts_the_time_anew(idle: Idle) -> None:
    """A look above the limit; at it, the machine is idle."""
    idle.until(1000 + 1100)
    idle.look(busy=0.5)
    assert idle.guest.lines(AGENT)[-1].startswith('agent=idle-guard decision=active because="cpu')
    idle.until(1000 + 2200)
    assert not idle.off


def test_a_share_is_taken_over_ten_seconds(idle: Idle) -> None:
    """What a child of ours takes within one of them is no use of the machine."""
    idle.look()
    idle.guest.clock.pause(OVER_S)
    idle.look()
    idle.guest.clock.pause(OVER_S - 0.1)
    idle.look(busy=1.0)
    idle.guest.clock.pause(0.1)
    idle.look()
    words = [line.split()[1] for line in idle.guest.lines(AGENT)]
    assert words == ["decision=look", "decision=idle"]


@pytest.mark.parametrize("probe", ["members", "keep-alive", "draining", "busy"])
def test_use_keeps_it_on(idle: Idle, probe: str) -> None:
    """For hours."""
    guest = idle.guest
    if probe == "members":
        guest.units.scripts[RUN_UNIT] = iter([frozenset([2**22 + 1])] * 9999)
    elif probe == "keep-alive":
        guest.durable.keep_alive.parent.mkdir(parents=True)
        guest.durable.keep_alive.touch()
    elif probe == "draining":
        guest.host.draining.touch()
    while guest.clock.at_s < 1000 + 7200:
        if probe == "busy":
            show_work(guest.durable, "boot-resume", "5e55")
            touched(guest, guest.durable.busy / "boot-resume")
        guest.clock.pause(idle.look())
    assert not idle.off
    assert idle.intents() == ()


def touched(guest: Guest, path: Path) -> None:
    """Touched now, by the clock of the test."""
    at = guest.clock().wall.timestamp()
    os.utime(path, (at, at))


@pytest.mark.parametrize("why", ["guest hold", "complete", "end", "no run"])
def test_a_boot_resume_with_nothing_to_bring_back_keeps_nothing_on(idle: Idle, why: str) -> None:
    """Whatever its busy file says."""
    guest = idle.guest
    if why == "guest hold":
        guest.durable.guest_hold.parent.mkdir(parents=True)
        guest.durable.guest_hold.write_text("tp 4 -> 8")
    elif why == "complete":
        write_record(guest.run.intended, {"episodes": []})
    elif why == "end":
        guest.run.end.write_text("{}")
    else:
        guest.durable.active.unlink()
    while guest.clock.at_s < 1000 + 1500 and not idle.off:
        show_work(guest.durable, "boot-resume", "5e55")
        touched(guest, guest.durable.busy / "boot-resume")
        guest.clock.pause(max(OVER_S, idle.look()))
    assert idle.off


def test_without_a_disk_it_ends_the_machine_all_the_same(idle: Idle) -> None:
    """No run and no keep-alive are seen; the intent lies in /run; nothing is written to the foreign disk."""
    guest = idle.guest
    guest.durable.keep_alive.parent.mkdir(parents=True)
    guest.durable.keep_alive.touch()
    guest.durable.sentinel.write_text('{"format": 1, "instance": "other"}')
    before = sorted(guest.durable.disk.rglob("*"))
    idle.until(1000 + 1400)
    assert idle.off
    assert (guest.host.run / "enders" / "5e55.json").exists()
    assert sorted(guest.durable.disk.rglob("*")) == before


def test_a_store_that_is_away_costs_a_quarter_of_an_hour(idle: Idle) -> None:
    """Tried again and again, then stopped; the intent stays owed."""
    idle.proof = Unreadable("timeout:60s")
    idle.until(1000 + 1210 + 890)
    assert not idle.off
    assert len(idle.tried) > 10
    idle.until(1000 + 1210 + 920)
    assert idle.off
    (intent,) = idle.intents()
    assert intent.unfinished
    assert "restarter_hold=unproved" in idle.guest.lines(AGENT)[-1]


def test_three_rounds_and_no_fourth(tmp_path: Path) -> None:
    """Each boot is started again by somebody; the fourth stays on and calls a person, once."""
    for number in range(4):
        guest = Guest(tmp_path)
        guest.host.poweroff.unlink(missing_ok=True)
        idle = Idle(guest, session=f"boot{number}", proof=Unreadable("store away"))
        idle.until(1000 + 4000)
        assert idle.off is (number < 3)
    assert idle.kinds().count("needs_you") == 1
    assert len(idle.intents()) == 3


def test_use_after_the_proof_is_seen_by_one_more_look(idle: Idle) -> None:
    """Not stopped; withdrawn; and the hold that stands needs a person. Idle again: a new intent."""

    def prove(places: Sequence[Path], intent: Ender) -> Reading[str]:
        enders.mark_proved(places[0], intent.name, {})
        idle.guest.durable.keep_alive.parent.mkdir(parents=True)
        idle.guest.durable.keep_alive.touch()
        return "proved"

    idle.guard.prove = prove
    idle.until(1000 + 1500)
    assert not idle.off
    (intent,) = idle.intents()
    assert (intent.proved, intent.withdrawn) == (True, True)
    assert idle.kinds() == ["idle-intent", "needs_you"]
    idle.guest.durable.keep_alive.unlink()
    idle.guard.prove = idle.proves
    idle.until(1000 + 4000)
    assert idle.off
    assert [item.name for item in idle.intents()] == ["5e55", "5e55-002"]


def test_a_full_disk_does_not_keep_the_machine_on(idle: Idle) -> None:
    """The folder takes nothing: the intent lies in /run, events and lines are lost, the machine ends."""
    guest = idle.guest
    guest.durable.enders.write_text("")
    (guest.durable.root / "decisions").write_text("")
    guest.run.events.mkdir()
    idle.until(1000 + 1400)
    assert idle.off
    assert (guest.host.run / "enders" / "5e55.json").exists()


def test_a_withdrawal_that_the_disk_does_not_take_is_tried_again(
    idle: Idle, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Said once, not thirteen times a minute by a process that dies of it; the machine stays on."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    idle.proof = Unreadable("store away")
    idle.until(1000 + 1300)
    touch(idle.guest.durable.keep_alive, "ana")
    with monkeypatch.context() as patched:
        patched.setattr(stopping, "withdraw", full)
        assert [idle.look() for _ in range(3)] == [RETRY_S] * 3
    idle.look()
    assert idle.intents()[0].withdrawn
    said = capsys.readouterr().err
    assert said.count("withdraw not written: No space left on device") == 1
    assert said.count("what is decided is written again") == 1


def test_a_crash_at_each_write_ends_in_the_same_end(
    tmp_path: Path, crash_points: CrashPoints
) -> None:
    """A guard that dies at any write is started again: one intent, one hold id at a time, and off."""

    def work(number: str) -> Idle:
        idle = Idle(Guest(tmp_path / number))
        idle.until(1000 + 1400)
        return idle

    points = crash_points.count(lambda: work("whole"))
    assert points > 15
    for n in range(1, points + 1):
        with crash_points.crash_at(n), suppress(Crash):
            work(str(n))
        guest = Guest(tmp_path / str(n))
        guest.clock.at_s = 3000
        again = Idle(guest)
        again.until(3000 + 1500)
        assert again.off
        assert len(again.intents()) == 1
        assert again.intents()[0].proved


def test_keep_alive_is_told_hour_by_hour(idle: Idle) -> None:
    """The restarter would stop a machine whose run has been over for two hours."""
    touch(idle.guest.durable.keep_alive, "ana debugs")
    idle.until(1000 + 7200)
    body = '--body {"by": "idle-guard"}'
    assert idle.asked == [f"fact put keep-202612010{hour} {body}" for hour in (2, 3, 4)]
    idle.guest.durable.keep_alive.unlink()
    idle.until(1000 + 7200 + 1100)
    assert not idle.off
    idle.until(1000 + 20_000)
    assert idle.off
    assert len(idle.asked) == 3


def test_a_keep_alive_of_no_year_keeps_it_on(idle: Idle) -> None:
    """How old it is nobody knows; that it is there is enough."""
    touch(idle.guest.durable.keep_alive, "ana debugs")
    os.utime(idle.guest.durable.keep_alive, (2**42, 2**42))
    idle.look()
    idle.guest.clock.pause(OVER_S)
    idle.look()
    assert idle.guest.lines(AGENT)[-1].startswith("agent=idle-guard decision=active")


def test_without_keep_alive_no_hour_is_told(idle: Idle) -> None:
    """Work alone keeps nobody from ending it."""
    for _ in range(3):
        idle.look(busy=0.5)
        idle.guest.clock.pause(3600)
    assert idle.asked == []
