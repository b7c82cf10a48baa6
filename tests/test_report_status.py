"""The status screen, to the character, and its JSON."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from event_story import told
from spoteval.config.grant import Grant
from spoteval.control.runfiles import Progress
from spoteval.episode import Attempt, Outcome
from spoteval.event import NEEDS_YOU, Event
from spoteval.hold import Hold
from spoteval.placement.spend import Spend
from spoteval.placement.stages import Restart
from spoteval.report.eta import Eta
from spoteval.report.holds import GUEST, KEEP_ALIVE, KILL_SWITCH, RESTARTER, FileHold, HoldsSeen
from spoteval.report.needs import Need, held_needs, merged, open_needs
from spoteval.report.overview import overview
from spoteval.report.rules import Counted, Rules, limits_line
from spoteval.report.status import STALE_GUEST_S, STALE_RESTARTER_S, Source, Status
from spoteval.report.status_lines import bar, screen
from spoteval.report.timeline import Piece
from spoteval.run import RunPlan, RunRecord
from spoteval.settings.money import Money
from spoteval.shape import Reading, Unreadable

NOW = datetime(2026, 12, 2, 7, 12, tzinfo=UTC)
BEGAN = datetime(2026, 12, 1, 20, 0, tzinfo=UTC)


def _attempts(count: int, outcome: Outcome, first: int = 0) -> list[Attempt]:
    return [Attempt(f"e/{n}", f"id{outcome}{n}", outcome) for n in range(first, first + count)]


def _progress() -> Progress:
    ended = [
        *_attempts(207, Outcome.COMPLETED),
        *_attempts(2, Outcome.MODEL_FAILURE, 207),
        *_attempts(3, Outcome.HARNESS_ERROR, 209),
    ]
    cut = _attempts(80, Outcome.PREEMPTION_INTERRUPTED)
    return Progress(tuple(f"e/{n}" for n in range(500)), tuple(ended), tuple(cut))


def _run(**plan: datetime) -> RunRecord:
    frozen = RunPlan("inspect", "fresh_budget", label="exploratory", **plan)  # type: ignore[arg-type]
    return RunRecord("swe-lite-q3", "gpu-1", 1, BEGAN, frozen)


def _pieces() -> tuple[Piece, ...]:
    hours = [("█", 0, 4), ("×", 4, 4), ("·", 4, 5), ("▒", 5, 6), ("█", 6, 11.2)]
    return tuple(
        Piece(cell, BEGAN + timedelta(hours=a), BEGAN + timedelta(hours=b)) for cell, a, b in hours
    )


FILES = (
    FileHold(RESTARTER, "/var/lib/spoteval/holds/gpu-1"),
    FileHold(GUEST, "/mnt/durable/spoteval/holds/guest"),
    FileHold(KEEP_ALIVE, "/mnt/durable/spoteval/holds/keep-alive"),
    FileHold(KILL_SWITCH, "/mnt/durable/spoteval/holds/kill-switch"),
)

STATUS = Status(
    at=NOW,
    instance="gpu-1",
    guest=Source(38.0, stale_s=STALE_GUEST_S),
    restarter=Source(12.0, stale_s=STALE_RESTARTER_S),
    holds=HoldsSeen("gpu-1", FILES, ()),
    run=_run(deadline=datetime(2026, 12, 4, 8, 0, tzinfo=UTC)),
    state="RUNNING",
    state_s=5100.0,
    progress=_progress(),
    in_flight=16,
    eta=Eta(NOW + timedelta(hours=19.8), NOW + timedelta(hours=34.8)),
    published=212,
    withheld=0,
    passed_s=38.0,
    preemptions=5,
    capacity_failures=1,
    pieces=_pieces(),
    restarts=tuple(
        Restart(BEGAN, {"S2": 60.0, "S3": 300.0, "S4": 180.0, "S5": 840.0, "S6": 60.0})
        for _ in range(5)
    ),
    spend=Spend(219.24, 226.4, "USD", 6, 11.6, 11.6, 11.6),
    rules=Rules(
        Grant(
            price_cap=Money(14.0, "USD", "hour"),
            spend=Money(600, "USD"),
            starts=60,
            until=datetime(2026, 12, 31, tzinfo=UTC),
        ),
        Counted(starts=7),
        "swe-lite-q3",
        2,
    ),
)

SCREEN = """\
swe-lite-q3  exploratory  gpu-1  RUNNING 1 h 25 min         Wed 02 Dec 07:12 UTC
  ok, nothing needs you                  facts: guest 38 s old, restarter 12 s

  episodes   212 finished · 16 in flight · 272 to go                 42 % of 500
             ████████████████▓░░░░░░░░░░░░░░░░░░░░░░  done Thu 03:00–18:00
             deadline Fri 08:00: 14–29 h to spare
  classes    completed 207 · model failure 2 · harness error 3 · interrupted 0
  attempts   212 ended · 80 cut by 5 preemptions (27 %) · fresh budget
  night      ████████████×···▒▒▒█████████████████
             20    22    00     02    04     06   █ work  ▒ restart  · off
  restarts   5 · median 24 min, of it server start 14 · 1 capacity failure
  published  212 of 212 · last pass 38 s ago · withheld 0
  spent      219–226 of 600 USD · 1.03–1.07 per episode · now 11.60 USD/h
  holds      restarter none · guest none · keep-alive none · kill switch none
  rules      failed starts 0 of 45 min · before healthy 0 of 2 · spend 38 %
  grant      cap 14.00 USD/h · starts 7 of 60 · until Thu 31 Dec 00:00
  assigned   swe-lite-q3, generation 2"""


def test_the_whole_screen() -> None:
    """Every line to the character, none wider than 80 columns."""
    assert "\n".join(screen(STATUS)) == SCREEN
    assert max(map(len, screen(STATUS))) <= 80


def test_what_a_dead_server_cut_is_not_the_preemptions() -> None:
    """It is counted apart, so that the share is that of the preemptions."""
    dead = [Attempt("e/9", "x", Outcome.HARNESS_ERROR, origin="model_server", cut=True)] * 4
    progress = _progress()
    both = replace(progress, cut=(*progress.cut, *dead))
    text = "\n".join(screen(replace(STATUS, progress=both)))
    assert "212 ended · 80 cut by 5 preemptions (27 %) · 4 cut by a dead model" in text
    alone = "\n".join(screen(replace(STATUS, progress=replace(progress, cut=tuple(dead)))))
    assert "212 ended · 4 cut by a dead model server" in alone


def test_an_empty_status_invents_nothing() -> None:
    """A subject of which nothing is known has no line."""
    files = tuple(FileHold(file.name, file.path, seen=False) for file in FILES)
    bare = Status(NOW, "gpu-1", Source(), Source(), HoldsSeen("gpu-1", files, ()))
    assert screen(bare) == [
        "no run  gpu-1  state not seen                               Wed 02 Dec 07:12 UTC",
        "  ok, nothing needs you              facts: guest not seen, restarter not seen",
        "",
        "  holds      not seen here: restarter, guest, keep-alive, kill switch",
        "  rules      the restarter counts: not seen from here",
    ]


def test_stale_facts_are_said_to_be_stale() -> None:
    """At the limit a fact is the present, one second past it is not, and the state is the last one seen."""
    for guest_s, restarter_s, stale in (
        (STALE_GUEST_S, STALE_RESTARTER_S, False),
        (STALE_GUEST_S + 1, STALE_RESTARTER_S + 1, True),
    ):
        old = replace(
            STATUS,
            guest=Source(guest_s, stale_s=STALE_GUEST_S),
            restarter=Source(restarter_s, stale_s=STALE_RESTARTER_S),
        )
        lines = screen(old)
        assert max(map(len, lines)) <= 80
        assert ("last seen RUNNING 1 h 5 min ago" in lines[0]) is stale
        assert ("  facts: guest STALE, 11 min old, restarter STALE, 1 h 5 min" in lines) is stale
        assert any("16 in flight 11 min ago" in line for line in lines) is stale
        assert any("now 11.60 USD/h" in line for line in lines) is not stale
        assert old.record()["facts"] == {
            "guest": {"age_s": guest_s, "here": False, "stale": stale},
            "restarter": {"age_s": restarter_s, "here": False, "stale": stale},
        }


def test_the_second_line() -> None:
    """What needs a person comes before what is waited for; a run that is over waits for nothing."""
    need = Need(NOW, "GPU changed H200 -> H100", "spoteval events")
    waiting = replace(STATUS, waiting="backoff: no capacity twice")
    assert waiting.second_line == "waiting: backoff: no capacity twice"
    over = replace(waiting, over=True, state="STOPPED")
    assert over.second_line == "ok, nothing needs you"
    needy = replace(waiting, needs=(need, need))
    assert screen(needy)[1:4] == [
        "  needs you: GPU changed H200 -> H100 → spoteval events",
        "  needs you: GPU changed H200 -> H100 → spoteval events",
        "  facts: guest 38 s old, restarter 12 s",
    ]


def test_complaint_26_what_runs_without_a_live_run_is_said() -> None:
    """On its own screen and among many: nobody finds by the bill that a machine was forgotten."""
    bare = replace(STATUS, run=None, progress=None, instance="gpu-9")
    says = "waiting: RUNNING and billed, and it has no run (spoteval stop gpu-9)"
    assert bare.second_line == says
    assert replace(STATUS, over=True).second_line.startswith(
        "waiting: RUNNING and billed, and its run is over"
    )
    assert overview([bare])[1] == f"gpu-9  RUNNING   no run  {says}"[:79] + "…"
    for state in ("STOPPED", "STARTING", None):
        assert replace(bare, state=state).second_line == "ok, nothing needs you"


def test_before_the_first_start() -> None:
    """Nothing is frozen yet: no share, no bar, no classes."""
    lines = screen(replace(STATUS, progress=Progress(None, (), ()), in_flight=None))
    assert lines[3] == "  episodes   0 finished · how many are intended is not known yet"
    assert not any(line.startswith("  classes") for line in lines)


def test_a_date_that_nobody_knows() -> None:
    """Said behind the bar, and the deadline is told from now."""
    lines = screen(replace(STATUS, eta=Unreadable("not before 10 episodes are finished")))
    assert lines[4].endswith("░  done: not measured yet")
    assert lines[5] == "             deadline Fri 08:00: in 2 d"
    assert screen(replace(STATUS, eta=None))[4].endswith("░")


def test_what_is_long_is_folded() -> None:
    """No line is wider than 80 columns, and no word is cut."""
    need = Need(NOW, "publication stuck 15 min: " + "403 AccessDenied " * 6, "spoteval check")
    hold = Hold("rule-1", "gpu-1", "why " * 40, "restarter", NOW)
    run = replace(_run(), name="r" * 64)
    seen = HoldsSeen("gpu-1", (replace(FILES[0], text="word " * 30), *FILES[1:]), (hold,))
    lines = screen(replace(STATUS, run=run, needs=(need, need), holds=seen))
    assert max(map(len, lines)) <= 80
    assert sum("r" * 64 in line for line in lines) == 1


def test_the_deadline_passes() -> None:
    """At the deadline it is now, a minute later it has passed."""
    for minutes, text in ((0, "in 0 s"), (-1, "passed 1 min ago")):
        run = _run(deadline=NOW + timedelta(minutes=minutes))
        late = replace(STATUS, run=run, eta=Unreadable("held"))
        assert screen(late)[5] == f"             deadline Wed {run.plan.deadline:%H:%M}: {text}"


def _hold_lines(holds: HoldsSeen) -> list[str]:
    """The screen down to its holds."""
    lines = screen(replace(STATUS, holds=holds))
    return lines[: next(n for n, line in enumerate(lines) if line.startswith("  rules"))]


def test_holds_are_shown_with_their_reasons() -> None:
    """Files by their text, objects by id; a store that cannot be read is said, not skipped."""
    held = (replace(FILES[0], text="tp 4 -> 8"), replace(FILES[1], text=""), *FILES[2:])
    hold = Hold("end-1", "gpu-1", "complete", "end-handler", NOW - timedelta(minutes=5))
    lines = _hold_lines(HoldsSeen("gpu-1", held, (hold,)))
    assert lines[-3:] == [
        '  holds      restarter "tp 4 -> 8" · guest placed · keep-alive none',
        "             · kill switch none",
        '             store end-1 "complete" (end-handler, 5 min ago)',
    ]
    long = replace(hold, id="end-20261201T052332-0a9f", reason="run swe-lite-q3 is over: complete")
    assert _hold_lines(HoldsSeen("gpu-1", held, (long,)))[-2:] == [
        "             store end-20261201T052332-0a9f (end-handler, 5 min ago)",
        '               "run swe-lite-q3 is over: complete"',
    ]
    wide = (replace(FILES[0], text="tp 4 -> 8, more key-value cache (ana)"), *FILES[1:])
    assert _hold_lines(HoldsSeen("gpu-1", wide, ()))[-2:] == [
        '  holds      restarter "tp 4 -> 8, more key-value cache (ana)" · guest none',
        "             · keep-alive none · kill switch none",
    ]
    away = _hold_lines(HoldsSeen("gpu-1", FILES, Unreadable("timeout:10s")))
    assert away[-1] == "             store not readable here: timeout:10s"


@pytest.mark.parametrize(
    ("finished", "in_flight", "intended", "text"),
    [
        (0, 0, 10, "░░░░░░░░░░"),
        (10, 0, 10, "██████████"),
        (99, 1, 100, "█████████▓"),
        (9, 1, 1000, "▓░░░░░░░░░"),
        (5, 5, 10, "█████▓▓▓▓▓"),
        (0, 0, 0, "░░░░░░░░░░"),
    ],
)
def test_the_bar(finished: int, in_flight: int, intended: int, text: str) -> None:
    """Only a complete run fills it; one that flies is seen."""
    assert bar(finished, in_flight, intended, 10) == text


def test_the_record_has_the_same_figures() -> None:
    """What the screen says, for programs."""
    found = STATUS.record()
    assert found["episodes"] == {"finished": 212, "in_flight": 16, "intended": 500}
    assert found["attempts"] == {"ended": 212, "cut": 80, "preemptions": 5}
    classes = found["classes"]
    assert isinstance(classes, dict)
    assert sum(classes.values()) == 500
    assert found["restarts"] == {
        "count": 5,
        "median_s": {"S2": 60.0, "S3": 300.0, "S4": 180.0, "S5": 840.0, "S6": 60.0},
        "capacity_failures": 1,
    }


def _need(seconds: float, source: str, text: str) -> Event:
    return replace(told(seconds, NEEDS_YOU), source=source, reason=text)


@pytest.mark.parametrize(
    ("counted", "limits", "line"),
    [
        (
            Counted(failing_s=1980.0, unhealthy=1),
            Grant(spend=None),
            "failed starts 33 of 45 min · before healthy 1 of 2 · spend no limit",
        ),
        (
            Counted(interrupted=2, finished=12),
            Grant(preemptions_before_healthy=None, spend=Money(100, "EUR")),
            (
                "failed starts 0 of 45 min · before healthy off · before 20 episodes 2 of 3"
                " · spend limit is in EUR"
            ),
        ),
        (
            Counted(interrupted=2, finished=20),
            Grant(failed_starts_s=None),
            "failed starts off · before healthy 0 of 2 · spend no limit",
        ),
        (Unreadable("state.json: damaged"), Grant(), "not known: state.json: damaged"),
    ],
)
def test_the_rules_line(counted: Reading[Counted], limits: Grant, line: str) -> None:
    """Each rule with how far it is; one that is off says so, and what is not known is not guessed."""
    assert " · ".join(Rules(limits, counted).words(STATUS.spend)) == line
    record = Rules(limits, counted).record(STATUS.spend)
    assert record["unknown"] == (counted.why if isinstance(counted, Unreadable) else None)


def test_the_limits_in_one_line() -> None:
    """As `run show` says them on the restarter host."""
    assert STATUS.rules is not None
    assert limits_line(STATUS.rules.limits) == (
        "cap 14.00 USD/h · spend 600 USD · starts 60 · failed starts 45 min"
        " · preemptions before healthy 2 · before 20 episodes 3 · until Thu 31 Dec 00:00"
    )
    off = Grant(failed_starts_s=None, preemptions_before_episodes=None)
    assert limits_line(off) == (
        "no price cap · no spend limit · failed starts off · preemptions before healthy 2"
    )


def test_many_instances_are_a_line_each() -> None:
    """Those that need somebody first, and no line is wider than the screen."""
    need = Need(NOW, "GPU changed H200 -> H100", "spoteval events")
    found = [
        replace(STATUS, instance="gpu-1"),
        replace(STATUS, instance="gpu-2", waiting="backoff: no capacity twice"),
        replace(STATUS, instance="gpu-10", needs=(need,)),
        replace(STATUS, instance="gpu-4", run=None, progress=None, state=None),
    ]
    assert overview(found) == [
        "4 instances, 1 need you  (spoteval status NAME shows one)",
        "gpu-10  RUNNING   swe-lite-q3 212/500  needs you: GPU changed H200 -> H100 → sp…",
        "gpu-2   RUNNING   swe-lite-q3 212/500  waiting: backoff: no capacity twice",
        "gpu-1   RUNNING   swe-lite-q3 212/500  ok, nothing needs you",
        "gpu-4   not seen  no run  ok, nothing needs you",
    ]


def test_a_need_is_open_until_something_overtakes_it() -> None:
    """The restarter's until its next other event, an agent's until the guest went on."""
    silent = _need(10, "restarter", "the provider has said nothing")
    assert [need.text for need in open_needs([silent], None)] == ["the provider has said nothing"]
    assert open_needs([silent, told(11, "running")], None) == ()
    gate = _need(10, "boot-resume", "server: refused")
    assert len(open_needs([gate, told(11, "running")], None)) == 1
    went_on = replace(told(12, "run-started"), source="boot-resume")
    assert open_needs([gate, went_on], None) == ()


def test_a_need_outlives_the_hold_that_was_placed_over_it() -> None:
    """boot-resume holds the guest over a late server; another hold is a person's, who has seen to it."""
    late = _need(10, "boot-resume", "server policy is not ready")
    held = replace(told(11, "held"), source="boot-resume", reason="server policy is not ready")
    assert len(open_needs([late, held], None)) == 1
    assert open_needs([late, replace(held, reason="mending (ana)")], None) == ()
    assert open_needs([late, held, replace(held, kind="healthy")], None) == ()


def test_a_need_with_a_topic_is_open_until_it_is_cleared() -> None:
    """Other events of the restarter do not end it, nor does the clearing of another topic."""
    store = replace(_need(10, "restarter", "no start"), detail={"topic": "store", "command": "x"})
    other = replace(told(12, "cleared"), detail={"topic": "provider"})
    assert [need.command for need in open_needs([store, told(11, "running"), other], None)] == ["x"]
    assert open_needs([store, replace(other, detail={"topic": "store"})], None) == ()


def test_a_hold_that_no_person_placed_needs_one() -> None:
    """A rule's always, an idle machine's while its run is not over; a person's and the end's do not."""
    holds = [
        Hold(name, "gpu-1", "why", by, NOW)
        for name, by in (
            ("rule-1", "restarter"),
            ("idle-1", "idle-guard"),
            ("end-1", "end-handler"),
            ("operator-1", "ana"),
        )
    ]
    found = held_needs("gpu-1", holds, over=False, now=NOW)
    assert [(need.text, need.command) for need in found] == [
        ("held by rule: why", "spoteval hold release gpu-1"),
        ("held by idle-guard: why", "spoteval hold release gpu-1"),
    ]
    assert len(held_needs("gpu-1", holds, over=True, now=NOW)) == 1


def test_what_a_hold_says_already_is_not_said_twice() -> None:
    """A rule reports and holds in the same words; other reports stand beside it."""
    hold = Need(NOW, "held by rule: 45 min of failed starts", "spoteval hold release gpu-1")
    same, other = Need(NOW, "45 min of failed starts", "x"), Need(NOW, "store away", "x")
    assert merged([hold], [same, other]) == (hold, other)
    assert merged([], [same]) == (same,)


def test_a_stuck_publication_is_open_while_something_is_unpublished() -> None:
    """No event says that it works again; that nothing is left does."""
    stuck = _need(10, "publication-follower", "publication stuck 15 min")
    later = replace(told(12, "first-episode"), source="boot-resume")
    assert [len(open_needs([stuck, later], left)) for left in (9, None, 0)] == [1, 1, 0]


def test_the_same_words_count_once() -> None:
    """Since they were first said."""
    found = open_needs([_need(5, "a", "x"), _need(9, "a", "x"), _need(9, "a", "y")], None)
    assert [(need.since.second, need.text) for need in found] == [(5, "x"), (9, "y")]


def test_what_was_cut_for_good_is_not_to_go() -> None:
    """Under the settlement "none" it is neither finished nor waited for."""
    known = _progress()
    cut = tuple(replace(item, key=f"e/{300 + at}", final=True) for at, item in enumerate(known.cut))
    status = replace(STATUS, progress=replace(known, cut=cut))
    assert status.closed == 80
    assert "212 finished · 16 in flight · 80 cut for good · 192 to go" in "\n".join(screen(status))
