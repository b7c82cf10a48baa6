"""publication_follower.decide: the plan of a pass, attempt numbers, and the line."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoteval.episode import Attempt, Outcome
from spoteval.event import NEEDS_YOU
from spoteval.publication import keys
from spoteval.publication.own import manner_of
from spoteval_agents.publication_follower.decide import (
    SMALL_BYTES,
    chosen,
    decide,
    nothing,
    plan,
    stuck,
    unclaimed,
)
from spoteval_agents.publication_follower.numbers import numbers
from spoteval_agents.publication_follower.work import (
    Blob,
    Ident,
    Kind,
    Known,
    OnDisk,
    Plan,
    PutEpisode,
    Seen,
)
from spoteval_agents.publication_follower.work import (
    Outcome as Pass,
)

BLOB = Blob("0" * 64, 10)
DONE = Outcome.COMPLETED
CUT = Outcome.PREEMPTION_INTERRUPTED


def on_disk(name: str, size: int = 10) -> OnDisk:
    """A file of the run."""
    manner = manner_of(name) or manner_of("intended.json")
    assert manner is not None
    return OnDisk(name, Path("/r") / name, Ident(1, size, 5), manner)


def seen(*own: OnDisk, **more: object) -> Seen:
    """What the disk shows."""
    return replace(Seen("r", 1), own=own, **more)  # type: ignore[arg-type]


def names(found: Plan) -> list[str]:
    """The works of a plan, by name, in order."""
    return [work.name for work in found.works]


def ended(episode: str, native: str = "n", outcome: Outcome = DONE) -> Attempt:
    """An attempt as an adapter tells it."""
    return Attempt(episode, native, outcome)


def line(episode: str, number: int, native: str = "n") -> dict[str, object]:
    """A line of witness or settlement."""
    return Attempt(episode, native, DONE, number).record()


def test_the_order_of_a_pass() -> None:
    """Records and markers, episodes smallest first, logs, salvage, state files."""
    files = [on_disk("run.json"), on_disk("events.jsonl"), on_disk("intended.json")]
    files += [on_disk("interruptions/i/salvage/x"), on_disk("interruptions/i/opened.json")]
    found = plan(
        seen(
            *files,
            state=(on_disk("work/a.eval", 999),),
            attempts=(ended("big"), ended("small")),
            sizes={("big", "n"): 9, ("small", "n"): 8},
        ),
        Known(),
    )
    assert names(found) == [
        "interruptions/i/opened.json",
        "run.json",
        "small attempt 1",
        "big attempt 1",
        "events.jsonl",
        "interruptions/i/salvage/x",
        "intended.json",
        "work/a.eval",
    ]


def test_what_failed_comes_last() -> None:
    """It is tried again, and blocks nothing."""
    files = (on_disk("run.json"), on_disk("end.json"), on_disk("events.jsonl"))
    found = plan(seen(*files), Known(failed=frozenset(["run.json"])))
    assert names(found) == ["end.json", "events.jsonl", "run.json"]


def test_what_is_published_and_unchanged_is_no_work() -> None:
    """By key for what is never rewritten, by inode, size and time for what grows."""
    files = (on_disk("run.json"), on_disk("events.jsonl"), on_disk("end.json"))
    read = {"events.jsonl": files[1].ident, "work/a": on_disk("work/a").ident}
    put = {keys.record_key("r", 1): BLOB, keys.end_key("r"): BLOB}
    state = (on_disk("work/a"),)
    assert plan(seen(*files, state=state), Known(put, read=read)) == Plan(())
    grown = replace(files[1], ident=Ident(1, 11, 5))
    later = replace(state[0], ident=Ident(1, 10, 6))
    assert names(plan(seen(grown, state=(later,)), Known(put, read=read))) == [
        "events.jsonl",
        "work/a",
    ]


def test_a_new_generation_of_the_record_is_new_work() -> None:
    """What was allowed to change is published beside what it was."""
    known = Known({keys.record_key("r", 1): BLOB})
    assert names(plan(replace(seen(on_disk("run.json")), generation=2), known)) == ["run.json"]


def test_a_file_that_may_not_change_and_did_is_said() -> None:
    """The published bytes stay; a person is told which file it is."""
    found = plan(seen(on_disk("end.json", 11)), Known({keys.end_key("r"): BLOB}))
    assert found.works == ()
    assert found.complaints == ("end.json: changed after it was published (10 bytes then)",)


@pytest.mark.parametrize(("over", "due"), [(frozenset(), False), (frozenset(["i"]), True)])
def test_a_log_of_an_interruption_waits_for_its_end(over: frozenset[str], due: bool) -> None:
    """It is one object, so it is published when nobody appends to it any more."""
    found = plan(seen(on_disk("interruptions/i/steps.jsonl"), over=over), Known())
    assert (names(found) == ["interruptions/i/steps.jsonl"]) is due


@pytest.mark.parametrize("kind", [Kind.REGULAR, Kind.SOON])
@pytest.mark.parametrize(
    ("size", "over", "due"),
    [
        (SMALL_BYTES, frozenset(), True),
        (SMALL_BYTES + 1, frozenset(), False),
        (SMALL_BYTES + 1, frozenset(["i"]), True),
    ],
)
def test_large_salvage_waits_for_the_final_pass_or_the_end(
    kind: Kind,
    size: int,
    over: frozenset[str],
    due: bool,
) -> None:
    """Small salvage goes as it appears; it is in the backlog either way."""
    works = plan(seen(on_disk("interruptions/i/salvage/x", size), over=over), Known()).works
    assert len(works) == 1
    assert bool(chosen(works, kind, is_over=False)) is due
    assert chosen(works, Kind.FINAL, is_over=False) == works


@pytest.mark.parametrize(
    ("kind", "is_over", "due"),
    [
        (Kind.REGULAR, False, True),
        (Kind.FINAL, False, True),
        (Kind.SOON, False, False),
        (Kind.SOON, True, True),
        (Kind.LAST, False, False),
    ],
)
def test_the_harness_s_growing_log_goes_at_most_once_an_interval(
    kind: Kind,
    is_over: bool,
    due: bool,
) -> None:
    """A pass that was asked for in between leaves it out, unless it is final or the run has ended."""
    works = plan(seen(on_disk("intended.json"), state=(on_disk("work/a"),)), Known()).works
    found = [work.name for work in chosen(works, kind, is_over)]
    assert ("work/a" in found) is due
    assert ("intended.json" in found) is (kind is not Kind.LAST)


def test_the_last_pass_takes_records_and_logs() -> None:
    """The others have stopped and closed their records; there is no time for more."""
    files = [on_disk("run.json"), on_disk("events.jsonl"), on_disk("intended.json")]
    found = plan(seen(*files, attempts=(ended("a"),)), Known()).works
    assert [work.name for work in chosen(found, Kind.LAST, is_over=True)] == [
        "run.json",
        "events.jsonl",
    ]


@pytest.mark.parametrize("outcome", Outcome)
def test_only_an_attempt_that_ended_by_itself_is_published(outcome: Outcome) -> None:
    """A cut one is settled instead."""
    found = plan(seen(attempts=(ended("a", outcome=outcome),)), Known())
    assert bool(found.works) is outcome.by_itself


@pytest.mark.parametrize(
    ("witnessed", "published", "work"),
    [(False, False, True), (True, False, True), (False, True, True), (True, True, False)],
)
def test_an_episode_is_done_when_witnessed_and_published(
    witnessed: bool,
    published: bool,
    work: bool,
) -> None:
    """Either alone leaves something to do; the witness line, where there is one, is given along."""
    lines: tuple[dict[str, object], ...] = (line("a", 1),) if witnessed else ()
    known = Known({keys.manifest_key("r", "a", 1): BLOB} if published else {})
    works = plan(seen(attempts=(ended("a"),), witness=lines), known).works
    assert bool(works) is work
    for item in works:
        assert isinstance(item, PutEpisode)
        assert item.line == (lines[0] if witnessed else None)


def test_a_witnessed_attempt_whose_files_are_gone_is_published_from_its_line() -> None:
    """Its parts were put before the line was written."""
    works = plan(seen(witness=(line("a", 3),)), Known()).works
    assert names(Plan(works)) == ["a attempt 3"]


def test_one_attempt_told_twice_is_one() -> None:
    """An adapter that finds a sample in two logs names one begin."""
    assert len(plan(seen(attempts=(ended("a"), ended("a"))), Known()).works) == 1


@pytest.mark.parametrize(
    ("witness", "settlement", "known", "number"),
    [
        ([], [], {}, 1),
        ([line("a", 7)], [], {}, 7),
        ([line("a", 7)], [], {("a", "n"): 2}, 7),
        ([], [], {("a", "n"): 2}, 2),
        ([], [line("a", 1, "x")], {}, 2),
        ([], [line("a", 1, "x"), line("a", 1, "x")], {}, 2),
        ([], [line("a", 1, "x"), line("a", 2, "y")], {}, 3),
        ([line("a", 1, "x")], [line("a", 1, "x")], {}, 2),
        ([line("b", 1, "x")], [line("b", 2, "y")], {}, 1),
        ([], [line("a", 1, "n")], {}, 1),
        ([line("a", 2, "x")], [], {}, 3),
        ([], [], {("a", "x"): 1}, 2),
        ([], [{"episode": "a"}], {}, 1),
    ],
)
def test_the_number_of_an_attempt(
    witness: list[dict[str, object]],
    settlement: list[dict[str, object]],
    known: dict[tuple[str, str], int],
    number: int,
) -> None:
    """The witness's, else the journal's, else one more than the others; never one that another has."""
    look = seen(attempts=(ended("a"),), witness=tuple(witness), settlement=tuple(settlement))
    assert numbers(look, Known(numbers=known)) == {("a", "n"): number}


ATTEMPTS = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("uvwxyz")), max_size=10)
RECORDED = st.dictionaries(
    st.tuples(st.sampled_from("ab"), st.sampled_from("uvwxyz")), st.integers(1, 4), max_size=6
)


def unique(found: dict[tuple[str, str], int]) -> dict[tuple[str, str], int]:
    """Without those whose number another attempt of the episode has already."""
    taken: dict[tuple[str, int], tuple[str, str]] = {}
    for name, number in found.items():
        taken.setdefault((name[0], number), name)
    return {name: number for (_, number), name in taken.items()}


@given(told=ATTEMPTS, recorded=RECORDED)
def test_no_two_attempts_of_an_episode_share_a_number(
    told: list[tuple[str, str]], recorded: dict[tuple[str, str], int]
) -> None:
    """Whatever the witness knows and in whichever order they are told; asked again, the numbers are the same."""
    fixed = unique(recorded)
    look = seen(
        attempts=tuple(ended(*name) for name in told),
        witness=tuple(line(name[0], number, name[1]) for name, number in fixed.items()),
    )
    found = numbers(look, Known())
    assert found.keys() == set(told)
    everything = {**fixed, **found}
    assert len({(name[0], number) for name, number in everything.items()}) == len(everything)
    assert numbers(look, Known(numbers=found)) == found


def test_the_line_of_a_pass() -> None:
    """Keys, order and wording are what programs and people read."""
    done = Pass(3, 13, 812331, 16, 0, 0, took_s=0.41)
    assert decide(done, None).line() == (
        "agent=publication-follower decision=published episodes=3 files=13 bytes=812331 backlog=0 "
        "withheld=0 requests=16 took_ms=410"
    )
    audited = replace(done, audit_ms=43)
    assert decide(audited, None).line() == f"{decide(done, None).line()} audit_ms=43"


@pytest.mark.parametrize(
    ("done", "away_s", "word", "why"),
    [
        (Pass(), None, "idle", None),
        (Pass(files=1, requests=1), None, "published", None),
        (Pass(requests=3), None, "rebuilt", "the journal did not know what the store has already"),
        (Pass(files=1, requests=1), 1320.4, "published", "publishing again after 1320 s"),
        (Pass(errors=("store: timeout",), away=True), None, "store-away", "store: timeout"),
        (Pass(errors=("a: gone", "b: gone")), None, "failed", "a: gone (and 1 more)"),
        (Pass(episodes=1, errors=("a: gone",)), None, "published", "a: gone"),
        (Pass(complaints=("x.eval: torn",)), None, "idle", "x.eval: torn"),
    ],
)
def test_the_word_and_its_sentence(
    done: Pass, away_s: float | None, word: str, why: str | None
) -> None:
    """What failed is said before what should be known, and that before good news."""
    found = decide(done, away_s)
    assert found.word == word
    assert (found.why or "").startswith(why or "")
    assert (found.why is None) is (why is None)


def test_the_other_lines() -> None:
    """No disk, no run, no epoch: what is not done, and why."""
    assert nothing("no-disk", "/d: is no mount point").line() == (
        'agent=publication-follower decision=no-disk why="/d: is no mount point"'
    )
    assert unclaimed(4).line() == (
        "agent=publication-follower decision=wait stage=epoch left=4 "
        'why="nothing is published until this boot has claimed the run\'s next epoch"'
    )


def test_the_call_for_a_person() -> None:
    """What fails, since when, and what lies on the disk alone; one line whatever a server wrote."""
    event = stuck(
        Pass(errors=("403\nAccessDenied",), left=9),
        900,
        "gpu-1",
        "s",
        datetime(2026, 1, 1, tzinfo=UTC),
    )
    assert (event.kind, event.source) == (NEEDS_YOU, "publication-follower")
    assert event.reason == (
        "publication stuck 15 min: 403?AccessDenied; 9 episodes only on the disk"
    )
