"""end_handler: whole cycles on a directory that stands for the disk."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from crash_points import Crash, CrashPoints
from hook_world import GONE, AtOnce, Guest
from spoteval.clock import Mark
from spoteval.control import enders, requests
from spoteval.control.children import Reply
from spoteval.control.enders import Ender
from spoteval.control.ending import End, end_from, read_end
from spoteval.control.eventlog import DecisionLog
from spoteval.control.requests import Answer
from spoteval.control.runcontrol import RUN_UNIT
from spoteval.control.runfiles import interruptions
from spoteval.episode import Attempt, Outcome
from spoteval.files import append_line, encoded, parse_record, read_lines, touch, write_record
from spoteval.run import RunPlan, RunRecord
from spoteval.settlement import Settled
from spoteval.shape import Reading, Table, Unreadable
from spoteval_agents.end_handler.act import Hands
from spoteval_agents.end_handler.agent import Handler, policy_of
from spoteval_agents.end_handler.world import Probes

AGENT = "end-handler"
KEYS = ("a", "b", "c")
MADE = datetime(2026, 12, 1, tzinfo=UTC)


@dataclass
class Ending:
    """A run of three episodes under an end-handler, a follower that answers, and a command line that does."""

    guest: Guest
    session: str = "5e55"
    deadline: datetime | None = None
    backlog: int = 0
    follows: bool = True
    deaf: tuple[str, ...] = ()
    """Verbs that fail."""
    worker: AtOnce = field(default_factory=AtOnce)
    asked: list[str] = field(default_factory=list)
    story: list[str] = field(default_factory=list)
    """What happened, in order: requests that were answered, and verbs."""

    def __post_init__(self) -> None:
        plan = RunPlan("directory", "fresh_budget", deadline=self.deadline)
        record = RunRecord("swe", "gpu-1", 1, MADE, plan)
        write_record(self.guest.run.record, record.record())
        write_record(self.guest.run.intended, {"episodes": list(KEYS)})
        config, guest = self.guest.config, self.guest
        self.handler = Handler(
            policy=policy_of(config),
            probes=Probes(config, self.session, guest.units),
            hands=Hands(
                config,
                guest.host,
                self.session,
                guest.units,
                self.worker,
                self._ask,
                lambda size: b"\xab\x12"[:size],
            ),
            log=DecisionLog(None),
        )
        guest.clock.meanwhile = self._follow

    @property
    def off(self) -> bool:
        """Whether the machine was asked to power off."""
        return self.guest.host.poweroff.exists()

    def finish(self, *keys: str) -> None:
        """These episodes are finished."""
        for key in keys:
            attempt = Attempt(key, f"n-{key}", Outcome.COMPLETED, 1)
            append_line(self.guest.run.finished, attempt.record())

    def until(self, seconds: float) -> None:
        """Cycles until then, or until the machine is off."""
        while self.guest.clock.at_s < seconds and not self.off:
            self.guest.clock.pause(self.handler.cycle(self.guest.clock()))

    def intents(self) -> tuple[Ender, ...]:
        """The intents on the disk."""
        found = enders.enders(self.guest.durable.enders)
        assert isinstance(found, tuple)
        return found

    def end(self) -> End:
        """How the run ended."""
        found = read_end(self.guest.run)
        assert isinstance(found, End)
        return found

    def words(self) -> list[str]:
        """Decisions that the disk kept, with their stage."""
        lines = [line.split() for line in self.guest.lines(AGENT)]
        return [" ".join(words[1:3]) for words in lines]

    def _follow(self) -> None:
        for request in requests.pending(self.guest.durable) if self.follows else ():
            self.story.append(request.kind)
            answer = Answer(3, self.backlog, self.backlog, 0, 0.1)
            requests.reply(self.guest.durable, request.id, answer)

    def _ask(self, verb: Sequence[str], within_s: float) -> Reading[Reply]:
        name = " ".join(verb[:2])
        self.asked.append(" ".join(verb))
        if verb[0] in self.deaf:
            return Unreadable(f"{name}: timeout:{within_s:g}s")
        self.story.append("keep fact" if verb[2].startswith("keep-") else name)
        return Reply(Table({"strength": "proved"}, name))


@pytest.fixture
def ending(tmp_path: Path) -> Ending:
    """Nothing is finished yet."""
    return Ending(Guest(tmp_path))


def test_a_run_that_is_not_complete_is_left_alone(ending: Ending) -> None:
    """Two of three, for hours."""
    ending.finish("a", "b")
    ending.until(1000 + 7200)
    assert not ending.off
    assert (ending.intents(), ending.story) == ((), [])


def test_a_complete_run_ends_in_order(ending: Ending) -> None:
    """Published, recorded, the record published, held twice, told, the last lines published, off."""
    ending.finish(*KEYS)
    ending.until(1000 + 60)
    assert ending.off
    assert ending.story == ["final", "pass", "hold place", "fact put", "pass"]
    end = ending.end()
    assert (end.reason, end.finished, end.intended, end.pending) == ("complete", 3, 3, 0)
    assert end.classes is not None
    assert (end.classes["completed"], sum(end.classes.values())) == (3, 3)
    assert ending.guest.durable.guest_hold.read_text() == "run swe is over: complete"
    (intent,) = ending.intents()
    assert (intent.proved, intent.run, intent.hold_id) == (True, "swe", "end-20261201T025811-ab12")
    assert ending.asked == [
        (
            "hold place --reason run swe is over: complete --by end-handler --ensure-stopped "
            "--id end-20261201T025811-ab12"
        ),
        "fact put ended-swe",
    ]
    assert ending.guest.kinds() == ["end", "end-stop"]
    assert ending.guest.lines(AGENT)[-1] == (
        "agent=end-handler decision=end reason=complete pending=0 guest_hold=placed "
        "restarter_hold=proved power=off"
    )


def test_the_intent_is_written_before_the_run_is_stopped(tmp_path: Path) -> None:
    """And while it ends by itself nothing is signalled."""
    ending = Ending(Guest(tmp_path))
    ending.finish(*KEYS)
    ending.guest.units.scripts[RUN_UNIT] = iter([frozenset([GONE])] * 5)
    ending.until(1000 + 60)
    assert ending.off
    assert "stop-run" not in ending.worker.started
    assert interruptions(ending.guest.run) == {}


def test_a_complete_run_that_does_not_end_is_stopped_after_half_a_minute(ending: Ending) -> None:
    """By its own steps; nothing of it was cut, so nothing is marked."""
    guest = ending.guest
    alive = [True]

    def stop(*_: object) -> str:
        assert guest.clock.at_s >= 1000 + 30
        assert len(ending.intents()) == 1
        alive.clear()
        return "stopped"

    ending.handler.hands = _stopping(ending, stop)
    guest.units.scripts[RUN_UNIT] = iter(lambda: frozenset([GONE]) if alive else frozenset(), None)
    ending.finish(*KEYS)
    ending.until(1000 + 120)
    assert ending.off
    assert alive == []
    assert interruptions(guest.run) == {}


def _stopping(ending: Ending, stop: object) -> Hands:
    """Its hands, with another way to stop the run."""

    class Stopping(Hands):
        def _stop(self, *args: object) -> Reading[str]:
            return stop(*args)  # type: ignore[operator,no-any-return]

    hands = ending.handler.hands
    return Stopping(
        hands.config,
        hands.host,
        hands.session,
        hands.members,
        hands.worker,
        hands.ask,
        hands.random,
    )


@pytest.mark.runs("looks at the members twice, half a second apart")
def test_past_its_deadline_a_run_is_stopped_marked_and_settled(tmp_path: Path) -> None:
    """What it cut counts as stopped by an operator; the end says what is what."""
    ending = Ending(Guest(tmp_path), deadline=datetime(2026, 12, 1, 2, 58, 21, tzinfo=UTC))
    guest = ending.guest
    ending.finish("a")
    looks = [frozenset([GONE])] * 6
    guest.units.scripts[RUN_UNIT] = iter(looks)
    cut = Attempt("b", "n-b", Outcome.OPERATOR_STOPPED, 1)
    append_line(guest.run.settlement, Settled("i", MADE, "fresh_budget", cut).record())
    ending.until(1000 + 5)
    assert ending.intents() == ()
    ending.until(1000 + 120)
    assert ending.off
    assert ending.story == ["settle --by", "final", "pass", "hold place", "fact put", "pass"]
    (marked,) = interruptions(guest.run).values()
    assert (marked.opened.source, marked.cause) == ("operator", "operator")
    end = ending.end()
    assert (end.reason, end.finished, end.intended) == ("deadline", 1, 3)
    assert end.classes is not None
    assert {name: count for name, count in end.classes.items() if count} == {
        "completed": 1,
        "operator_stopped": 1,
        "not_run": 1,
    }


@pytest.mark.runs("looks at the members twice, half a second apart")
def test_a_run_that_a_person_declared_over_is_ended(ending: Ending) -> None:
    """Stopped and marked, settled, published, held twice, off; its end says why, and what was left out."""
    ending.finish("a")
    write_record(ending.guest.run.finish, {"by": "ana", "reason": "enough seen"})
    ending.guest.units.scripts[RUN_UNIT] = iter([frozenset([GONE])] * 6)
    ending.until(1000 + 120)
    assert ending.off
    assert ending.story == ["settle --by", "final", "pass", "hold place", "fact put", "pass"]
    (marked,) = interruptions(ending.guest.run).values()
    assert (marked.opened.source, marked.cause) == ("operator", "operator")
    end = ending.end()
    assert (end.reason, end.finished, end.intended) == ("finished-early", 1, 3)
    assert ending.guest.durable.guest_hold.read_text() == "run swe is over: finished-early"


@pytest.mark.parametrize(("follows", "backlog", "pending"), [(True, 2, 2), (False, 0, None)])
def test_what_cannot_be_published_is_said_and_does_not_keep_the_machine_on(
    tmp_path: Path, follows: bool, backlog: int, pending: int | None
) -> None:
    """Asked again and again for as long as the host file allows."""
    guest = Guest(tmp_path, more='[end]\npublish_within = "2min"')
    ending = Ending(guest, follows=follows, backlog=backlog)
    ending.finish(*KEYS)
    ending.until(1000 + 119)
    assert not ending.guest.run.end.exists()
    ending.until(1000 + 120 + 300)
    assert ending.off
    assert ending.end().pending == pending
    shown = "unknown" if pending is None else pending
    assert f"pending={shown}" in ending.guest.lines(AGENT)[-1]


def test_a_follower_that_leaves_something_over_is_not_pestered(tmp_path: Path) -> None:
    """Five seconds between two requests."""
    ending = Ending(Guest(tmp_path), backlog=2)
    ending.finish(*KEYS)
    ending.until(1000 + 100)
    assert 15 <= ending.story.count("final") <= 20


def test_an_end_that_is_not_published_is_tried_again(tmp_path: Path) -> None:
    """A store that is away when the run ends has two minutes to come back; five seconds between two requests."""
    ending = Ending(Guest(tmp_path))
    ending.finish(*KEYS)
    while not ending.guest.run.end.exists():
        ending.until(ending.guest.clock.at_s + 0.5)
    ending.backlog = 2
    ended_s = ending.guest.clock.at_s
    ending.until(ended_s + 60)
    assert 10 <= ending.story.count("pass") <= 13
    assert not ending.off
    ending.backlog = 0
    ending.until(ended_s + 75)
    assert ending.off


def test_an_end_that_cannot_be_published_does_not_keep_the_machine_on(tmp_path: Path) -> None:
    """Two minutes, then the holds and off."""
    ending = Ending(Guest(tmp_path))
    ending.finish(*KEYS)
    while not ending.guest.run.end.exists():
        ending.until(ending.guest.clock.at_s + 0.5)
    ending.backlog = 2
    ended_s = ending.guest.clock.at_s
    ending.until(ended_s + 119)
    assert not ending.off
    ending.until(ended_s + 140)
    assert ending.off


def test_a_store_that_is_away_costs_a_quarter_of_an_hour(tmp_path: Path) -> None:
    """Then off, with the hold owed; the fact is tried three times."""
    ending = Ending(Guest(tmp_path), deaf=("hold", "fact"))
    ending.finish(*KEYS)
    ending.until(1000 + 890)
    assert not ending.off
    ending.until(1000 + 960)
    assert ending.off
    assert ending.intents()[0].unfinished
    assert ending.asked.count("fact put ended-swe") == 3
    assert "restarter_hold=unproved" in ending.guest.lines(AGENT)[-1]


def test_the_next_boot_goes_on_under_the_guest_hold(tmp_path: Path) -> None:
    """The hold is placed under the same name; then it goes off again."""
    first = Ending(Guest(tmp_path), deaf=("hold", "fact"))
    first.finish(*KEYS)
    first.until(1000 + 1000)
    guest = Guest(tmp_path)
    guest.host.poweroff.unlink()
    guest.clock.at_s = 5000
    second = Ending(guest, session="2222")
    second.until(5000 + 60)
    assert second.off
    assert second.story == ["pass", "hold place", "fact put", "pass"]
    assert len({intent.hold_id for intent in second.intents()}) == 1
    assert second.end() == first.end()


def test_a_machine_that_is_on_again_after_its_end_is_left_alone(tmp_path: Path) -> None:
    """A person released the hold and started it."""
    first = Ending(Guest(tmp_path))
    first.finish(*KEYS)
    first.until(1000 + 60)
    guest = Guest(tmp_path)
    guest.host.poweroff.unlink()
    guest.durable.guest_hold.unlink()
    guest.clock.at_s = 5000
    second = Ending(guest, session="2222")
    second.until(5000 + 3600)
    assert not second.off
    assert second.story == []
    assert "decision=ended" in guest.lines(AGENT)[-1]
    assert (guest.durable.busy / AGENT).read_text() != "2222"


def test_hold_only_leaves_the_machine_on(tmp_path: Path) -> None:
    """Both holds, the fact, no power-off."""
    ending = Ending(Guest(tmp_path, more='[end]\non_complete = "hold-only"'))
    ending.finish(*KEYS)
    ending.until(1000 + 300)
    assert not ending.off
    assert ending.story == ["final", "pass", "hold place", "fact put"]
    assert ending.guest.lines(AGENT)[-1].endswith('power=on why="on_complete is hold-only"')


@pytest.mark.parametrize("when_s", [0, 3])
def test_the_kill_switch_stops_it_at_any_stage(ending: Ending, when_s: float) -> None:
    """And its removal lets it go on."""
    switch = ending.guest.durable.kill_switch
    switch.parent.mkdir(parents=True)
    ending.finish(*KEYS)
    ending.backlog = 1
    ending.until(1000 + when_s)
    switch.write_text("debugging (ana)")
    before = list(ending.story)
    ending.until(1000 + 3600)
    assert not ending.off
    assert [word for word in ending.story if word != "keep fact"] == before
    assert 'decision=kill-switch text="debugging (ana)"' in ending.guest.lines(AGENT)[-1]
    switch.unlink()
    ending.backlog = 0
    ending.until(1000 + 4000)
    assert ending.off


def test_a_damaged_end_record_calls_a_person_once(ending: Ending) -> None:
    """It is not written again, and nothing is switched off."""
    ending.finish(*KEYS)
    ending.guest.run.end.write_text('{"format": 1, "reason": "comp')
    ending.until(1000 + 600)
    assert not ending.off
    assert ending.guest.kinds() == ["needs_you"]
    assert ending.guest.run.end.read_text() == '{"format": 1, "reason": "comp'


def test_a_disk_that_takes_nothing_is_left_to_idle_guard(ending: Ending) -> None:
    """The intent cannot be written: said, tried again, and not called work."""
    ending.finish(*KEYS)
    ending.guest.durable.enders.write_text("")
    ending.until(1000 + 60)
    assert not ending.off
    assert not (ending.guest.durable.busy / AGENT).exists()


def test_work_is_shown_while_it_ends(ending: Ending) -> None:
    """Idle-guard must not come between."""
    ending.backlog = 1
    ending.until(1000 + 10)
    assert not (ending.guest.durable.busy / AGENT).exists()
    ending.finish(*KEYS)
    ending.until(1000 + 30)
    assert (ending.guest.durable.busy / AGENT).read_text() == "5e55"


def test_a_crash_at_each_write_ends_in_the_same_end(
    tmp_path: Path, crash_points: CrashPoints
) -> None:
    """A handler that dies at any write is started again: one intent, one hold, one end, off."""

    def work(number: str) -> None:
        ending = Ending(Guest(tmp_path / number))
        ending.finish(*KEYS)
        ending.until(1000 + 60)

    points = crash_points.count(lambda: work("whole"))
    assert points > 40
    for n in range(1, points + 1):
        with crash_points.crash_at(n), suppress(Crash):
            work(str(n))
        again = Ending(Guest(tmp_path / str(n)))
        again.finish(*KEYS)
        again.until(1000 + 120)
        assert again.off
        assert len(again.intents()) == 1
        assert (again.end().reason, again.end().finished) == ("complete", 3)
        assert again.guest.kinds().count("end") == 1


END = End("swe", "complete", Mark(MADE, 5.0, "boot-1"), 3, 3, {"completed": 3}, 0)


@pytest.mark.parametrize("end", [END, End("swe", "deadline", END.at, 0, None, None, None)])
def test_an_end_is_read_back_and_cut_at_each_byte_is_damaged(tmp_path: Path, end: End) -> None:
    """Damaged refuses, and says where the published copy is; it never reads as no end."""
    guest = Guest(tmp_path)
    whole = encoded(end.record())
    table = parse_record(whole, "end")
    assert isinstance(table, Table)
    assert end_from(table) == end
    for length in range(len(whole) - 1):
        guest.run.end.write_bytes(whole[:length])
        found = read_end(guest.run)
        assert isinstance(found, Unreadable)
        assert "the published copy is in the store" in found.why
    guest.run.end.write_bytes(whole)
    assert read_end(guest.run) == end


@pytest.mark.parametrize("key", ["run", "reason", "at", "finished"])
def test_an_end_without_what_it_needs_is_damaged(key: str) -> None:
    """A reading, never an exception."""
    record = {name: value for name, value in END.record().items() if name != key}
    assert isinstance(end_from(Table(record, "end")), Unreadable)


def test_events_of_the_end_carry_the_record(ending: Ending) -> None:
    """Whoever reads the events needs no second file."""
    ending.finish(*KEYS)
    ending.until(1000 + 60)
    (end, stop) = read_lines(ending.guest.run.events).records
    assert end["detail"] == json.loads(json.dumps(ending.end().record()))
    assert (end["source"], stop["reason"]) == (AGENT, "complete")


@pytest.mark.parametrize("active", [True, False])
def test_the_kill_switch_is_told_hour_by_hour(ending: Ending, active: bool) -> None:
    """Also where no run is active: the restarter may know of one that is over."""
    if not active:
        ending.guest.durable.active.unlink()
    ending.finish(*KEYS)
    touch(ending.guest.durable.kill_switch, "ana looks")
    ending.until(1000 + 3600)
    body = '--body {"by": "end-handler"}'
    assert ending.asked == [f"fact put keep-202612010{hour} {body}" for hour in (2, 3)]
    assert not ending.off


def test_what_holds_and_ends_waits_for_no_keep_fact(ending: Ending) -> None:
    """The switch is taken back: the end goes its way, and no hour is told any more."""
    touch(ending.guest.durable.kill_switch)
    ending.finish(*KEYS)
    ending.until(1000 + 60)
    ending.guest.durable.kill_switch.unlink()
    ending.until(1000 + 200)
    assert ending.off
    assert ending.story == ["keep fact", "final", "pass", "hold place", "fact put", "pass"]
