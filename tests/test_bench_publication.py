"""The record of the publication bench: its parts stand beside each other as they should, and make the table."""

from dataclasses import replace
from pathlib import Path

import pytest

from bench import publication_main as main
from bench import publication_record as record
from bench.publication_bench import NEWS, Row
from bench.publication_judge import idle_row, memory_row, news_row
from parts import Parts

IDLE = Row("idle pass, 1,000 episodes", "1.00 ms CPU, 0 requests", "≤ 2 ms, 0 requests", good=True)
SOME = Row("20 new episodes among 1,000", "110 requests", "≤ 114 requests", good=False)


@pytest.fixture
def kept() -> Parts:
    """One seeded size, ours alone."""
    found = Parts(None, {"rounds": 3})
    record.keep(found, "seeded 1000", [IDLE, SOME], rss_mb=50.0)
    return found


def test_other_tools_stand_beside_a_seeded_size_or_are_said_not_to(kept: Parts) -> None:
    """They are a part of their own, which may be missing."""
    assert [one.goal.endswith("not run (--tools-at 1000))") for one in whole(kept)] == [True, True]
    others = {"idle": {"aws": "2.0 s"}, "news": {"aws": "7.0 s"}}
    record.keep(kept, "tools 1000", [], others=others)
    idle, some = whole(kept)
    assert (idle.others, some.others) == ({"aws": "2.0 s"}, {"aws": "7.0 s"})
    assert idle == replace(IDLE, others={"aws": "2.0 s"})


def whole(kept: Parts) -> list[Row]:
    """Every row but the last, which is about memory."""
    *rows, memory = record.whole(kept)
    assert memory.work == "resident memory of the follower"
    return rows


def test_a_size_that_was_published_first_has_its_rows_once(kept: Parts) -> None:
    """There the others were measured beside ours."""
    record.keep(kept, "idle 1000", [replace(IDLE, ours="2.00 ms CPU, 0 requests")])
    assert [one.ours for one in whole(kept)] == ["2.00 ms CPU, 0 requests", "110 requests"]


def test_the_table_is_written_between_its_marks(kept: Parts, tmp_path: Path) -> None:
    """Twice is as once; a goal that was missed says so; a page without marks is left alone."""
    page = tmp_path / "page.md"
    page.write_text(f"before\n{record.BEGIN}\nold\n{record.END}\nafter\n")
    table = record.markdown(kept, ["--size", "1000"])
    for _ in range(2):
        record.write_into(page, table)
    text = page.read_text()
    assert text.startswith(
        f"before\n{record.BEGIN}\n`tests/bench/publication --size 1000`, medians of 3"
    )
    assert text.endswith(f"{record.END}\nafter\n")
    assert "old" not in text
    assert "| 20 new episodes among 1,000 | 110 requests (missed) | – | – | – |" in text
    assert text.count("| idle pass") == 1
    page.write_text("nothing here")
    with pytest.raises(ValueError, match='no "<!-- table'):
        record.write_into(page, table)
    assert page.read_text() == "nothing here"


@pytest.mark.parametrize(
    ("cpu_ms", "requests", "asked", "audit_ms", "good"),
    [
        (2.0, 0, 1, 50.0, True),
        (2.01, 0, 1, 50.0, False),
        (2.0, 1, 1, 50.0, False),
        (2.0, 0, 2, 50.0, False),
        (2.0, 0, 1, 50.1, False),
    ],
)
def test_an_idle_pass_is_held_to_all_of_its_goal(
    cpu_ms: float, requests: int, asked: int, audit_ms: float, good: bool
) -> None:
    """At each bound, and one past it; one heartbeat is no part of a pass."""
    found = {"cpu_ms": cpu_ms, "requests": requests, "audit_ms": audit_ms}
    assert idle_row(10_000, found, asked, {}).good is good


@pytest.mark.parametrize(
    ("requests", "episodes", "durable_s", "good"),
    [
        (114, NEWS, 0.5, True),
        (115, NEWS, 0.5, False),
        (114, 19, 0.5, False),
        (114, NEWS, 0.51, False),
    ],
)
def test_news_are_held_to_requests_and_to_when_they_are_durable(
    requests: int, episodes: int, durable_s: float, good: bool
) -> None:
    """Files, manifests and four more."""
    files = 110 - episodes
    found = {"files": files, "episodes": episodes, "requests": requests, "durable_s": durable_s}
    assert news_row(100_000, [found] * 3).good is good


def test_memory_is_held_to_its_most_and_to_its_growth() -> None:
    """65 MB, 20 more."""
    assert memory_row({1_000: 45.0, 100_000: 65.0}).good
    assert not memory_row({1_000: 44.9, 100_000: 65.0}).good
    assert not memory_row({1_000: 60.0, 100_000: 65.1}).good


def test_parts_are_played_in_the_order_in_which_they_need_each_other() -> None:
    """One first publication for four of them; the other tools before the rows beside which they stand."""
    options = main._parser().parse_args(
        ["--size", "300", "--seeded", "300,900", "--tools-at", "900", "--rows", "news,seeded,final"]
    )
    assert main.wanted_of(options) == ["news 300", "tools 900", "seeded 300", "seeded 900", "final"]
