"""What users of neighbouring tools complain of, where interrupted work is counted, settled and run again."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cli_hosts import typed
from follower_world import RUN, Guest
from harness_runs import inspect_work, run_of
from spoteval.control.settle_plan import THEN, settle_plan
from spoteval.episode import CLASSES, NOT_RUN, Attempt, Outcome, Usage, classify, counted, tally
from spoteval.files import append_line, append_lines, write_record
from spoteval.harness.inspect import Inspect
from spoteval.interruption import OPERATOR, PREEMPTED
from spoteval.paths import RunPaths
from spoteval.publication.pull import pull
from spoteval.report.runs import record_lines
from spoteval.settlement import DISCLOSED, settle, settled_attempts
from spoteval_agents.publication_follower.cycle import cycle

CUT = Outcome.PREEMPTION_INTERRUPTED
KEYS = tuple(f"t/{name}/1" for name in "abcd")
POLICIES = ("fresh_budget", "none")


def attempt(key: str, number: int, outcome: Outcome | None, tokens: int = 0) -> Attempt:
    """One attempt."""
    return Attempt(key, f"{key}#{number}", outcome, number, usage=Usage(tokens, 1))


def tree(root: Path, policy: str = "fresh_budget") -> RunPaths:
    """A run of four: a ended, b was cut and ended then, c was cut, d never began."""
    paths = RunPaths(root)
    write_record(paths.record, run_of("directory", settlement=policy, executable="x").record())
    write_record(paths.intended, {"episodes": list(KEYS)})
    a, b, c, _ = KEYS
    ended = (attempt(a, 1, Outcome.COMPLETED), attempt(b, 2, Outcome.COMPLETED))
    append_lines(paths.finished, [item.record() for item in ended])
    for key, tokens in ((b, 5), (c, 7)):
        line = {"interruption": "i", "policy": policy, **attempt(key, 1, CUT, tokens).record()}
        append_line(paths.settlement, line)
    return paths


def test_complaint_57_a_sample_that_is_caught_half_written_waits(tmp_path: Path) -> None:
    """A log cut at any place is no evidence: nothing of it is published until it can be read whole."""
    guest = Guest(tmp_path, harness="inspect")
    logs = inspect_work(guest.paths.work, ["finished"])
    whole = (logs / "finished.eval").read_bytes()
    for size in (0, 1, len(whole) // 2, len(whole) - 1):
        (logs / "finished.eval").write_bytes(whole[:size])
        guest.later()
        cycle(guest.world, guest.memory)
        assert guest.keys("episodes/") == []
    (logs / "finished.eval").write_bytes(whole)
    guest.later()
    cycle(guest.world, guest.memory)
    assert sum(key.endswith("MANIFEST.json") for key in guest.keys("episodes/")) == 4


@pytest.mark.parametrize("policy", POLICIES)
def test_complaint_89_settle_selects_exactly_the_interrupted(tmp_path: Path, policy: str) -> None:
    """Of four episodes the one that was cut and has not ended since; under "none" each one that was cut."""
    paths = tree(tmp_path, policy)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    found = typed(("settle", "--dry-run", "--in", str(tmp_path), "--json"), {})
    assert found.code == 0, found.err
    rows = {row["episode"]: row for row in json.loads(found.out)["interrupted"]}
    assert list(rows) == ([KEYS[2]] if policy == "fresh_budget" else [KEYS[1], KEYS[2]])
    assert rows[KEYS[2]]["input_tokens"] == 7
    assert {row["then"] for row in rows.values()} == {THEN[policy]}
    told = typed(("settle", "--dry-run", "--in", str(tmp_path)), {})
    assert KEYS[2] in told.out
    assert "Nothing was changed" in told.out
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert paths.settlement.exists()


def test_complaint_89_from_the_records_that_the_store_has(tmp_path: Path) -> None:
    """What was pulled says the same as the disk: two cut of five, whether their lines are written yet or not."""
    guest = Guest(tmp_path, harness="inspect")
    inspect_work(guest.paths.work, ["cancelled"])
    guest.later()
    cycle(guest.world, guest.memory)
    pull(guest.store, RUN, tmp_path / "pulled")
    plans = [
        settle_plan(guest.record, paths, Inspect().survey(guest.record, paths.work), guest.clock())
        for paths in (guest.paths, RunPaths(tmp_path / "pulled"))
    ]
    assert plans[0] == plans[1]
    keys = [item.episode for item in plans[0].interrupted]  # type: ignore[union-attr]
    assert keys == ["demo/item-002/1", "demo/item-003/1"]


@pytest.mark.parametrize("policy", POLICIES)
def test_complaint_90_both_settlements_are_disclosed_and_keep_errors_errors(policy: str) -> None:
    """A sentence for each; an attempt that was cut is neither passed nor failed under any of them."""
    told = record_lines(run_of("directory", settlement=policy))
    assert any(policy in line and DISCLOSED[policy] in line for line in told)
    cut = attempt(KEYS[0], 1, None)
    (line,) = settle((cut,), (), "i", PREEMPTED, policy, run_of("directory").created)
    known = settled_attempts([line.record()])
    assert classify([KEYS[0]], known) == {KEYS[0]: CUT}
    again = attempt(KEYS[0], 2, Outcome.COMPLETED)
    is_run_again = policy == "fresh_budget"
    expected = Outcome.COMPLETED if is_run_again else CUT
    assert classify([KEYS[0]], [*known, again]) == {KEYS[0]: expected}


def test_complaint_91_a_used_up_budget_is_a_result_and_an_error_costs_its_own(
    tmp_path: Path,
) -> None:
    """One limit hit, one error, one plain end: each counted as what it is, and the run still has its figures."""
    inspect_work(tmp_path, ["odd"])
    survey = Inspect().survey(run_of("inspect"), tmp_path)
    classes = tally(classify(survey.intended or (), survey.attempts))
    assert {name: n for name, n in classes.items() if n} == {"completed": 2, "harness_error": 1}
    limited = [item for item in survey.attempts if item.limit]
    assert [(item.outcome, item.verdict is not None) for item in limited] == [
        (Outcome.COMPLETED, True)
    ]


HISTORIES = st.lists(
    st.tuples(
        st.sampled_from((*KEYS, "stray")),
        st.sampled_from((*Outcome, None)),
        st.sampled_from((PREEMPTED, OPERATOR)),
        st.integers(0, 1000),
    ),
    max_size=14,
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(history=HISTORIES, policy=st.sampled_from(POLICIES), twice=st.booleans())
def test_complaint_93_classes_partition_the_episodes_whatever_was_retried(
    history: list[tuple[str, Outcome | None, str, int]], policy: str, twice: bool
) -> None:
    """Any history of begins, ends and cuts, told once or twice: the episodes are the sum, no token is lost."""
    numbers: Counter[str] = Counter()
    ended: list[Attempt] = []
    lines: list[dict[str, object]] = []
    for key, outcome, cause, tokens in history:
        numbers[key] += 1
        begun = attempt(key, numbers[key], outcome, tokens)
        if begun.finished:
            ended.append(begun)
        else:
            cut = replace(begun, outcome=None)
            at = run_of("directory").created
            lines += [item.record() for item in settle((cut,), lines, "i", cause, policy, at)]
    known = (*ended, *settled_attempts(lines * (2 if twice else 1)))
    classes = classify(KEYS, known)
    assert tuple(classes) == KEYS
    assert sum(tally(classes).values()) == len(KEYS)
    assert set(tally(classes)) == set(CLASSES)
    assert sum(item.usage.input_tokens for item in known) == sum(item[3] for item in history)
    for key in KEYS:
        own = [item for item in known if item.key == key]
        first = counted(own)
        assert (classes[key] == NOT_RUN) is (first is None)
        if policy == "none" and own and first is not None:
            assert first.number == 1
