"""boot-resume's rows: each on its sentence, boundaries at equal and one past."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from guest_world import AT, NOW, PLAN, RECORD
from resume_world import (
    INTENT,
    JUDGE,
    POLICY,
    RESUMED,
    SERVER,
    line,
    looked,
    mark,
    planned,
    seen,
)
from spoteval.control.markers import RUN_ASKED
from spoteval.shape import Unreadable
from spoteval_agents.boot_resume.seen import Facts, Seen, State
from spoteval_agents.boot_resume.stages import GATE, Stages
from spoteval_agents.boot_resume.stages import RESUMED as BEGAN

HEALTHY = replace(RESUMED, gate=mark(60), healthy=True, environment=True)
WAIT = "agent=boot-resume decision=wait stage="
BEGIN = "agent=boot-resume decision=begin stage="


def test_nothing_before_the_disk_has_proved_itself() -> None:
    """Not even the boot's number."""
    look = Seen("s1", disk="/mnt/durable: is no mount point", numbered=False)
    assert line(look) == f'{WAIT}disk why="/mnt/durable: is no mount point"'
    assert (planned(look).act, planned(look).news, planned(look).busy) == (None, None, False)


def test_the_boot_gets_its_number_first() -> None:
    """Also without a run."""
    plan = planned(Seen("s1", numbered=False))
    assert (plan.decision.line(), plan.act) == (f"{BEGIN}boot-number", "number")


def test_without_a_run_it_waits_for_a_person() -> None:
    """And is not busy: the machine may go off."""
    plan = planned(seen(run=None))
    assert plan.decision.line() == f'{WAIT}no-run why="spoteval run start NAME"'
    assert not plan.busy


def test_a_damaged_record_calls_a_person() -> None:
    """Nothing is guessed from it."""
    plan = planned(seen(run=Unreadable("run.json: damaged")))
    assert plan.decision.line() == f'{WAIT}run why="run.json: damaged"'
    assert plan.needs_you == "the run cannot be read: run.json: damaged"


def test_a_hold_says_its_reason_and_what_lifts_it() -> None:
    """The sentence of the manual, to the letter."""
    plan = planned(seen(hold="tp 4 -> 8 (ana)"))
    assert plan.decision.line() == (
        'agent=boot-resume decision=wait stage=guest-hold hold_reason="tp 4 -> 8 (ana)"'
        ' why="rm /mnt/durable/spoteval/holds/guest"'
    )
    assert not plan.busy


@pytest.mark.parametrize(
    ("hold", "reason"),
    [("", '"none given"'), (Unreadable("holds/guest: I/O"), '"unreadable: holds/guest: I/O"')],
)
def test_a_touched_hold_and_an_unreadable_one_hold(hold: object, reason: str) -> None:
    """A zero-byte hold is a hold; what cannot be read is one."""
    assert f"stage=guest-hold hold_reason={reason} " in line(seen(hold=hold))


def test_while_an_interruption_is_under_way_nothing_starts() -> None:
    """Before the hold: the hook is at work now."""
    look = seen(draining=True, hold="x")
    assert line(look) == f'{WAIT}draining why="an interruption is under way"'


def test_an_intent_of_an_earlier_life_comes_before_everything() -> None:
    """Its hold is placed again, also under a guest hold and without a run; idle-guard may still end the machine."""
    look = seen(intents=(INTENT,), hold="x", run=None)
    plan = planned(look)
    assert plan.decision.line() == (
        f"{BEGIN}stop-intent ender=idle-guard hold=idle-20261201T030000-ab12"
        ' reason="idle for 1200 s"'
    )
    assert (plan.act, plan.busy) == ("owed old", False)
    under_way = planned(replace(look, work="owed old"))
    assert under_way.decision.line().startswith(f"{WAIT}stop-intent ender=idle-guard ")
    assert under_way.act is None


def test_a_store_that_is_away_is_asked_again_and_a_person_is_told() -> None:
    """At the pause it waits still, with the pause over it asks; nothing is resumed meanwhile."""
    failed = State(failed={"owed old": ("timeout:20s", mark(9.9))})
    plan = planned(seen(intents=(INTENT,)), failed)
    assert plan.decision.line().endswith('why="tried again every 10 s: timeout:20s"')
    assert (plan.act, plan.needs_you) == (None, "stop-intent: timeout:20s")
    again = State(failed={"owed old": ("timeout:20s", mark(10))})
    assert planned(seen(intents=(INTENT,)), again).act == "owed old"


@pytest.mark.parametrize(
    ("change", "stage"),
    [
        ({"proved": True}, "settlement"),
        ({"withdrawn": True}, "settlement"),
        ({"session": "s1"}, "stop-intent"),
    ],
)
def test_only_what_is_owed_or_at_work_stops_the_way(change: dict[str, Any], stage: str) -> None:
    """A proved or withdrawn intent is over; one of this life means that the machine is about to go off."""
    look = seen(replace(RESUMED, settled=False), intents=(replace(INTENT, **change),))
    assert f"stage={stage}" in line(look)


def test_unreadable_intents_are_intents() -> None:
    """Unknown is not none."""
    assert line(seen(intents=Unreadable("enders: I/O"))) == f'{WAIT}stop-intent why="enders: I/O"'


def test_the_claim_is_waited_for_once() -> None:
    """Claimed, or asked for in vain: the run resumes; a store that is away only keeps it from publishing."""
    look = seen(Stages(), claimed=False)
    assert line(look) == f"{WAIT}epoch"
    assert line(look, State(epoch_tried=True)) == f"{BEGIN}resume"


def test_a_copied_disk_waits_for_a_person() -> None:
    """Also where the run works already: it is said, and nothing new is started."""
    plan = planned(seen(), State(forked="forked: epoch 3"))
    assert plan.decision.line() == f'{WAIT}disk-forked why="forked: epoch 3"'
    assert plan.needs_you is not None


def test_resuming_is_an_event_before_anything_is_done() -> None:
    """The market, the report and the restarter know it by that."""
    plan = planned(seen(Stages()))
    assert plan.news is not None
    assert plan.news.kind == BEGAN


def test_strangers_in_the_runs_unit_are_removed() -> None:
    """This life did not start them. Where nobody can tell, nothing is started."""
    plan = planned(seen(members=2))
    assert (plan.decision.line(), plan.act) == (f"{BEGIN}orphans processes=2", "orphans")
    blind = seen(members=Unreadable("cgroup: no"))
    assert line(blind) == f'{WAIT}run-unit why="cgroup: no"'


def test_what_was_cut_is_settled_before_completeness_is_judged() -> None:
    """A run that is complete still settles its last interruption."""
    plan = planned(seen(replace(RESUMED, settled=False), complete=True))
    assert (plan.decision.line(), plan.act) == (f"{BEGIN}settlement", "settle")


def test_a_complete_run_is_end_handlers() -> None:
    """By the witness, or by the harness's own files while the witness lags; not busy."""
    plan = planned(seen(complete=True))
    assert plan.decision.line() == f'{WAIT}complete run=swe why="the end is end-handler\'s"'
    assert not plan.busy
    lagging = line(seen(replace(RESUMED, unfinished=0)))
    assert lagging.startswith(f'{WAIT}complete run=swe why="nothing is left to run; ')
    assert "stage=server" in line(seen(replace(RESUMED, unfinished=1)))
    unknown = line(seen(complete=Unreadable("intended.json: damaged")))
    assert unknown == f'{WAIT}complete why="intended.json: damaged"'


@pytest.mark.parametrize(("left_s", "stage"), [(1, "server"), (0, "complete"), (-1, "complete")])
def test_nothing_is_started_from_the_deadline_on(left_s: float, stage: str) -> None:
    """A second before it, at it, after it."""
    plan = replace(PLAN, deadline=AT + timedelta(seconds=left_s))
    assert f"stage={stage}" in line(seen(record=replace(RECORD, plan=plan)))


def test_nothing_is_started_once_a_person_declared_the_run_over() -> None:
    """Also on the next boot: its end is end-handler's."""
    assert line(seen(finishing=True)).startswith(
        f'{WAIT}complete run=swe why="a person has declared it over; '
    )


def test_the_gate_opens_with_an_event_that_says_since_when_a_server_is_there() -> None:
    """The unit's own start where it is known, else now."""
    plan = planned(seen())
    assert plan.news is not None
    assert (plan.news.kind, plan.news.detail["at"]) == (GATE, "2026-12-01T03:00:00.000Z")
    early = planned(seen(served_since=AT - timedelta(seconds=4)))
    assert early.news is not None
    assert early.news.detail["at"] == "2026-12-01T02:59:56.000Z"


def test_a_server_that_is_not_ready_is_named_with_what_was_seen() -> None:
    """The sentence of the manual."""
    look = seen(replace(RESUMED, gate=mark(611)))
    plan = planned(look, looked(saw="connection refused"))
    assert plan.decision.line() == (
        "agent=boot-resume decision=wait stage=server name=policy elapsed_s=611 limit_s=4500"
        ' saw="connection refused, process alive"'
    )
    assert (plan.busy, plan.act) == (True, None)


def test_a_unit_without_processes_is_said() -> None:
    """Nothing will come of waiting for it."""
    look = seen(replace(RESUMED, gate=mark(1)), servers=(replace(JUDGE, name="policy"),))
    assert 'saw="connection refused, no process in vllm-judge.service"' in line(look, looked())


@pytest.mark.parametrize(
    ("elapsed_s", "stage"), [(4500, "stage=server name=policy"), (4501, "stage=server why=")]
)
def test_a_late_server_gets_the_guest_hold(elapsed_s: float, stage: str) -> None:
    """At the limit it may still come; past it a person is called and the hold is placed."""
    plan = planned(seen(replace(RESUMED, gate=mark(elapsed_s))), looked())
    assert stage in plan.decision.line()
    late = elapsed_s > 4500
    assert plan.act == ("hold-guest" if late else None)
    text = "server policy is not ready after 4500 s: connection refused, process alive"
    assert plan.needs_you == (text if late else None)
    assert plan.busy is not late


def test_no_server_is_late_before_it_was_looked_at() -> None:
    """Started again past the limit, the agent knows nothing yet: it may have been away longer than the server."""
    look = seen(replace(RESUMED, gate=mark(4501)))
    assert (planned(look).act, planned(look).needs_you) == ("probe policy", None)


def test_a_server_that_answered_once_is_not_late() -> None:
    """The second look decides."""
    look = seen(replace(RESUMED, gate=mark(4501)))
    assert planned(look, looked(ready=1)).act == "probe policy"


def test_a_refused_key_waits_for_a_person_and_is_looked_at_seldom() -> None:
    """However long: no hold, no sign of work, and it goes on by itself once the key is right."""
    look = seen(replace(RESUMED, gate=mark(9000)))
    plan = planned(look, looked(saw="models 401: the key is refused", refused=True))
    assert plan.needs_you == "server policy: models 401: the key is refused"
    assert (plan.act, plan.busy) == (None, False)
    old = looked(saw="models 401", refused=True, at=mark(10))
    assert planned(look, old).act == "probe policy"


@pytest.mark.parametrize(
    ("waited_s", "ago_s", "ready", "due"),
    [
        (5, 0.9, 0, False),
        (5, 1.0, 0, True),
        (60, 5.9, 0, False),
        (60, 6.0, 0, True),
        (3000, 9.9, 0, False),
        (3000, 10.0, 0, True),
        (3000, 0.0, 1, True),
    ],
)
def test_looks_grow_rare_while_a_load_takes_long(
    waited_s: float, ago_s: float, ready: int, due: bool
) -> None:
    """Every second at first, a tenth of the time waited then, ten seconds at most; at once after a good one."""
    look = seen(replace(RESUMED, gate=mark(waited_s)))
    plan = planned(look, looked(ready, at=mark(ago_s)))
    assert plan.act == ("probe policy" if due else None)


def test_one_look_at_a_time_and_every_server_counts() -> None:
    """The second is looked at while the first is ready; a look under way is not doubled."""
    look = seen(replace(RESUMED, gate=mark(1)), servers=(SERVER, JUDGE))
    plan = planned(look, looked(ready=2))
    assert (plan.act, plan.decision.pairs["name"]) == ("probe judge", "judge")
    assert planned(replace(look, work="probe judge"), looked(ready=2)).act is None


def test_preflight_is_run_where_there_is_one() -> None:
    """Bounded; what it finds is for a person, under a guest hold."""
    plan = replace(PLAN, preflight=("/check.sh",))
    look = seen(HEALTHY, record=replace(RECORD, plan=plan))
    assert (line(look), planned(look).act) == (f"{BEGIN}preflight limit_s=300", "preflight")
    failed = State(failed={"preflight": ("/check.sh: exit 1: no GPU", mark(500))})
    found = planned(look, failed)
    assert (found.act, found.needs_you) == (
        "hold-guest",
        "preflight failed: /check.sh: exit 1: no GPU",
    )
    assert "stage=run-start" in line(seen(replace(HEALTHY, preflight=True)))


def test_the_start_is_an_event_and_then_a_touched_file() -> None:
    """What is begun is on the disk before it begins; asked once, then waited for."""
    plan = planned(seen(HEALTHY))
    assert (plan.decision.line(), plan.act) == (f"{BEGIN}run-start run=swe", "start-run")
    assert plan.news is not None
    assert plan.news.kind == RUN_ASKED
    asked = replace(HEALTHY, asked=mark(2), ours=True)
    waiting = planned(seen(asked))
    assert (waiting.decision.line(), waiting.act) == (f"{WAIT}run-start elapsed_s=2", None)


def test_a_run_of_ours_is_watched() -> None:
    """Closely until its first episode; without servers, settlement or gate in between."""
    stages = Stages(resumed=True, ours=True, asked=mark(9), started=mark(8))
    first = planned(seen(stages, members=3))
    assert first.decision.line() == f"{WAIT}first-episode run=swe processes=3 elapsed_s=8"
    running = planned(seen(replace(stages, first_episode=True), members=3))
    assert running.decision.line() == f"{WAIT}running run=swe processes=3 elapsed_s=8"
    assert (first.busy, running.busy, first.next_s < running.next_s) == (True, False, True)
    complete = line(seen(stages, members=3, complete=True))
    assert complete.startswith(f"{WAIT}complete run=swe")


@pytest.mark.parametrize(
    ("fails", "word", "act"),
    [(0, "begin", "start-run"), (3, "begin", "start-run"), (4, "wait", None)],
)
def test_a_run_is_started_again_three_times(fails: int, word: str, act: str | None) -> None:
    """The third again is done, the fourth refused: a person looks."""
    stages = replace(HEALTHY, fails=fails, gone=mark(1000), ours=True)
    plan = planned(seen(stages))
    assert (plan.decision.word, plan.act) == (word, act)
    if act is None:
        assert plan.decision.line() == (
            f'{WAIT}run-fails ends=4 why="journalctl -u spoteval-run; then touch and rm'
            ' /mnt/durable/spoteval/holds/guest"'
        )
        assert plan.needs_you == "run swe ended 4 times without being complete"
        assert not plan.busy


@pytest.mark.parametrize(("fails", "pause_s"), [(1, 5), (2, 30), (3, 120)])
def test_there_is_a_pause_before_each_again(fails: int, pause_s: float) -> None:
    """Longer each time; at its end it is over."""
    early = replace(HEALTHY, fails=fails, gone=mark(pause_s - 1), ours=True)
    assert line(seen(early)) == (
        f'{WAIT}run-pause ends={fails} left_s=1 why="it ended without being complete"'
    )
    assert planned(seen(replace(early, gone=mark(pause_s)))).act == "start-run"


@pytest.mark.parametrize("work", ["settle", "orphans", "preflight"])
def test_slow_work_is_not_begun_twice(work: str) -> None:
    """While it is under way the row waits, and says that work goes on."""
    plan = replace(PLAN, preflight=("/check.sh",))
    looks = {
        "settle": seen(replace(RESUMED, settled=False)),
        "orphans": seen(members=1),
        "preflight": seen(HEALTHY, record=replace(RECORD, plan=plan)),
    }
    found = planned(replace(looks[work], work=work))
    assert (found.decision.word, found.act, found.busy) == ("wait", None, True)
    other = planned(replace(looks[work], work="probe policy"))
    assert (other.act, other.decision.why) == (None, "probe policy is under way")


def test_the_way_from_boot_to_run_is_the_designs() -> None:
    """Each stage done, the next one is named."""
    looks = [
        (Stages(), State()),
        (Stages(resumed=True), State()),
        (RESUMED, State()),
        (replace(RESUMED, gate=NOW.mark), State()),
        (replace(RESUMED, gate=NOW.mark), State(facts=Facts())),
        (HEALTHY, State()),
    ]
    found = [planned(seen(stages), state).decision.pairs["stage"] for stages, state in looks]
    assert found == ["resume", "settlement", "server", "environment", "server", "run-start"]
    assert POLICY.restarts == 3
