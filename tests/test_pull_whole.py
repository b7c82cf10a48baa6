"""Pull as a whole: what an episode left comes back as it was, and what was cut is gone on with."""

import errno
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from stat import S_IMODE

import pytest

from crash_points import Crash, CrashPoints
from spoteval.episode import Attempt, Extra, Outcome
from spoteval.publication.keys import manifest_key, part_key, record_key
from spoteval.publication.manifest import PartEntry, manifest_bytes, witness_line
from spoteval.publication.pull import Progress, PullRefused, pull
from spoteval.publication.target import LOCK, PULLING, RECORD
from spoteval.publication.verify import VerifyReport, verify, verify_store
from spoteval.shape import Unreadable
from spoteval.store.contract import Put, Stored
from spoteval.store.file import FileStore

RUN = "r1"
FILES = {
    "episode.json": (b'{"verdict": "C"}', 0o644),
    "bin/run.sh": (b"#!/bin/sh\n", 0o775),
    "secret.txt": (b"mine", 0o600),
    "closed/in.txt": (b"in a folder that nobody may write to", 0o444),
    "a name\twith\nall +%25 of it, ä": (b"odd", 0o644),
    "..hidden/.x": (b"dots", 0o644),
    "MANIFEST.json": (b"its own, not ours", 0o644),
    "empty": (b"", 0o644),
}
EXTRAS = (
    Extra("empty folder", "folder", 0o750),
    Extra("closed", "folder", 0o555),
    Extra("bin", "folder", 0o755),
    Extra("latest", "link", target="bin/run.sh"),
    Extra("away", "link", target="/nowhere/at all"),
    Extra("pipe", "special"),
)


class Counting:
    """A store that notes which keys were fetched."""

    def __init__(self, inner: FileStore) -> None:
        self.inner, self.url = inner, inner.url
        self.got: list[str] = []

    def put(self, key: str, data: bytes) -> Put:
        """Into the inner one."""
        return self.inner.put(key, data)

    def put_file(self, key: str, path: Path) -> Put:
        """Into the inner one."""
        return self.inner.put_file(key, path)

    def get(self, key: str) -> bytes:
        """From the inner one."""
        self.got.append(key)
        return self.inner.get(key)

    def list(self, prefix: str) -> Iterator[Stored]:
        """From the inner one."""
        return self.inner.list(prefix)


@pytest.fixture
def store(tmp_path: Path) -> Counting:
    """A run of three episodes, and its record."""
    (tmp_path / "store").mkdir()
    inner = FileStore(tmp_path / "store")
    inner.put(record_key(RUN, 1), b"{}")
    for episode in ("1", "2", "three / of them"):
        publish(inner, episode)
    return Counting(inner)


def publish(store: FileStore, episode: str) -> None:
    """As the follower does: parts, then the manifest."""
    parts = []
    for name, (data, mode) in FILES.items():
        store.put(part_key(RUN, episode, 1, name), data)
        parts.append(PartEntry(name, len(data), hashlib.sha256(data).hexdigest(), mode))
    attempt = Attempt(episode, f"{episode}#1", Outcome.COMPLETED, 1)
    line = witness_line(attempt, parts, EXTRAS)
    store.put(manifest_key(RUN, episode, 1), manifest_bytes(RUN, line))


def said(target: Path) -> list[str]:
    """The differences that verify names."""
    report = verify(target)
    assert isinstance(report, VerifyReport)
    return [str(item) for item in report.differences]


def test_pull_a_tree_comes_back_byte_for_byte(store: Counting, tmp_path: Path) -> None:
    """Bytes, modes, empty folders, links with their targets, odd names; a pipe is told of and not made."""
    target = tmp_path / "out"
    report = pull(store, RUN, target)
    assert (report.verified, report.episodes, len(report.left)) == (True, 3, 3)
    folder = target / "episodes/1/1"
    for name, (data, mode) in FILES.items():
        path = folder / ("%4DANIFEST.json" if name == "MANIFEST.json" else name)
        assert (path.read_bytes(), S_IMODE(path.stat().st_mode)) == (data, mode)
    for extra in EXTRAS:
        path = folder / extra.name
        if extra.kind == "folder":
            assert S_IMODE(path.stat().st_mode) == extra.mode
        elif extra.kind == "link":
            assert str(path.readlink()) == extra.target
        else:
            assert not path.exists()
    assert said(target) == []


@pytest.mark.parametrize(
    ("spoil", "line"),
    [
        (lambda f: (f / "empty").unlink(), "empty: missing"),
        (lambda f: (f / "empty").write_bytes(b"x"), "empty: differs: 1 bytes, pulled were 0"),
        (lambda f: (f / "secret.txt").write_bytes(b"nime"), "secret.txt: differs: sha256"),
        (lambda f: (f / "bin/run.sh").chmod(0o644), "run.sh: differs: mode 0644, pulled was 0775"),
        (lambda f: (f / "empty folder").rmdir(), "empty folder: missing: was a folder"),
        (lambda f: (f / "bin").chmod(0o700), "bin: differs: mode 0700, pulled was 0755"),
        (lambda f: (f / "latest").unlink(), "latest: missing: was a link"),
        (lambda f: (f / "more").write_text("x"), "more: extra: not pulled"),
        (lambda f: (f / "more").symlink_to("x"), "more: extra: not pulled"),
    ],
)
def test_pull_every_difference_is_named(
    store: Counting, tmp_path: Path, spoil: Callable[[Path], None], line: str
) -> None:
    """One thing is spoilt, one line says which."""
    pull(store, RUN, tmp_path / "out")
    spoil(tmp_path / "out/episodes/2/1")
    (found,) = said(tmp_path / "out")
    assert found.startswith("episodes/2/1/")
    assert line in found


def test_pull_a_pipe_in_the_place_of_a_file_is_no_file(store: Counting, tmp_path: Path) -> None:
    """Nobody waits for its other end."""
    pull(store, RUN, tmp_path / "out")
    path = tmp_path / "out/episodes/1/1/empty"
    path.unlink()
    os.mkfifo(path)
    assert said(tmp_path / "out") == ["episodes/1/1/empty: differs: no plain file"]


def test_pull_killed_anywhere_goes_on(
    store: Counting, tmp_path: Path, crash_points: CrashPoints
) -> None:
    """Dead at any effect on a file, then once more: whole, and what lay there whole was not fetched again."""
    points = crash_points.count(lambda: pull(store, RUN, tmp_path / "whole", lanes=1))
    spared = 0
    for number in range(1, points + 1, 3):
        target = tmp_path / f"cut-{number}"
        with pytest.raises(Crash), crash_points.crash_at(number):
            pull(store, RUN, target, lanes=1)
        if not (target / RECORD).exists():
            assert isinstance(verify(target), Unreadable)
        elif not (target / PULLING).exists():
            continue
        if (target / PULLING).exists() and not (target / RECORD).exists():
            report = pull(store, RUN, target, lanes=1)
            spared += report.held
            assert report.verified
            assert said(target) == []
            assert {LOCK, PULLING}.isdisjoint(item.name for item in target.iterdir())
    assert points > 100
    assert spared > 100


def test_pull_what_lies_there_whole_is_not_fetched_again(store: Counting, tmp_path: Path) -> None:
    """A person's ^C after the first two: their parts are held to the manifest where they lie."""
    target = tmp_path / "out"

    def tire(progress: Progress) -> None:
        if progress.units == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pull(store, RUN, target, lanes=1, tell=tire)
    spoilt = target / "episodes/1/1/secret.txt"
    spoilt.write_bytes(b"nime")
    store.got.clear()
    report = pull(store, RUN, target)
    assert report.held >= 2 * len(FILES) - 1
    assert f"runs/{RUN}/episodes/1/1/secret.txt" in store.got
    assert spoilt.read_bytes() == b"mine"
    assert said(target) == []


def test_pull_a_full_disk_is_said_and_gone_on_with(
    store: Counting, tmp_path: Path, crash_points: CrashPoints
) -> None:
    """ENOSPC at one place after another: the error names a file, nothing that came is lost."""
    target = tmp_path / "out"
    for name in ("bin", "closed", "..hidden"):
        full = target / "episodes/2/1" / name
        with (
            crash_points.failing(errno.ENOSPC, full),
            pytest.raises(OSError, match="No space") as error,
        ):
            pull(store, RUN, target)
        assert str(full) in str(error.value.filename)
    assert pull(store, RUN, target).held >= len(FILES)
    assert said(target) == []


def test_pull_of_another_run_is_refused_where_one_was_cut(store: Counting, tmp_path: Path) -> None:
    """Nothing is mixed; the line names what lies there."""
    target = tmp_path / "out"

    def tire(progress: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pull(store, RUN, target, tell=tire)
    with pytest.raises(PullRefused, match='holds a pull of "r1"'):
        pull(store, "r2", target)
    report = verify(target)
    assert isinstance(report, Unreadable)
    assert "the same spoteval pull goes on" in report.why


def test_pull_what_the_run_has_no_more_is_named(store: Counting, tmp_path: Path) -> None:
    """Between the cut and the second try somebody put a file there: neither removed nor taken for the run's."""
    target = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        pull(store, RUN, target, tell=lambda _: (_ for _ in ()).throw(KeyboardInterrupt()))
    (target / "notes.txt").write_text("mine")
    found = pull(store, RUN, target).differences
    assert [str(item) for item in found] == ["notes.txt: extra: lies there and is not of the run"]
    assert (target / "notes.txt").read_text() == "mine"


def test_pull_nothing_is_written_through_a_link(store: Counting, tmp_path: Path) -> None:
    """A manifest whose link leads out of the tree, and a part below it: the part stays inside."""
    outside = tmp_path / "outside"
    outside.mkdir()
    data = b"x"
    store.inner.put(part_key(RUN, "evil", 1, "door/x"), data)
    part = PartEntry("door/x", 1, hashlib.sha256(data).hexdigest(), 0o644)
    attempt = Attempt("evil", "evil#1", Outcome.COMPLETED, 1)
    line = witness_line(attempt, [part], [Extra("door", "link", target=str(outside))])
    store.inner.put(manifest_key(RUN, "evil", 1), manifest_bytes(RUN, line))
    report = pull(store, RUN, tmp_path / "out")
    assert "evil/1/door: a link, and something of its name" in str(report.differences[0])
    assert list(outside.iterdir()) == []
    assert (tmp_path / "out/episodes/evil/1/door/x").read_bytes() == data


def test_pull_store_only_names_every_difference(store: Counting, tmp_path: Path) -> None:
    """Missing, torn, changed, extra and a damaged manifest; nothing is written anywhere."""
    assert verify_store(store, RUN).verified
    folder = tmp_path / "store/runs/r1/episodes"
    (folder / "1/1/empty").unlink()
    (folder / "1/1/secret.txt").write_bytes(b"nime")
    (folder / "1/1/episode.json").write_bytes(b"{")
    (folder / "1/1/more").write_bytes(b"?")
    manifest = folder / "2/1/MANIFEST.json"
    manifest.write_bytes(manifest.read_bytes()[:-20])
    before = sorted(tmp_path.rglob("*"))
    lines = "\n".join(str(item) for item in verify_store(store, RUN).differences)
    for line in (
        "episodes/1/1/empty: missing",
        "episodes/1/1/secret.txt: differs: sha256",
        "episodes/1/1/episode.json: differs: 1 bytes",
        "episodes/1/1/more: extra",
        "episodes/2/1/MANIFEST.json",
    ):
        assert line in lines
    assert sorted(tmp_path.rglob("*")) == before
    with pytest.raises(PullRefused, match='"r2": no such run'):
        verify_store(store, "r2")


def test_pull_record_holds_modes_folders_and_links(store: Counting, tmp_path: Path) -> None:
    """What verify is held to."""
    pull(store, RUN, tmp_path / "out")
    record = json.loads((tmp_path / "out" / RECORD).read_text())
    assert len(record["folders"]) == 9
    assert len(record["links"]) == 6
    assert {item["mode"] for item in record["files"]} == {0o644, 0o775, 0o600, 0o444}
