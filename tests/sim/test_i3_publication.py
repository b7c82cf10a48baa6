"""I3: a finished episode is never lost, altered or doubled, wherever the follower is cut."""

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crash_points import Crash, CrashPoints
from follower_world import RUN, Clock, Guest
from spoteval.files import write_whole
from spoteval.publication.pull import pull
from spoteval.publication.verify import compare, verify
from spoteval_agents.publication_follower.cycle import cycle, last_cycle


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of passes: a process that dies keeps its pages, so syncing proves nothing here."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def copied(guest: Guest, root: Path) -> Guest:
    """The same guest, disk and store, somewhere else."""
    shutil.copytree(guest.root, root)
    return Guest(root, Clock(guest.clock.passed_s))


def finished(guest: Guest) -> dict[str, dict[str, bytes]]:
    """Every finished episode on the disk, with its files."""
    root = guest.paths.work / "episodes"
    return {
        folder.name: {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file()
        }
        for folder in sorted(root.iterdir() if root.is_dir() else ())
        if (folder / "episode.json").exists()
    }


def assert_published(guest: Guest, target: Path) -> None:
    """The store holds exactly the finished episodes, each once, and a pull brings the disk's bytes."""
    episodes = finished(guest)
    report = pull(guest.store.inner, RUN, target)
    assert (report.differences, report.unfinished) == ((), ())
    assert report.episodes == len(episodes)
    attempts = Counter(key.split("/")[1] for key in guest.keys("episodes/") if "MANIFEST" in key)
    assert attempts == Counter(dict.fromkeys(episodes, 1))
    for episode, files in episodes.items():
        folder = target / "episodes" / episode / "1"
        pulled = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file() and path.name != "MANIFEST.json"
        }
        assert pulled == files
    witnessed = Counter((line["episode"], line["native_id"]) for line in guest.witness())
    assert witnessed == Counter({(episode, f"{episode}#1"): 1 for episode in episodes})
    assert compare(guest.store.inner, RUN, guest.paths.root).differences == ()
    again = verify(target)
    assert getattr(again, "differences", again) == ()


def one_pass(guest: Guest) -> None:
    """A regular pass, when it is due."""
    guest.later()
    cycle(guest.world, guest.memory)


def grown(guest: Guest) -> None:
    """Something of each kind that a pass publishes, some of it for the second time."""
    guest.finish("1", {"log.txt": b"one", "deep/er.txt": b"two"})
    guest.finish("2", {"log.txt": b"a longer log than that of the first episode"})
    guest.log("events.jsonl", {"kind": "healthy", "session": guest.session})
    (guest.paths.work / "intended.json").write_text(json.dumps(["1", "2", "3", "4"]))
    folder = guest.paths.interruptions / "i-1"
    write_whole(folder / "opened.json", json.dumps({"format": 1, "session": "s0"}).encode())
    write_whole(folder / "steps.jsonl", b'{"step": "marker"}\n')


def prepared(root: Path) -> Guest:
    """A guest that has published something already, and has more to publish."""
    guest = Guest(root)
    guest.finish("3")
    one_pass(guest)
    grown(guest)
    guest.later()
    return guest


def points_of(root: Path, crash_points: CrashPoints) -> int:
    """How many effects one pass of a prepared guest has."""
    guest = prepared(root)
    return crash_points.count(lambda: cycle(guest.world, guest.memory))


@pytest.mark.slow
@pytest.mark.parametrize("life", ["restart", "reboot and changes"])
def test_a_pass_cut_anywhere_is_completed_by_the_next(
    tmp_path: Path, crash_points: CrashPoints, life: str
) -> None:
    """Cut before and after each write of the pass and of each put: one clean pass later all is as it must be."""
    points = points_of(tmp_path / "count", crash_points)
    assert points > 60
    for n in range(1, points + 1):
        guest = prepared(tmp_path / str(n))
        with pytest.raises(Crash), crash_points.crash_at(n):
            cycle(guest.world, guest.memory)
        guest.restart() if life == "restart" else guest.reboot("s2")
        if life == "reboot and changes":
            guest.finish("4")
            guest.log("events.jsonl", {"kind": "booted", "session": "s2"})
            (guest.paths.work / "intended.json").write_text(json.dumps(["1", "2", "3", "4", "5"]))
        one_pass(guest)
        assert_published(guest, tmp_path / f"out-{n}")
        guest.asked()
        one_pass(guest)
        assert guest.asked() == []


@pytest.mark.slow
def test_two_passes_cut_one_after_the_other(tmp_path: Path, crash_points: CrashPoints) -> None:
    """Cut, cut again at any point of the second try, then one clean pass."""
    points = points_of(tmp_path / "count", crash_points)
    for first in range(1, points + 1, 13):
        for second in range(1, points + 1, 17):
            guest = prepared(tmp_path / f"{first}-{second}")
            for n in (first, second):
                guest.later()
                try:
                    with crash_points.crash_at(n):
                        cycle(guest.world, guest.memory)
                except Crash:
                    pass
                guest.restart()
            one_pass(guest)
            assert_published(guest, tmp_path / f"out-{first}-{second}")


@pytest.mark.parametrize(("every", "zeros"), [(97, False), (389, True)])
def test_a_journal_cut_anywhere_costs_requests_alone(
    tmp_path: Path, every: int, zeros: bool
) -> None:
    """Torn or zero-filled: no episode is published twice, under its own name or another."""
    before = prepared(tmp_path / "g")
    cycle(before.world, before.memory)
    keys, witness = before.keys("episodes/"), before.witness()
    whole = (before.disk.publication / "journal.jsonl").read_bytes()
    for length in range(0, len(whole), every):
        guest = copied(before, tmp_path / f"{length}")
        journal = guest.disk.publication / "journal.jsonl"
        journal.write_bytes(whole[:length] + (b"\0" * (len(whole) - length) if zeros else b""))
        one_pass(guest)
        assert guest.keys("episodes/") == keys
        assert guest.witness() == witness
        assert_published(guest, tmp_path / f"out-{length}")
        guest.asked()
        one_pass(guest)
        assert guest.asked() == []


def test_a_witness_cut_anywhere_is_made_whole(tmp_path: Path) -> None:
    """An attempt that lost its line is witnessed again under the number that it had; nothing is published twice."""
    guest = prepared(tmp_path / "g")
    cycle(guest.world, guest.memory)
    keys = guest.keys("episodes/")
    whole = guest.paths.finished.read_bytes()
    for length in range(0, len(whole), 23):
        guest.paths.finished.write_bytes(whole[:length])
        guest.restart()
        one_pass(guest)
        assert guest.keys("episodes/") == keys
        assert_published(guest, tmp_path / f"out-{length}")


def test_journal_and_witness_lost_together(tmp_path: Path) -> None:
    """With both gone, numbers are counted as they were: the same keys, found to exist."""
    guest = prepared(tmp_path / "g")
    cycle(guest.world, guest.memory)
    keys = guest.keys("episodes/")
    guest.paths.finished.unlink()
    (guest.disk.publication / "journal.jsonl").unlink()
    guest.restart()
    one_pass(guest)
    assert guest.keys("episodes/") == keys
    assert_published(guest, tmp_path / "out")


def test_answers_that_are_lost_publish_nothing_twice(tmp_path: Path) -> None:
    """Every put of a pass arrives and none is acknowledged; then the store answers again."""
    guest = prepared(tmp_path / "g")
    guest.store.lost_answers = True
    for _ in range(9):
        one_pass(guest)
    guest.store.lost_answers = False
    one_pass(guest)
    one_pass(guest)
    assert_published(guest, tmp_path / "out")


@dataclass
class History:
    """A guest and what may happen to it, by name."""

    guest: Guest
    points: CrashPoints
    lives: int = 1
    done: dict[str, Callable[[int], None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Each event takes a number, which it may use."""
        self.done = {
            "finish": self.finish,
            "append": lambda n: self.guest.log("events.jsonl", {"kind": "k", "n": n}),
            "state": self.state,
            "pass": lambda _: one_pass(self.guest),
            "last": lambda _: last_cycle(self.guest.world, self.guest.memory),
            "crash": self.crash,
            "restart": lambda _: self.guest.restart(),
            "reboot": self.reboot,
            "away": lambda n: setattr(self.guest.store, "away", n % 2 == 0),
            "lost": lambda n: setattr(self.guest.store, "lost_answers", n % 2 == 0),
            "journal": self.lose_journal,
        }

    def finish(self, number: int) -> None:
        """An episode ends, which none does twice."""
        episode = str(number % 5)
        if episode not in finished(self.guest):
            self.guest.finish(episode, {"log.txt": b"x" * number})

    def state(self, number: int) -> None:
        """The harness writes its state file anew."""
        self.guest.paths.work.mkdir(parents=True, exist_ok=True)
        keys = [str(key) for key in range(number % 7)]
        (self.guest.paths.work / "intended.json").write_text(json.dumps(keys))

    def crash(self, number: int) -> None:
        """The pass is cut at one of its effects, if it has as many."""
        try:
            with self.points.crash_at(number):
                one_pass(self.guest)
        except Crash:
            pass
        self.guest.restart()

    def reboot(self, number: int) -> None:
        """Another life, which claims its epoch."""
        self.lives += 1
        self.guest.reboot(f"s{self.lives}")

    def lose_journal(self, number: int) -> None:
        """The journal is gone, or zeros, or it ends in a line whose append was cut; the follower begins anew.

        A line that was appended whole stays: nothing was put before it was durable.
        """
        path = self.guest.disk.publication / "journal.jsonl"
        if path.exists():
            whole = path.read_bytes()
            left = [b"", b"\0" * len(whole), whole + whole[: 1 + number % 60]]
            path.write_bytes(left[number % 3])
        self.guest.restart()


NAMES = [
    *("finish", "append", "state", "pass", "last", "crash", "restart", "reboot", "away", "lost"),
    *("journal", "crash", "finish"),
]


@pytest.mark.slow
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(events=st.lists(st.tuples(st.sampled_from(NAMES), st.integers(1, 130)), max_size=14))
def test_whatever_happens_the_store_ends_as_the_disk(
    tmp_path_factory: pytest.TempPathFactory,
    crash_points: CrashPoints,
    events: list[tuple[str, int]],
) -> None:
    """Any history of ends, changes, passes, cuts, outages and lost journals; then the store answers, and two passes."""
    root = tmp_path_factory.mktemp("history")
    history = History(Guest(root / "g"), crash_points)
    for name, number in events:
        history.done[name](number)
    history.guest.store.away = history.guest.store.lost_answers = False
    one_pass(history.guest)
    one_pass(history.guest)
    assert_published(history.guest, root / "out")
    history.guest.asked()
    one_pass(history.guest)
    assert history.guest.asked() == []
