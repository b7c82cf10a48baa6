"""publication_follower.cycle: passes over real files and a real store, with a clock that is moved by hand."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from follower_world import RUN, Guest
from spoteval.clock import Now
from spoteval.control import requests
from spoteval.control.requests import FINAL, SOON, Answer
from spoteval.files import append_line, read_lines, write_whole
from spoteval.harness.contract import Harness
from spoteval.publication.pull import pull
from spoteval.publication.verify import compare
from spoteval.settlement import settle
from spoteval.store.contract import Put, StoreError
from spoteval_agents.publication_follower import cycle as module
from spoteval_agents.publication_follower.cycle import CALL_AFTER_S, cycle, last_cycle


@pytest.fixture
def guest(tmp_path: Path) -> Guest:
    """A guest with one finished episode."""
    guest = Guest(tmp_path)
    guest.finish("1")
    return guest


def run(guest: Guest, seconds: float = 2.0) -> None:
    """Time passes, then a cycle."""
    guest.later(seconds)
    cycle(guest.world, guest.memory)


def ask(guest: Guest, kind: str, deadline_s: float = 10.0) -> str:
    """Another agent asks."""
    return requests.ask(guest.disk, kind, "shutdown-hook", deadline_s, guest.clock())


def answer(guest: Guest, request: str) -> Answer:
    """What it is answered."""
    found = requests.answer(guest.disk, request)
    assert isinstance(found, Answer), found
    return found


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The decision lines since the last call, without the priority."""
    return [text.partition(">")[2] for text in capsys.readouterr().err.splitlines()]


def words(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The decisions since the last call."""
    return [text.split("decision=")[1].split()[0] for text in lines(capsys) if "decision=" in text]


def test_a_finished_episode_is_published_within_one_pass(guest: Guest) -> None:
    """Parts first, then the witness, the manifest last (I11)."""
    run(guest)
    asked = [key for key in guest.asked() if "/episodes/" in key]
    assert [key.rpartition("/")[2] for key in asked] == ["episode.json", "log.txt", "MANIFEST.json"]
    assert [line["episode"] for line in guest.witness()] == ["1"]
    assert compare(guest.store, RUN, guest.paths.root).verified


def test_a_pass_without_news_asks_the_store_nothing(guest: Guest) -> None:
    """Not after the first pass, not after the follower began anew, not after a reboot."""
    run(guest)
    guest.asked()
    run(guest)
    guest.restart()
    run(guest)
    guest.reboot("s2")
    run(guest)
    assert guest.asked() == []


def test_a_pass_costs_what_is_new(guest: Guest) -> None:
    """One episode more: its parts, its manifest, and the line that the witness grew by."""
    run(guest)
    guest.asked()
    guest.finish("2")
    run(guest)
    assert len(guest.asked()) == 4


@pytest.mark.parametrize(("waited_s", "passes"), [(1.9, 0), (2.0, 1), (2.1, 1)])
def test_a_pass_is_made_when_it_is_due(guest: Guest, waited_s: float, passes: int) -> None:
    """Every two seconds, as this host file says."""
    run(guest)
    guest.asked()
    guest.finish("2")
    run(guest, waited_s)
    assert bool(guest.asked()) is bool(passes)


def test_an_episode_that_has_not_ended_is_left_alone(guest: Guest) -> None:
    """Its files are the harness's until it is finished."""
    write_whole(guest.paths.work / "episodes" / "2" / "log.txt", b"half")
    run(guest)
    assert {key.split("/")[1] for key in guest.keys("episodes/")} == {"1"}


def test_an_attempt_that_was_cut_is_counted_in_the_number(guest: Guest) -> None:
    """The second begin of an episode is attempt 2 in the store, as it is in the settlement's account."""
    run(guest)
    half = guest.paths.work / "episodes" / "2"
    write_whole(half / "log.txt", b"half")
    survey = guest.adapter("directory").survey(guest.record, guest.paths.work)
    cut = settle(survey.in_flight, [], "i-1", "preempted", "fresh_budget", guest.clock().wall)
    append_line(guest.paths.settlement, cut[0].record())
    (guest.paths.work / "cut").mkdir()
    (guest.paths.work / "cut" / "2").mkdir()
    half.rename(guest.paths.work / "cut" / "2" / "0001")
    guest.finish("2")
    run(guest)
    assert guest.has("episodes/2/2/MANIFEST.json")
    assert [(line["episode"], line["attempt"]) for line in guest.witness()] == [("1", 1), ("2", 2)]


def test_intended_episodes_are_frozen_once(guest: Guest) -> None:
    """From the harness's own header at the first look, and never again."""
    run(guest)
    first = guest.paths.intended.read_bytes()
    assert json.loads(first)["episodes"] == ["1", "2", "3", "4"]
    guest.amend["intended"] = ("1", "2")
    run(guest)
    assert guest.paths.intended.read_bytes() == first


def test_without_a_proved_disk_nothing_is_written_or_sent(
    guest: Guest, capsys: pytest.CaptureFixture[str]
) -> None:
    """I8. It is said once, and again when an hour has passed."""
    guest.disk.sentinel.unlink()
    before = sorted(guest.root.rglob("*"))
    for _ in range(3):
        run(guest)
    assert sorted(guest.root.rglob("*")) == before
    assert guest.asked() == []
    said = lines(capsys)
    assert len(said) == 1
    assert said[0].startswith("agent=publication-follower decision=no-disk why=")
    run(guest, 3599)
    assert len(lines(capsys)) == 1


def test_nothing_is_published_before_the_epoch_is_claimed(
    guest: Guest, capsys: pytest.CaptureFixture[str]
) -> None:
    """A boot that has claimed none publishes nothing and says what waits; the claim of an earlier boot is none."""
    run(guest)
    guest.asked()
    guest.finish("2")
    guest.session = "s2"
    guest.restart()
    words(capsys)
    request = ask(guest, FINAL)
    run(guest)
    assert guest.asked() == []
    assert lines(capsys)[0].startswith(
        "agent=publication-follower decision=wait stage=epoch left=1 why="
    )
    assert answer(guest, request).left == 1
    guest.claim()
    run(guest)
    assert guest.has("episodes/2/1/MANIFEST.json")


def test_without_a_run_there_is_nothing_to_publish(
    guest: Guest, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever asks is told so."""
    guest.disk.active.unlink()
    request = ask(guest, FINAL)
    run(guest)
    assert answer(guest, request).backlog == 0
    assert words(capsys) == ["no-run"]
    assert guest.asked() == []


def test_a_damaged_record_is_said_and_nobody_is_told_that_nothing_is_left(
    guest: Guest, capsys: pytest.CaptureFixture[str]
) -> None:
    """Unknown is not zero: the asker waits out its deadline."""
    guest.paths.record.write_bytes(guest.paths.record.read_bytes()[:-9])
    request = ask(guest, FINAL)
    run(guest)
    run(guest)
    assert requests.answer(guest.disk, request) is None
    assert words(capsys) == ["unreadable"]


def test_a_harness_without_adapter_is_said(
    guest: Guest, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line names it; the follower lives on."""

    def absent(name: str) -> Harness:
        raise ImportError(f"no module for {name}")

    guest.later()
    cycle(replace(guest.world, adapter=absent), guest.memory)
    assert words(capsys) == ["no-adapter"]


@pytest.mark.parametrize("kind", [SOON, FINAL])
def test_a_request_makes_a_pass_at_once(guest: Guest, kind: str) -> None:
    """It does not wait until the next is due, and is answered with what was done."""
    run(guest)
    guest.finish("2")
    request = ask(guest, kind)
    run(guest, 0.1)
    found = answer(guest, request)
    assert (found.published, found.left, found.backlog, found.withheld) == (1, 0, 0, 0)
    assert guest.has("episodes/2/1/MANIFEST.json")


def test_only_a_final_pass_copies_the_growing_log_between_intervals(guest: Guest) -> None:
    """A pass that was asked for counts it as backlog; the final one takes it."""
    run(guest)
    state = guest.paths.work / "intended.json"
    state.write_text('["1"]')
    request = ask(guest, SOON)
    run(guest, 0.1)
    assert answer(guest, request).backlog == 1
    assert guest.keys("state/work/") == []
    request = ask(guest, FINAL)
    run(guest, 0.1)
    assert answer(guest, request).backlog == 0
    assert guest.keys("state/work/") == ["state/work/intended.json/000001-000001"]


def test_a_final_pass_ends_at_its_deadline(guest: Guest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left is told, smallest episodes first; the answer comes in time."""
    for number, size in (("2", 300), ("3", 200), ("4", 100)):
        guest.finish(number, {"log.txt": b"x" * size})
    put = guest.store.put

    def slow(key: str, data: bytes) -> object:
        guest.later(0.5)
        return put(key, data)

    monkeypatch.setattr(guest.store, "put", slow)
    request = ask(guest, FINAL, deadline_s=5.0)
    asked_s = guest.clock.passed_s
    cycle(guest.world, guest.memory)
    found = answer(guest, request)
    assert guest.clock.passed_s - asked_s <= 5.0 + 3 * 0.5  # the work in hand is finished
    assert 0 < found.published < 4
    assert found.left == 4 - found.published
    assert found.backlog > found.left
    assert [line["episode"] for line in guest.witness()] == ["1", "4", "3"][: found.published]


def test_a_final_pass_tries_again_what_failed(
    guest: Guest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One error of the store must not leave an episode behind: there may be no next pass."""
    put, failed = guest.store.put, list[str]()

    def once(key: str, data: bytes) -> Put:
        if "MANIFEST" in key and not failed:
            failed.append(key)
            raise StoreError(f"{key}: 503 SlowDown")
        return put(key, data)

    monkeypatch.setattr(guest.store, "put", once)
    request = ask(guest, FINAL)
    run(guest)
    assert failed
    found = answer(guest, request)
    assert (found.published, found.left, found.backlog) == (1, 0, 0)


@pytest.mark.parametrize("kind", [SOON, FINAL])
def test_a_request_whose_time_is_over_is_answered_all_the_same(guest: Guest, kind: str) -> None:
    """Nobody waits for it any more; it must not stand in the way of others."""
    request = ask(guest, kind, deadline_s=1.0)
    run(guest, 1.0)
    assert answer(guest, request).published == 1


def test_a_final_request_cuts_a_regular_pass(guest: Guest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slice looks for it between two works, and the final pass begins where the slice ended."""
    guest.finish("2")
    put = guest.store.put
    asked: list[str] = []

    def asking(key: str, data: bytes) -> object:
        if key.endswith("MANIFEST.json") and not asked:
            asked.append(ask(guest, FINAL))
        return put(key, data)

    monkeypatch.setattr(guest.store, "put", asking)
    run(guest)
    assert len(guest.witness()) == 1
    cycle(guest.world, guest.memory)
    found = answer(guest, asked[0])
    assert (found.published, found.left, found.backlog) == (1, 0, 0)


@pytest.mark.parametrize("limit", [1, 100])
def test_a_slice_is_bounded_and_the_next_follows_at_once(
    guest: Guest, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    """So many bytes, then requests are looked for, then on; the interval is for passes, not for slices."""
    monkeypatch.setattr(module, "SLICE_BYTES", limit)
    guest.finish("2")
    guest.finish("3")
    guest.later()
    for _ in range(9):
        cycle(guest.world, guest.memory)
    assert len(guest.witness()) == 3
    assert compare(guest.store, RUN, guest.paths.root).verified


def test_a_signal_ends_a_slice_between_two_works(guest: Guest) -> None:
    """Not after the last of a thousand files."""
    guest.finish("2")
    world = replace(guest.world, interrupted=lambda: True)
    guest.later()
    cycle(world, guest.memory)
    assert guest.asked() == []


def test_one_bad_file_blocks_no_other(guest: Guest, capsys: pytest.CaptureFixture[str]) -> None:
    """Nor does one that the store refuses; both are named, tried again, and in the backlog."""
    for number in ("2", "3", "4"):
        guest.finish(number)
    guest.store.refused = ("episodes/2/",)
    vanishing = guest.paths.work / "episodes" / "3" / "log.txt"
    survey = guest.adapter("directory").survey(guest.record, guest.paths.work)
    vanishing.unlink()
    guest.amend["attempts"] = survey.attempts
    request = ask(guest, FINAL)
    run(guest)
    assert sorted(str(line["episode"]) for line in guest.witness()) == ["1", "4"]
    assert (answer(guest, request).published, answer(guest, request).left) == (2, 2)
    text = lines(capsys)[0]
    assert "decision=published episodes=2" in text
    assert "backlog=2" in text
    assert "(and 1 more)" in text
    guest.store.refused = ()
    vanishing.write_bytes(b"log of 3\n")
    run(guest)
    assert len(guest.witness()) == 4


def test_bad_files_at_the_front_do_not_look_like_a_store_that_is_away(guest: Guest) -> None:
    """Three keys that the store cannot hold; in the next pass they come last."""
    for number in ("a", "b", "c"):
        guest.finish(number, {"log.txt": b""})
    guest.finish("z", {"log.txt": b"larger than those"})
    guest.store.refused = ("episodes/a/", "episodes/b/", "episodes/c/")
    run(guest)
    run(guest)
    assert sorted(str(line["episode"]) for line in guest.witness()) == ["1", "z"]


def test_a_store_that_is_away_is_said_once_and_its_return_once(
    guest: Guest, capsys: pytest.CaptureFixture[str]
) -> None:
    """The backlog stays, few requests are wasted, and nothing is lost."""
    for number in ("2", "3", "4"):
        guest.finish(number)
    guest.store.away = True
    for _ in range(4):
        run(guest)
    said = lines(capsys)
    assert len(said) == 1
    assert said[0].startswith(
        "agent=publication-follower decision=store-away episodes=0 files=0 bytes=0 backlog="
    )
    assert len(guest.asked()) == 4 * 3
    guest.store.away = False
    run(guest)
    said = lines(capsys)
    assert len(said) == 1
    assert "decision=published episodes=4" in said[0]
    assert 'why="publishing again after 8 s"' in said[0]
    run(guest)
    assert words(capsys) == ["idle"]
    assert compare(guest.store, RUN, guest.paths.root).verified


@pytest.mark.parametrize(("failing_s", "calls"), [(CALL_AFTER_S - 2, 0), (CALL_AFTER_S, 1)])
def test_a_person_is_called_when_nothing_works_for_long(
    guest: Guest, failing_s: float, calls: int
) -> None:
    """Once, with what fails and how many episodes lie on the disk alone."""
    guest.store.away = True
    run(guest)
    for _ in range(3):
        run(guest, failing_s / 3)
    run(guest, 0.1)
    events = [
        line for line in read_lines(guest.paths.events).records if line["kind"] == "needs_you"
    ]
    assert len(events) == calls
    for event in events:
        assert str(event["reason"]).startswith(
            "publication stuck 15 min: store: timeout; 1 episodes"
        )


def test_idle_passes_are_one_line(guest: Guest, capsys: pytest.CaptureFixture[str]) -> None:
    """When it begins, and then one an hour."""
    run(guest)
    lines(capsys)
    for _ in range(5):
        run(guest)
    assert words(capsys) == ["idle"]
    run(guest, 3590)
    assert words(capsys) == []
    run(guest)
    assert words(capsys) == ["idle"]


def test_lines_are_kept_on_the_durable_disk(guest: Guest) -> None:
    """Once the disk is proved."""
    run(guest)
    kept = read_lines(guest.disk.root / "decisions" / "publication-follower.jsonl").records
    assert "decision=published" in str(kept[0]["line"])


def test_an_interruption_is_published_as_it_goes(guest: Guest) -> None:
    """The marker at once, small salvage at once, the log of its steps when it is closed."""
    folder = guest.paths.interruptions / "i-1"
    write_whole(folder / "opened.json", json.dumps({"format": 1, "session": "s1"}).encode())
    append_line(folder / "steps.jsonl", {"step": "marker"})
    write_whole(folder / "salvage" / "2" / "log.txt", b"half")
    run(guest)
    assert guest.keys("interruptions/") == [
        "interruptions/i-1/opened.json",
        "interruptions/i-1/salvage/2/log.txt",
    ]
    append_line(folder / "steps.jsonl", {"step": "close"})
    write_whole(folder / "closed.json", b'{"format": 1}')
    last_cycle(guest.world, guest.memory)
    assert guest.has("interruptions/i-1/steps.jsonl")
    assert guest.has("interruptions/i-1/closed.json")
    assert compare(guest.store, RUN, guest.paths.root).verified


def test_a_cut_short_interruption_is_published_by_the_next_life(guest: Guest) -> None:
    """Nobody writes to it any more."""
    folder = guest.paths.interruptions / "i-1"
    write_whole(folder / "opened.json", json.dumps({"format": 1, "session": "s1"}).encode())
    append_line(folder / "steps.jsonl", {"step": "marker"})
    run(guest)
    assert not guest.has("interruptions/i-1/steps.jsonl")
    guest.reboot("s2")
    run(guest)
    assert guest.has("interruptions/i-1/steps.jsonl")


def test_the_last_look_asks_no_harness_and_takes_two_seconds_at_most(guest: Guest) -> None:
    """What the others wrote while they stopped is published; an episode waits for the next boot."""
    run(guest)
    guest.finish("2")
    guest.log("events.jsonl", {"kind": "end-stop", "session": "s1"})
    guest.amend["attempts"] = None  # a survey would raise

    last_cycle(guest.world, guest.memory)
    assert len(guest.witness()) == 1
    pulled = guest.root / "pulled"
    pull(guest.store, RUN, pulled)
    assert (pulled / "events.jsonl").read_bytes() == guest.paths.events.read_bytes()


def test_every_generation_of_the_record_is_published(guest: Guest) -> None:
    """As it was when it was in force; a pull brings the newest."""
    run(guest)
    newer = replace(guest.record, generation=2)
    write_whole(guest.paths.record, json.dumps({"format": 1, **newer.record()}).encode())
    run(guest)
    assert guest.keys("record/") == ["record/000001.json", "record/000002.json"]
    assert compare(guest.store, RUN, guest.paths.root).verified


def test_a_file_that_changes_while_it_is_read_waits_for_the_next_pass(
    guest: Guest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a mixture nor an error."""
    path = guest.paths.work / "intended.json"
    path.write_text("[]")
    real, busy = os.fsync, [True]

    def fsync(descriptor: int) -> None:
        real(descriptor)
        if busy[0] and Path(f"/proc/self/fd/{descriptor}").readlink() == path:
            path.write_text(f'["{len(path.read_bytes())}"]')

    monkeypatch.setattr(os, "fsync", fsync)
    request = ask(guest, FINAL)
    run(guest)
    assert guest.keys("state/work/") == []
    assert answer(guest, request).backlog == 1
    busy[0] = False
    run(guest)
    key = f"runs/{RUN}/state/work/intended.json/000001-000001"
    assert guest.store.get(key) == path.read_bytes()


def test_a_link_out_of_the_run_is_not_followed(guest: Guest, tmp_path: Path) -> None:
    """An agent under evaluation has a shell: what it links to is not its own."""
    secret = tmp_path / "secret"
    secret.write_text("key")
    guest.finish("2", {"log.txt": b"x", "sub/y": b"y"})
    survey = guest.adapter("directory").survey(guest.record, guest.paths.work)
    folder = guest.paths.work / "episodes" / "2"
    (folder / "log.txt").unlink()
    (folder / "log.txt").symlink_to(secret)
    guest.amend["attempts"] = survey.attempts
    run(guest)
    assert [line["episode"] for line in guest.witness()] == ["1"]
    (folder / "log.txt").unlink()
    (folder / "log.txt").write_bytes(b"x")
    (folder / "sub" / "y").unlink()
    (folder / "sub").rmdir()
    (folder / "sub").symlink_to(tmp_path)
    (tmp_path / "y").write_text("key")
    run(guest)
    assert [line["episode"] for line in guest.witness()] == ["1"]


def beats(guest: Guest) -> list[dict[str, object]]:
    """The heartbeats in the store."""
    found = guest.store.inner.list(f"runs/{RUN}/heartbeat/")
    return [json.loads(guest.store.inner.get(item.key)) for item in found]


def test_a_heartbeat_tells_progress_on_change(guest: Guest) -> None:
    """Finished, in flight, intended and stage; nothing while nothing changes."""
    run(guest)
    run(guest)
    found = beats(guest)
    assert len(found) == 1
    picked = {key: found[0][key] for key in ("finished", "in_flight", "intended", "stage")}
    assert picked == {"finished": 1, "in_flight": 0, "intended": 4, "stage": "booted"}
    write_whole(guest.paths.work / "episodes" / "2" / "log.txt", b"half")
    run(guest)
    guest.log("events.jsonl", {"kind": "healthy", "session": "s1"})
    run(guest)
    assert [(item["in_flight"], item["stage"]) for item in beats(guest)[1:]] == [
        (1, "booted"),
        (1, "healthy"),
    ]


@pytest.mark.parametrize(("waited_s", "more"), [(299.9, 0), (300.0, 1)])
def test_a_heartbeat_comes_every_five_minutes(guest: Guest, waited_s: float, more: int) -> None:
    """Also when nothing changes."""
    run(guest)
    run(guest, waited_s)
    assert len(beats(guest)) == 1 + more


@pytest.mark.parametrize("lost", [False, True])
def test_a_heartbeat_s_number_is_never_used_twice(guest: Guest, lost: bool) -> None:
    """Not after a restart, and not when the note of the last number is gone."""
    run(guest)
    if lost:
        (guest.disk.publication / "heartbeat.json").unlink()
    guest.restart()
    run(guest)
    assert len(beats(guest)) == 2
    guest.reboot("s2")
    run(guest)
    sessions = [key.split("/")[1] for key in guest.keys("heartbeat/")]
    assert sessions == ["s1", "s1", "s2"]


def test_a_clock_that_jumps_stops_nothing(guest: Guest) -> None:
    """Wall time may step back; passes are counted by the other clock."""
    run(guest)
    guest.finish("2")
    inner = guest.clock

    def back() -> Now:
        now = inner()
        return Now(now.wall.replace(year=2020), now.mono_s, now.boot, synced=False)

    guest.later()
    cycle(replace(guest.world, clock=back), guest.memory)
    assert len(guest.witness()) == 2


def test_durable_first(guest: Guest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Evidence and its folders, then what is meant, then the bytes; the witness before the manifest."""
    guest.finish("1", {"log.txt": b"x", "sub/y": b"y"})
    real, put, done = os.fsync, guest.store.put, list[str]()

    def fsync(descriptor: int) -> None:
        real(descriptor)
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        if path.is_relative_to(guest.disk.disk):
            done.append(str(path.relative_to(guest.disk.root)))

    def counted(key: str, data: bytes) -> Put:
        done.append(key)
        return put(key, data)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(guest.store, "put", counted)
    run(guest)
    work, keys = f"runs/{RUN}/work/episodes", f"runs/{RUN}/episodes/1/1"
    first = done.index(f"{keys}/episode.json")
    evidence = ["1/log.txt", "1/sub/y", "1/sub", "1/episode.json", "1", ""]
    for name in [*(f"{work}/{name}".rstrip("/") for name in evidence), f"runs/{RUN}"]:
        assert name in done[:first], name
    last = max(index for index, name in enumerate(done[:first]) if name.startswith(work))
    assert "publication/journal.jsonl" in done[last:first]
    manifest = done.index(f"{keys}/MANIFEST.json")
    assert f"runs/{RUN}/finished.jsonl" in done[first:manifest]
    assert {f"{keys}/{name}" for name in ("log.txt", "sub/y")} <= set(done[first:manifest])
