"""What a provider says instead of a state, and what it hints at: typed kinds, and advice in the line."""

from dataclasses import replace
from pathlib import Path

import pytest

from restarter_story import GRANT, POLICY, PRICE, look, mark, now, stopped
from restarter_world import Host
from spoteval.event import NEEDS_YOU
from spoteval.files import encoded, parse_record
from spoteval.provider.contract import ErrorKind, Observation, Reply, State, unanswered
from spoteval.shape import Table, Unreadable
from spoteval_agents.restarter.decide import decide, pause_s
from spoteval_agents.restarter.intent import answered
from spoteval_agents.restarter.observe import observe
from spoteval_agents.restarter.policy import REPORT_UNKNOWN_S
from spoteval_agents.restarter.seen import Seen
from spoteval_agents.restarter.state import Ask, Unknown
from spoteval_agents.restarter.state import State as Memory
from spoteval_agents.restarter.state_file import state_from, state_record


def refused(kind: ErrorKind, detail: str = "") -> Seen:
    """A look at which the provider said no."""
    return replace(look(None), provider=unanswered(kind, detail))


def after(memory: Memory, seen: Seen, at_s: float) -> Memory:
    """What is remembered after that look."""
    return observe(memory, seen, POLICY, now(at_s))[0]


@pytest.mark.parametrize(
    ("kind", "detail", "error", "says"),
    [
        ("auth", "401 Unauthorized", '"auth:401 Unauthorized"', "refuses to say (auth)"),
        ("quota", "", "quota", "refuses to say (quota)"),
        ("conflict", "", "conflict", "refuses to say (conflict)"),
        ("rate", "60 a minute", '"rate:60 a minute"', "refuses to say (rate)"),
        ("timeout", "20s", "timeout:20s", "does not answer"),
        ("unknown", "so it says", '"unknown:so it says"', "does not answer"),
    ],
)
def test_the_kind_stands_in_the_line(kind: ErrorKind, detail: str, error: str, says: str) -> None:
    """First in its error, and in the sentence where somebody can act on it."""
    seen = refused(kind, detail)
    memory = after(stopped(), seen, 0)
    assert memory.unknown is not None
    assert memory.unknown.kind == kind
    assert decide(memory, seen, POLICY, now(180)).line() == (
        f"decision=unknown instance=gpu-1 state=UNKNOWN last_state=STOPPED unknown_s=180 error={error}"
        f' repeats=1 holds=none why="nothing is done and nothing counted while the provider {says}"'
    )


def test_the_kind_is_that_of_the_last_refusal() -> None:
    """A silence that turns into a refusal is that refusal; one of no kind is of none."""
    memory = after(stopped(), refused("timeout", "20s"), 0)
    memory = after(memory, refused("auth"), 60)
    assert memory.unknown == Unknown(mark(0), "auth", 2, "auth")
    memory = after(memory, replace(look(None), provider=Unreadable("exit 3")), 120)
    assert memory.unknown == Unknown(mark(0), "exit 3", 3, "unknown")


def test_what_only_looks_like_a_kind_is_none() -> None:
    """The text is for people."""
    memory = after(stopped(), replace(look(None), provider=Unreadable("rate: 3")), 0)
    assert memory.unknown == Unknown(mark(0), "rate: 3", 1, "unknown")
    decision = decide(memory, look(None), POLICY, now(0))
    assert pause_s(decision, memory, POLICY) == POLICY.poll.every_s


def test_a_person_is_told_the_kind_once() -> None:
    """After a quarter of an hour, as of any silence."""
    memory, news = observe(stopped(), refused("auth", "401"), POLICY, now(0))
    heard = list(news)
    for at_s in (REPORT_UNKNOWN_S - 1, REPORT_UNKNOWN_S, REPORT_UNKNOWN_S + 60):
        memory, news = observe(memory, refused("auth", "401"), POLICY, now(at_s))
        heard += news
    (event,) = [event for event in heard if event.kind == NEEDS_YOU]
    assert event.reason is not None
    assert event.reason.endswith(": auth:401")


def test_gone_is_the_state_of_that_name() -> None:
    """Counted as one: a hold at the third look over three minutes, and not before."""
    memory, words = stopped(), []
    for at_s in (0, 60, 180):
        memory = after(memory, refused("gone", "404"), at_s)
        words.append(decide(memory, refused("gone", "404"), POLICY, now(at_s)))
    assert [decision.word for decision in words] == ["unknown", "unknown", "gone"]
    assert [decision.pairs["state"] for decision in words] == ["GONE"] * 3


# Advice


def hinted(advice: str | None, state: State = State.STOPPED) -> Seen:
    """A look at which the provider hinted at its room."""
    return replace(look(price=PRICE), provider=Observation(state, billed=False, advice=advice))


def failing(**changes: object) -> Memory:
    """Two failed starts."""
    found = stopped(failures=2, failing_since=mark(-1380), failed_at=mark(585))
    return replace(found, **changes)  # type: ignore[arg-type]


def test_advice_stands_in_a_wait_for_capacity() -> None:
    """As the contract of lines has it."""
    seen = hinted("preemptible:LOW")
    memory = after(failing(), seen, 600)
    assert decide(memory, seen, POLICY, now(600)).line() == (
        "decision=backoff instance=gpu-1 state=STOPPED capacity_failures=2 failing_s=1980"
        " rule_failed_starts_s=2700 wait_left_s=210 advice=preemptible:LOW holds=none"
        ' why="no capacity twice; 12 min until hold-and-report"'
    )


def test_without_advice_none_is_shown() -> None:
    """It is optional."""
    memory = after(failing(), hinted(None), 600)
    assert "advice" not in decide(memory, hinted(None), POLICY, now(600)).line()


def test_advice_lasts_until_another_or_until_it_runs() -> None:
    """What it says of a machine that runs is no matter of ours."""
    memory = after(failing(), hinted("LOW"), 600)
    memory = after(memory, hinted(None), 610)
    assert memory.advice == "LOW"
    memory = after(memory, hinted("HIGH"), 620)
    assert memory.advice == "HIGH"
    memory = after(memory, hinted("LOW", State.RUNNING), 630)
    assert memory.advice is None


def test_a_refused_start_may_bring_advice() -> None:
    """The answer of the call; one without leaves the last one."""
    memory = stopped(ask=Ask(mark(0)))
    full = Reply(ok=False, kind="capacity", detail="full", advice="preemptible:LOW")
    memory, _ = answered("start", memory, full, POLICY, now(1))
    assert memory.advice == "preemptible:LOW"
    memory, _ = answered("start", memory, Reply(ok=False, kind="capacity"), POLICY, now(2))
    assert memory.advice == "preemptible:LOW"


def test_both_survive_the_disk() -> None:
    """As they were; what an older version wrote has no kind and no advice."""
    memory = failing(advice="LOW", unknown=Unknown(mark(0), "rate:3", 2, "rate"))
    table = parse_record(encoded(state_record(memory, now(600))), "state.json")
    assert isinstance(table, Table)
    assert state_from(table, now(600)) == memory
    older = {key: value for key, value in table.values.items() if key != "advice"}
    unknown = {"since": mark(0).record(), "error": "rate:3", "repeats": 2}
    found = state_from(Table({**older, "unknown": unknown}), now(600))
    assert isinstance(found, Memory)
    assert (found.advice, found.unknown) == (None, Unknown(mark(0), "rate:3", 2, "unknown"))


def test_whole_cycles_show_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A start that brings no capacity: the hint is in the line of the wait."""
    host = Host(tmp_path, replace(POLICY, grant=GRANT))
    host.provider.reply = Reply(ok=False, kind="capacity", advice="preemptible:LOW")
    assert "backoff" in host.live(2000)
    assert any(" advice=preemptible:LOW " in line for line in capsys.readouterr().err.splitlines())
