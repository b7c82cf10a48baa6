"""The lab's own parts: its weather, its cache, its wheels' pins, and what its judges call ok."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lab import cache, root
from lab.first_hour import documented
from lab.inside import EVERY, results, script, verdict
from lab.orphans import MARK, lives, mark
from lab.person import Plan, guest_file, restarter_file
from lab.records import Entry
from lab.weather import Commanded, Seeded
from lab.windows import FOLLOWER, HOOK, NETWORK, RUN_UNIT, Taken, judged_order, judged_window
from lab.world import STORE
from spoteval.clock import Mark
from spoteval.config.guest import read_guest
from spoteval.config.restarter import read_restarter
from spoteval.interruption import Closed, Interruption, Opened
from spoteval.local.market import NEW, Market, Phase, answer_to_start, coming_event

AT = datetime(2026, 12, 1, 3, tzinfo=UTC)
SERVING = (*NEW, Phase("starting"), Phase("running"), Phase("resuming"), Phase("serving"))
NEXT_LIFE = (*SERVING, Phase("stopped", cause="preempted"), Phase("starting"), Phase("running"))


def test_commanded_weather_does_what_it_was_asked_once() -> None:
    """The life that goes on is taken, the next one is not; as many starts are refused as were asked for."""
    sky = Commanded()
    market = Market(0, sky)
    assert coming_event(market, SERVING) is None
    sky.take()
    event = coming_event(market, SERVING)
    assert event is not None
    assert (event.kind, event.at_s) == ("notice", 0.0)
    assert coming_event(market, NEXT_LIFE) is None
    sky.cut()
    event = coming_event(market, NEXT_LIFE)
    assert event is not None
    assert (event.kind, event.at_s) == ("plug", 0.0)
    sky.refuse(1)
    assert answer_to_start(market, NEW).status == 503
    assert answer_to_start(market, (*NEW, Phase("refused"), Phase("stopped"))).status == 200


@pytest.mark.parametrize("seed", range(20))
def test_seeded_weather_ends_and_strikes_once_while_resuming(seed: int) -> None:
    """The same for the same seed; with as many lives as were asked for it is over."""
    sky, other = Seeded(lives=3), Seeded(lives=3)
    history, struck = NEW, list[str]()
    for _ in range(10):
        history = (*history, Phase("starting"), Phase("running"))
        for phase in ("resuming", "serving"):
            history = (*history, Phase(phase))  # type: ignore[arg-type]  # two of the names
            strike = sky.strike(seed, history)
            assert strike == other.strike(seed, history)
            if strike is not None:
                struck.append(phase)
                history = (*history, Phase("stopped", cause="preempted"))
                break
    assert sorted(struck) == ["resuming", "serving", "serving"]
    assert struck[0] == "serving"  # a life that has finished something comes first


def test_the_cache_lies_where_it_is_told(tmp_path: Path) -> None:
    """An own place, else the user's cache directory; never the checkout."""
    assert cache.home({"SPOTEVAL_LAB_CACHE": str(tmp_path)}) == tmp_path
    assert cache.home({"XDG_CACHE_HOME": "/c"}) == Path("/c/spoteval/lab")
    assert cache.key("a", "b") != cache.key("ab")


def test_what_is_made_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what broke while it was made is made anew."""
    monkeypatch.setenv("SPOTEVAL_LAB_CACHE", str(tmp_path))
    made: list[Path] = []

    def breaks(place: Path) -> None:
        (place / "half").touch()
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        cache.made("x", breaks)
    assert cache.made("x", made.append) == cache.made("x", made.append) == tmp_path / "x"
    assert len(made) == 1
    assert not (tmp_path / "x" / "half").exists()


def test_the_harness_is_that_of_the_demo() -> None:
    """Both are pinned in one place."""
    pins = root.pins()
    text = (root.ROOT / "install.sh").read_text()
    assert [pin.partition("==")[0] for pin in pins] == ["inspect-ai", "openai"]
    assert all(pin.partition("==")[2] in text for pin in pins)


@pytest.mark.parametrize("window_s", [5, 120])
def test_the_host_files_can_be_read(tmp_path: Path, window_s: int) -> None:
    """By those who read them on the machines."""
    plan, path = Plan(window_s=window_s), tmp_path / "config.toml"
    path.write_text(guest_file(plan, STORE, "0b5e6f0e-6a0e-4b58-9a1c-2f1d3f7f2a11", 8000))
    assert read_guest(path).notice_window_s == window_s
    path.write_text(restarter_file(plan, STORE))
    assert [item.name for item in read_restarter(path).instances] == ["gpu-1"]


def taken(
    steps: Sequence[tuple[str, bool]], ended_s: float | None = 7.9, *, plug: bool = False
) -> Taken:
    """A preemption with these steps, whose hook ended then."""
    mark = Mark(AT, 0.0, "b")
    closed = Closed("i", mark, "unknown", killed=1, left=0)
    found = Interruption(Opened("i", "r", "s", mark, "shutdown"), closed)
    lines = [{"step": name, "ok": ok, "detail": "", "took_s": 0.1} for name, ok in steps]
    journal = [] if ended_s is None else [_said(ended_s, HOOK, "Stopped spoteval-shutdown-hook")]
    return Taken(8, AT, plug, found, json.loads(json.dumps(lines)), journal)


def _said(after_s: float, unit: str, text: str) -> Entry:
    return Entry(AT + timedelta(seconds=after_s), unit, text)


GOOD = (("marker", True), ("kill", True), ("salvage", True), ("final-pass", True))


def words(one: Taken) -> list[str]:
    """The words of the three lines."""
    return [line.word for line in judged_window(one)]


def test_a_window_is_ok_when_all_of_it_is() -> None:
    """At its limit it is; one past it is not, nor by the plug, nor without a word in the journal."""
    assert words(taken(GOOD)) == ["ok", "ok", "ok"]
    assert words(taken(GOOD, 8.0)) == ["ok", "ok", "ok"]
    assert words(taken(GOOD, 8.01)) == ["ok", "ok", "short"]
    assert words(taken(GOOD, plug=True)) == ["ok", "ok", "short"]
    assert words(taken(GOOD, None)) == ["ok", "ok", "short"]


@pytest.mark.parametrize(
    "steps",
    [
        (("marker", True), ("salvage", True), ("kill", True)),
        (("marker", True), ("kill", False), ("salvage", True)),
        (("marker", True), ("kill", True)),
        (("marker", True), ("salvage", True)),
    ],
)
def test_logs_are_copied_from_the_dead_alone(steps: Sequence[tuple[str, bool]]) -> None:
    """In another order, from what still lives, or not at all: short."""
    assert words(taken(steps))[1] == "short"


def test_no_steps_are_no_marker() -> None:
    """What is not on the disk was not shown."""
    assert words(taken(()))[0] == "short"


def ordered(*seconds: float | None) -> str:
    """The word for these moments: hook begins, run ends, hook ends, follower stops, network ends."""
    what = (
        (HOOK, "Stopping spoteval-shutdown-hook"),
        (RUN_UNIT, f"{RUN_UNIT}: Failed with result 'signal'."),
        (HOOK, "Stopped spoteval-shutdown-hook"),
        (FOLLOWER, "Stopping spoteval-publication-follower"),
        (NETWORK, "Stopped target network-online.target"),
    )
    both = zip(seconds, what, strict=True)
    journal = [_said(at, unit, text) for at, (unit, text) in both if at is not None]
    one = taken(GOOD, None)
    return judged_order(Taken(8, AT, False, one.found, one.steps, journal)).word  # noqa: FBT003


def test_the_order_is_that_of_the_journal() -> None:
    """Any two the wrong way round, or one that is missing, is short."""
    assert ordered(0.1, 2.0, 3.0, 3.1, 3.2) == "ok"
    assert ordered(2.1, 2.0, 3.0, 3.1, 3.2) == "short"
    assert ordered(0.1, 2.0, 3.2, 3.1, 3.3) == "short"
    assert ordered(0.1, 2.0, 3.0, 3.1, 3.05) == "short"
    assert ordered(0.1, None, 3.0, 3.1, 3.2) == "short"


def test_what_was_not_tried_is_not_denied() -> None:
    """One that worked is named; so is one of which nothing is known."""
    text = "denied\tattempt\tcat a\ndid\tattempt\tcat b\nwhole\n"
    found = results(text)
    assert verdict("read", ["cat a"], found).word == "ok"
    line = verdict("read", ["cat a", "cat b", "cat c"], found)
    assert (line.word, line.figure) == ("short", "1 of 3 attempts denied; cat b; cat c")


def test_every_attempt_is_in_the_script() -> None:
    """As a line of the shell that tells what became of it."""
    text = script()
    assert all(f"try attempt '{line}'" in text for lines in EVERY.values() for line in lines)
    assert text.rstrip().endswith("> ./tried")


def test_a_line_that_no_document_has_is_named() -> None:
    """The reader's own values do not count, all else does."""
    good = [
        "sudo spoteval setup guest --adopt --write-fstab --instance gpu-1",
        "sudo spoteval check",
    ]
    assert documented(good).word == "ok"
    line = documented(
        [*good, "export A=b; spoteval pull lab-1 ./lab-1 && spoteval conjure ./lab-1"]
    )
    assert (line.word, line.figure) == ("short", "3 lines; not there: spoteval conjure")


def test_a_machine_is_an_orphan_when_its_lab_is_gone() -> None:
    """A number that was given again is another process."""
    own = f"{MARK}={mark()}"
    assert lives(own)
    assert not lives(f"{own}0")
    assert not lives(f"{MARK}=")
