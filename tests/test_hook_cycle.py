"""shutdown_hook: whole cycles on a directory that stands for the disk."""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from crash_points import Crash, CrashPoints
from hook_world import GONE, Guest
from spoteval.control import enders, requests
from spoteval.control.enders import Ender
from spoteval.control.interrupting import SALVAGE, STEPS
from spoteval.control.requests import Answer
from spoteval.control.runcontrol import RESUME_UNIT, RUN_UNIT
from spoteval.control.runfiles import interruptions
from spoteval.files import read_lines, write_new_record
from spoteval.interruption import SERVER, Interruption, Opened, interruption_id
from spoteval.shape import Reading, Unreadable
from spoteval_agents.shutdown_hook.stages import FOLLOWER_UNIT

MOMENT = "2026-12-01T02-58-11-000-5e55"
ID, SHUT = f"{MOMENT}-notice", f"{MOMENT}-shutdown"


@pytest.fixture
def guest(tmp_path: Path) -> Guest:
    """A guest with the active run `swe`, whose notice window is 60 s."""
    return Guest(tmp_path)


def only(guest: Guest) -> Interruption:
    """The one interruption there is."""
    (found,) = interruptions(guest.run).values()
    return found


def names(guest: Guest) -> list[str]:
    """The steps that were taken, in order."""
    return [step.name for step in guest.steps]


def test_a_shutdown_is_marked_before_systemd_is_asked(guest: Guest) -> None:
    """The marker lies on the disk when the question is put; the process ends after it all."""
    hook = guest.hook()
    assert not guest.cycle(hook, terminated=True)
    assert guest.asked == [[f"{SHUT}/opened.json"]]
    found = only(guest)
    assert (found.opened.source, found.opened.cause) == ("shutdown", "undecided")
    assert found.opened.window_s == 60
    assert found.closed is not None
    assert found.cause == "unknown"
    assert guest.host.draining.exists()
    assert guest.facts == []
    assert guest.kinds() == ["interrupted"]


def test_the_steps_come_in_their_order_each_recorded(guest: Guest) -> None:
    """The marker first; boot-resume before the run; nothing copied before KILL; the final pass last."""
    guest.announce()
    assert guest.cycle(guest.hook())
    wanted = [
        "marker",
        "event",
        "fact",
        "draining",
        "boot-resume",
        "SIGTERM",
        "kill",
        "salvage",
        "final-pass",
        "cause",
        "event",
        "close",
    ]
    assert names(guest) == wanted
    steps = read_lines(guest.run.interruptions / ID / STEPS).records
    assert [step["step"] for step in steps] == wanted[: wanted.index("close")]


@pytest.mark.parametrize("more", ["nothing", "withdrawn", "expired", "signal"])
def test_nothing_is_appended_once_it_is_closed(guest: Guest, more: str) -> None:
    """The follower takes the steps of a closed interruption for whole, whatever becomes of the notice."""
    guest.announce()
    hook = guest.hook()
    guest.cycle(hook)
    before = files(guest.run.interruptions)
    if more == "withdrawn":
        guest.notice = None
    elif more == "expired":
        guest.clock.at_s += 360
    guest.cycle(hook, terminated=more == "signal")
    assert files(guest.run.interruptions) == before


def test_a_stop_of_the_same_moment_keeps_its_own_marker(guest: Guest) -> None:
    """The run was just being stopped for a dead server: neither takes the other's marker, cause or end."""
    wall, stop = guest.clock().wall, guest.run.interruptions
    name = interruption_id(wall, "5e55", "boot-resume")
    other = Opened(name, "swe", "5e55", guest.clock().mark, "boot-resume", SERVER)
    write_new_record(stop / name / "opened.json", other.record())
    guest.announce()
    guest.cycle(guest.hook())
    found = interruptions(guest.run)
    assert {item.cause for item in found.values()} == {SERVER, "preempted"}
    assert found[name].closed is None
    assert found[ID].closed is not None


def test_a_notice_is_told_to_the_store_and_the_machine_is_waited_for(guest: Guest) -> None:
    """The fact names the interruption; the cause is the provider's; the process stays."""
    guest.announce()
    hook = guest.hook()
    assert guest.cycle(hook)
    assert [(fact.id, fact.notice) for fact in guest.facts] == [(ID, "n-1")]
    assert only(guest).cause == "preempted"
    assert guest.asked == []
    assert guest.kinds() == ["notice", "interrupted"]
    assert guest.lines()[-1].startswith(
        "agent=shutdown-hook decision=interrupt source=notice window_s=60 marker_ms=0"
    )
    assert guest.lines()[-1].endswith(f"marker={ID}")


def test_notice_and_signal_are_one_interruption(guest: Guest) -> None:
    """The signal after it is met with nothing but the end of the process."""
    guest.announce()
    hook = guest.hook()
    guest.cycle(hook)
    before, steps = files(guest.run.interruptions), len(guest.steps)
    guest.clock.pause(30)
    assert guest.cycle(hook)
    assert not guest.cycle(hook, terminated=True)
    assert files(guest.run.interruptions) == before
    assert len(guest.steps) == steps
    assert guest.asked == []


def files(folder: Path) -> dict[str, bytes]:
    """Every file below, with its bytes."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@pytest.mark.parametrize("stopping", [False, Unreadable("no bus")])
def test_a_restart_is_not_an_interruption(guest: Guest, stopping: Reading[bool]) -> None:
    """Closed as none, and nothing was stopped, drained or told."""
    guest.stopping = stopping
    guest.host.restarting.touch()
    guest.units.scripts[RUN_UNIT] = forever(frozenset([GONE]))
    assert not guest.cycle(guest.hook(), terminated=True)
    found = only(guest)
    assert (found.cause, found.counts) == ("not-an-interruption", False)
    assert names(guest) == ["marker", "close"]
    assert not guest.host.draining.exists()
    assert not guest.run.events.exists()


def test_a_question_that_fails_is_a_shutdown(guest: Guest) -> None:
    """Nobody of ours said that it is a restart."""
    guest.stopping = Unreadable("no bus")
    guest.cycle(guest.hook(), terminated=True)
    assert only(guest).counts


def forever(*first: Reading[frozenset[int]]) -> Iterator[Reading[frozenset[int]]]:
    """These, and the last of them for ever."""
    yield from first
    while True:
        yield first[-1]


@pytest.mark.parametrize(("agent", "cause"), [("end-handler", "end"), ("idle-guard", "idle")])
def test_our_own_stop_is_no_preemption(guest: Guest, agent: str, cause: str) -> None:
    """Its intent lies on the disk; one that was withdrawn is none."""
    intent = Ender("", "5e55", agent, "why", "h-1", guest.clock().mark)
    enders.write_intent(guest.durable.enders, intent)
    guest.cycle(guest.hook(), terminated=True)
    assert only(guest).cause == cause


def test_an_intent_of_another_session_or_withdrawn_says_nothing(guest: Guest) -> None:
    """Unknown is a cause of its own."""
    folder = guest.durable.enders
    enders.write_intent(folder, Ender("", "0ld", "idle-guard", "why", "h-0"))
    own = enders.write_intent(folder, Ender("", "5e55", "idle-guard", "why", "h-1"))
    enders.mark_withdrawn(folder, own.name, {})
    guest.cycle(guest.hook(), terminated=True)
    assert only(guest).cause == "unknown"


def test_a_person_s_reboot_is_an_interruption_by_the_operator(guest: Guest) -> None:
    """One interruption, whose cause is known from the shutdown's own job."""
    guest.rebooting = True
    guest.cycle(guest.hook(), terminated=True)
    assert only(guest).cause == "operator"


def test_a_notice_that_comes_after_the_signal_is_the_cause(guest: Guest) -> None:
    """Asked at the end, not at the beginning."""
    hook = guest.hook()
    guest.units.scripts[FOLLOWER_UNIT] = announcing(guest)
    guest.cycle(hook, terminated=True)
    assert only(guest).cause == "preempted"


def announcing(guest: Guest) -> Iterator[Reading[frozenset[int]]]:
    """Somebody looks at the follower: then the notice comes."""
    guest.announce()
    yield frozenset()


def test_without_a_run_nothing_is_marked_and_all_else_is_done(guest: Guest) -> None:
    """No run is active: no record, yet nothing is started any more."""
    guest.durable.active.unlink()
    guest.cycle(guest.hook(), terminated=True)
    assert interruptions(guest.run) == {}
    assert names(guest) == ["draining", "boot-resume", "SIGTERM", "kill", "cause", "event", "close"]
    assert guest.host.draining.exists()


@pytest.mark.parametrize("harm", ["sentinel", "end"])
def test_no_marker_on_a_foreign_disk_or_after_the_end(guest: Guest, harm: str) -> None:
    """Nothing is written to a disk that has not proved itself; a run that has its end is not interrupted."""
    if harm == "sentinel":
        guest.durable.sentinel.write_text('{"format": 1, "instance": "other"}')
    else:
        guest.run.end.write_text("{}")
    before = files(guest.durable.disk)
    guest.announce()
    guest.cycle(guest.hook())
    assert files(guest.durable.disk) == before
    assert guest.host.draining.exists()


def test_what_has_to_be_killed_is_counted(guest: Guest) -> None:
    """Own steps for their time, then KILL; the record has the number."""
    two = frozenset([GONE, GONE + 1])
    guest.units.scripts[RUN_UNIT] = until(guest, 1000 + 22.5, two)
    guest.announce()
    guest.cycle(guest.hook())
    closed = only(guest).closed
    assert closed is not None
    assert closed.killed == 2
    assert "killed=2" in guest.lines()[-1]
    (kill,) = [step for step in guest.steps if step.name == "kill"]
    assert kill.detail == "2 killed, empty"


def until(guest: Guest, at_s: float, pids: frozenset[int]) -> Iterator[Reading[frozenset[int]]]:
    """These processes live until then."""
    while guest.clock.at_s < at_s:
        yield pids
    while True:
        yield frozenset()


def test_every_step_runs_though_all_before_it_fail(guest: Guest) -> None:
    """The fact cannot be put, members cannot be read, the follower is silent: it is closed all the same."""

    def failing(opened: Opened) -> str:
        raise OSError("spoteval: no such file")

    blind = Unreadable("no control groups")
    for unit in (RUN_UNIT, RESUME_UNIT, FOLLOWER_UNIT):
        guest.units.scripts[unit] = forever(blind)
    guest.announce()
    guest.cycle(guest.hook(failing))
    failed = [step.name for step in guest.steps if not step.ok]
    assert failed == ["fact", "boot-resume", "SIGTERM", "kill", "final-pass"]
    found = only(guest)
    assert found.closed is not None
    assert found.cause == "preempted"
    assert guest.clock.at_s <= 1000 + 50


def test_a_disk_that_refuses_records_stops_nothing(guest: Guest) -> None:
    """The folder of the records is a file: each step runs, and the journal has it."""
    hook = guest.hook()
    guest.run.interruptions.rmdir()
    guest.run.interruptions.write_text("")
    guest.announce()
    assert guest.cycle(hook)
    assert [step.name for step in guest.steps if not step.ok][:2] == ["marker", "record"]
    assert "close" in names(guest)
    assert guest.host.draining.exists()
    assert "marker_ms" not in guest.lines()[-1]


@pytest.mark.parametrize(
    ("in_s", "wanted"),
    [
        (3.6, ["SIGTERM", "kill", "final-pass"]),
        (3.5, ["final-pass"]),
        (-100.0, ["final-pass"]),
        (6.1, ["SIGTERM", "kill", "salvage", "final-pass"]),
    ],
)
def test_the_window_says_which_steps_there_are(
    guest: Guest, in_s: float, wanted: list[str]
) -> None:
    """Below three usable seconds the marker and the records alone."""
    guest.announce(in_s)
    guest.cycle(guest.hook())
    assert names(guest)[5:-3] == wanted
    assert only(guest).closed is not None


def test_the_final_pass_is_asked_for_and_waited_for(guest: Guest) -> None:
    """The follower's answer is in the record and in the line."""

    def follower() -> None:
        for request in requests.pending(guest.durable):
            assert (request.kind, request.by) == ("final", "shutdown-hook")
            assert 48 < request.deadline_s <= 50
            requests.reply(guest.durable, request.id, Answer(11, 1, 1, 0, 3.0))

    guest.units.scripts[FOLLOWER_UNIT] = forever(frozenset([GONE]))
    guest.clock.meanwhile = follower
    guest.announce()
    guest.cycle(guest.hook())
    closed = only(guest).closed
    assert closed is not None
    assert closed.left == 1
    assert 'final_pass="11 of 12" left=1' in guest.lines()[-1]


def test_a_follower_that_does_not_answer_is_waited_for_as_long_as_the_plan_says(
    guest: Guest,
) -> None:
    """Then it is closed, without a figure."""
    guest.units.scripts[FOLLOWER_UNIT] = forever(frozenset([GONE]))
    guest.announce()
    guest.cycle(guest.hook())
    assert guest.clock.at_s == pytest.approx(1050, abs=0.2)
    closed = only(guest).closed
    assert closed is not None
    assert closed.left is None
    assert "final_pass" not in guest.lines()[-1]


def test_salvage_is_copied_after_kill(tmp_path: Path) -> None:
    """The sample buffer and the newest log lie beside the marker, as they were."""
    guest = Guest(tmp_path, more='[run]\nharness = "inspect"\nsettlement = "fresh_budget"')
    buffer = "home/.local/share/inspect_ai/samplebuffer/ab/log.eval.77.db"
    for name in (buffer, buffer + "-wal", "logs/old.eval", "logs/new.eval", "other"):
        (guest.run.work / name).parent.mkdir(parents=True, exist_ok=True)
        (guest.run.work / name).write_text(name)
    guest.announce()
    guest.cycle(guest.hook())
    copied = files(guest.run.interruptions / ID / SALVAGE)
    assert copied == {name: name.encode() for name in (buffer, buffer + "-wal", "logs/new.eval")}
    assert "salvaged=3" in guest.lines()[-1]


def test_a_notice_that_comes_to_nothing_lets_the_run_go_on(guest: Guest) -> None:
    """300 s after its deadline: the event, no draining, and the same notice means nothing any more."""
    guest.announce()
    hook = guest.hook()
    guest.cycle(hook)
    guest.clock.at_s = 1000 + 359.9
    assert guest.cycle(hook)
    assert guest.host.draining.exists()
    guest.clock.at_s = 1000 + 360
    assert guest.cycle(hook)
    assert not guest.host.draining.exists()
    assert guest.kinds() == ["notice", "interrupted", "notice-expired"]
    assert guest.cycle(hook)
    assert len(interruptions(guest.run)) == 1
    assert guest.lines()[-1] == "agent=shutdown-hook decision=watch run=swe notice=spent"


def test_a_withdrawn_notice_may_come_again(guest: Guest) -> None:
    """The machine lives on; the next one is an interruption of its own, by the same id too."""
    guest.announce()
    hook = guest.hook()
    guest.cycle(hook)
    guest.clock.pause(20)
    guest.notice = None
    guest.cycle(hook)
    assert not guest.host.draining.exists()
    guest.clock.pause(20)
    guest.announce()
    guest.cycle(hook)
    assert len(interruptions(guest.run)) == 2
    assert guest.host.draining.exists()


def test_after_an_expired_notice_the_signal_is_an_interruption_again(guest: Guest) -> None:
    """A shutdown an hour later has its own marker."""
    guest.announce()
    hook = guest.hook()
    guest.cycle(hook)
    guest.notice = None
    guest.cycle(hook)
    guest.clock.pause(3600)
    assert not guest.cycle(hook, terminated=True)
    causes = [found.cause for found in interruptions(guest.run).values()]
    assert causes == ["preempted", "unknown"]


def test_a_hook_that_is_started_again_remembers_by_the_disk(guest: Guest) -> None:
    """After it was closed: waits on. After it expired: the notice is spent."""
    guest.announce()
    guest.cycle(guest.hook())
    again = guest.hook()
    assert guest.cycle(again)
    assert guest.lines()[-1].startswith("agent=shutdown-hook decision=interrupted notice=n-1")
    guest.clock.at_s = 1000 + 360
    guest.cycle(again)
    last = guest.hook()
    guest.cycle(last)
    assert len(interruptions(guest.run)) == 1
    assert guest.lines()[-1].endswith("notice=spent")


def test_a_restart_that_was_killed_before_its_word_is_closed_at_the_next_start(
    guest: Guest,
) -> None:
    """The session went on, so it was no interruption; not while the machine is going down."""
    hook = guest.hook()
    guest.cycle(hook, terminated=True)
    (guest.run.interruptions / SHUT / "closed.json").unlink()
    guest.hook()
    assert only(guest).closed is None
    guest.stopping = False
    guest.hook()
    assert only(guest).cause == "not-an-interruption"


def test_an_open_marker_of_an_earlier_session_stays_open(guest: Guest) -> None:
    """That one was cut short by the machine's end."""
    guest.cycle(guest.hook(), terminated=True)
    folder = guest.run.interruptions / SHUT
    (folder / "closed.json").unlink()
    record = json.loads((folder / "opened.json").read_text())
    (folder / "opened.json").write_text(json.dumps({**record, "session": "0ld"}))
    guest.hook()
    assert only(guest).closed is None


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("by_notice", [True, False])
def test_a_crash_at_each_write_leaves_a_readable_state(
    tmp_path: Path, crash_points: CrashPoints, by_notice: bool
) -> None:
    """A hook that dies at any write, and one started after it in the same session: one interruption, closed once."""

    def work(guest: Guest) -> None:
        if by_notice:
            guest.announce()
        guest.cycle(guest.hook(), terminated=not by_notice)

    points = crash_points.count(lambda: work(Guest(tmp_path / "whole")))
    assert points > 20
    for n in range(1, points + 1):
        guest = Guest(tmp_path / str(n))
        with crash_points.crash_at(n), suppress(Crash):
            work(guest)
        found = interruptions(guest.run)
        assert all(not item.closed_unreadable for item in found.values())
        assert len(found) <= 1
        guest.stopping = False
        again = guest.hook()
        guest.stopping = True
        guest.cycle(again, terminated=not by_notice)
        found = interruptions(guest.run)
        assert len(found) == 1 or not by_notice
        assert all(item.closed is not None for item in found.values())
        assert "interrupted" in guest.kinds()


def test_the_same_watch_is_said_once_an_hour(guest: Guest) -> None:
    """Four times a second nothing has changed."""
    hook = guest.hook()
    for _ in range(4):
        guest.cycle(hook)
        guest.clock.pause(0.25)
    assert len(guest.lines()) == 1
    guest.clock.pause(3600)
    guest.cycle(hook)
    assert len(guest.lines()) == 2
