"""Pull, verify, compare: every byte checked, every difference named."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from follower_world import RUN, Guest
from spoteval.files import encoded
from spoteval.publication.manifest import Manifest, manifest_from
from spoteval.publication.pull import RECORD, PullRefused, PullReport, pull
from spoteval.publication.verify import VerifyReport, compare, verify
from spoteval.shape import Unreadable
from spoteval.store.contract import StoreError
from spoteval.store.file import FileStore
from spoteval_agents.publication_follower.cycle import cycle


@pytest.fixture
def guest(tmp_path: Path) -> Guest:
    """Two finished episodes, a log, a state file and an interruption, all published."""
    guest = Guest(tmp_path / "guest")
    guest.finish("1", {"log.txt": b"one", "deep/er.bin": bytes(range(256))})
    guest.finish("2")
    (guest.paths.work / "intended.json").write_text('["1", "2"]')
    folder = guest.paths.interruptions / "i-1"
    folder.mkdir(parents=True)
    (folder / "opened.json").write_bytes(encoded({"id": "i-1", "session": "s0"}))
    (folder / "steps.jsonl").write_text('{"step": "marker"}\n')
    guest.paths.end.write_bytes(encoded({"reason": "complete"}))
    cycle(guest.world, guest.memory)
    return guest


def stored(guest: Guest, key: str) -> Path:
    """The object's file; tests break it in ways that the store itself never would."""
    return guest.root / "store" / "runs" / RUN / key


def said(report: PullReport | VerifyReport) -> list[str]:
    """The differences as a person reads them."""
    return [str(item) for item in report.differences]


def verified(target: Path) -> VerifyReport:
    """The report of a directory that can be verified."""
    report = verify(target)
    assert isinstance(report, VerifyReport)
    return report


def test_a_pulled_tree_is_laid_out_as_the_guest_s(guest: Guest, tmp_path: Path) -> None:
    """Records, logs, interruptions and the harness's files at their own paths; episodes below their own folder."""
    target = tmp_path / "out"
    report = pull(guest.store, RUN, target)
    assert (report.episodes, report.verified, report.unfinished) == (2, True, ())
    names = sorted(p.relative_to(target).as_posix() for p in target.rglob("*") if p.is_file())
    assert report.files == len(names) - 1
    assert names == [
        RECORD,
        "end.json",
        "episodes/1/1/MANIFEST.json",
        "episodes/1/1/deep/er.bin",
        "episodes/1/1/episode.json",
        "episodes/1/1/log.txt",
        "episodes/2/1/MANIFEST.json",
        "episodes/2/1/episode.json",
        "episodes/2/1/log.txt",
        "epochs/000001.json",
        "events.jsonl",
        "finished.jsonl",
        "intended.json",
        "interruptions/i-1/opened.json",
        "interruptions/i-1/steps.jsonl",
        "run.json",
        "work/intended.json",
    ]
    for name in ("run.json", "events.jsonl", "finished.jsonl", "work/intended.json", "end.json"):
        assert (target / name).read_bytes() == (guest.paths.root / name).read_bytes()
    assert verified(target).differences == ()


def test_a_manifest_says_everything_of_its_attempt(guest: Guest) -> None:
    """Names, sizes, digests, modes, outcome and verdict."""
    key = f"runs/{RUN}/episodes/1/1/MANIFEST.json"
    manifest = manifest_from(guest.store.get(key), key)
    assert isinstance(manifest, Manifest)
    assert (manifest.run, manifest.attempt.key, manifest.attempt.verdict) == (RUN, "1", "C")
    assert [part.name for part in manifest.parts] == ["deep/er.bin", "episode.json", "log.txt"]
    assert manifest.parts[0].size == 256
    assert manifest.parts[0].mode == 0o644


def test_modes_come_back(tmp_path: Path) -> None:
    """A script that an episode left is as executable as it was."""
    guest = Guest(tmp_path / "guest")
    guest.finish("1", {"run.sh": b"#!/bin/sh\n"})
    (guest.paths.work / "episodes/1/run.sh").chmod(0o755)
    cycle(guest.world, guest.memory)
    pull(guest.store, RUN, tmp_path / "out")
    assert (tmp_path / "out/episodes/1/1/run.sh").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("what", ["file", "hidden file", "folder", "pulled before", "is a file"])
def test_a_used_target_is_refused_and_left_alone(guest: Guest, tmp_path: Path, what: str) -> None:
    """Nothing is mixed with what lies there; the error says what does."""
    target = tmp_path / "out"
    if what == "is a file":
        target.write_text("x")
    elif what == "pulled before":
        pull(guest.store, RUN, target)
    else:
        target.mkdir()
        name = target / (".hidden" if what == "hidden file" else "x")
        name.mkdir() if what == "folder" else name.write_text("x")
    before = sorted(target.rglob("*"))
    with pytest.raises(PullRefused, match="out") as refused:
        pull(guest.store, RUN, target)
    assert "\n" not in str(refused.value)
    assert sorted(target.rglob("*")) == before


def test_an_empty_target_is_used(guest: Guest, tmp_path: Path) -> None:
    """A directory that holds nothing is as good as none."""
    (tmp_path / "out").mkdir()
    assert pull(guest.store, RUN, tmp_path / "out").verified


def test_a_run_that_is_not_there_is_refused(guest: Guest, tmp_path: Path) -> None:
    """Nothing is made, and the name is quoted; an absent store is an error of another kind."""
    with pytest.raises(PullRefused, match='"r2"'):
        pull(guest.store, "r2", tmp_path / "out")
    with pytest.raises(StoreError):
        pull(FileStore(tmp_path / "away"), RUN, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("damage", "difference"),
    [
        (lambda path: path.write_bytes(b"two"), "episodes/1/1/log.txt: differs: sha256"),
        (lambda path: path.write_bytes(b"o"), "episodes/1/1/log.txt: differs: 1 bytes"),
        (Path.unlink, "episodes/1/1/log.txt: missing: the manifest names 3 bytes"),
        (
            lambda path: path.with_name("more").write_bytes(b"x"),
            f"runs/{RUN}/episodes/1/1/more: extra: no manifest names it",
        ),
        (
            lambda path: path.with_name("MANIFEST.json").write_bytes(b"{}"),
            "episodes/1/1/MANIFEST.json: ",
        ),
    ],
)
def test_each_difference_of_the_store_is_named(
    guest: Guest, tmp_path: Path, damage: Callable[[Path], object], difference: str
) -> None:
    """What differs is named and not written; all else is pulled."""
    damage(stored(guest, "episodes/1/1/log.txt"))
    report = pull(guest.store, RUN, tmp_path / "out")
    assert not report.verified
    assert [text for text in said(report) if text.startswith(difference)] == said(report)
    assert len(report.differences) == 1
    assert (tmp_path / "out/episodes/2/1/log.txt").exists()
    if "log.txt" in difference:
        assert not (tmp_path / "out/episodes/1/1/log.txt").exists()


def test_a_manifest_cut_at_each_byte_publishes_nothing(guest: Guest) -> None:
    """A torn manifest is named; it never passes for one with fewer parts."""
    path = stored(guest, "episodes/1/1/MANIFEST.json")
    whole = path.read_bytes()
    for length in range(len(whole) - 1):
        assert isinstance(manifest_from(whole[:length], "m"), Unreadable)
    assert isinstance(manifest_from(whole[:-1], "m"), Manifest)


@pytest.mark.parametrize(
    "change",
    [
        {"parts": None},
        {"parts": [{"name": "a", "size": -1, "sha256": "0" * 64, "mode": 420}]},
        {"parts": [{"name": "a", "size": 1, "sha256": "0" * 63, "mode": 420}]},
        {"parts": [{"name": "a", "size": 1, "sha256": "G" * 64, "mode": 420}]},
        {"parts": [{"name": "a", "size": True, "sha256": "0" * 64, "mode": 420}]},
        {"outcome": "won"},
        {"run": None},
        {"format": 2},
    ],
)
def test_a_foreign_manifest_is_unreadable(guest: Guest, change: dict[str, object]) -> None:
    """Sizes, digests and outcomes that none of ours has."""
    path = stored(guest, "episodes/1/1/MANIFEST.json")
    body = json.dumps({**json.loads(path.read_bytes()), **change})
    assert isinstance(manifest_from(body.encode(), "m"), Unreadable)


def test_a_manifest_in_another_attempt_s_place_is_named(guest: Guest, tmp_path: Path) -> None:
    """It must speak of the folder that it lies in."""
    other = stored(guest, "episodes/2/1/MANIFEST.json").read_bytes()
    stored(guest, "episodes/1/1/MANIFEST.json").write_bytes(other)
    report = pull(guest.store, RUN, tmp_path / "out")
    assert len(report.differences) == 1
    assert "not of this attempt" in said(report)[0]


def test_parts_without_a_manifest_are_not_published(guest: Guest, tmp_path: Path) -> None:
    """They are named as unfinished, which is no difference, and are not pulled."""
    stored(guest, "episodes/1/1/MANIFEST.json").unlink()
    report = pull(guest.store, RUN, tmp_path / "out")
    assert (report.episodes, report.unfinished, said(report)) == (1, ("episodes/1/1",), [])
    assert not (tmp_path / "out/episodes/1").exists()


def test_no_name_leads_out_of_the_target(tmp_path: Path) -> None:
    """A part's name is what an evaluated program wrote; it stays a file below its own attempt."""
    store = FileStore(tmp_path / "store")
    (tmp_path / "store").mkdir()
    digest = hashlib.sha256(b"x").hexdigest()
    part = {"name": "../../../evil", "size": 1, "sha256": digest, "mode": 420}
    body = {"run": RUN, "episode": "1", "attempt": 1, "native_id": "n", "outcome": "completed"}
    store.put(f"runs/{RUN}/episodes/1/1/MANIFEST.json", encoded({**body, "parts": [part]}))
    store.put(f"runs/{RUN}/episodes/1/1/%2E./%2E./%2E./evil", b"x")
    target = tmp_path / "a" / "b" / "out"
    assert pull(store, RUN, target).verified
    outside = [path for path in tmp_path.rglob("evil") if tmp_path / "store" not in path.parents]
    assert outside == [target / "episodes/1/1/%2E./%2E./%2E./evil"]


def test_keys_of_no_known_kind_are_named(guest: Guest, tmp_path: Path) -> None:
    """Heartbeats are no part of the tree; what nobody knows is said, and what met another's under its name."""
    prefix = f"runs/{RUN}/"
    for key in ("conflicts/1/1/ab/x", "novel/x", "state/x", "episodes/1/x", "log/h/n/1"):
        guest.store.put(prefix + key, b"x")
    report = pull(guest.store, RUN, tmp_path / "out")
    unknown = [f"{prefix}{key}" for key in ("episodes/1/x", "log/h/n/1", "novel/x", "state/x")]
    conflict = f"{prefix}conflicts/1/1/ab"
    assert [item.path for item in report.differences] == [*unknown, conflict]


@pytest.mark.parametrize(
    ("damage", "difference"),
    [
        (lambda out: (out / "run.json").unlink(), "run.json: missing"),
        (lambda out: (out / "run.json").write_bytes(b"x"), "run.json: differs: 1 bytes"),
        (
            lambda out: (out / "episodes/1/1/log.txt").write_bytes(b"two"),
            "episodes/1/1/log.txt: differs: sha256",
        ),
        (lambda out: (out / "new").write_bytes(b""), "new: extra: not pulled"),
        (lambda out: (out / "episodes/1/1/.x").write_bytes(b""), "episodes/1/1/.x: extra"),
    ],
)
def test_verify_names_each_difference(
    guest: Guest, tmp_path: Path, damage: Callable[[Path], object], difference: str
) -> None:
    """Missing, extra, differing in size, differing in bytes: one each, and nothing else."""
    out = tmp_path / "out"
    pull(guest.store, RUN, out)
    damage(out)
    report = verified(out)
    assert not report.verified
    assert len(report.differences) == 1
    assert said(report)[0].startswith(difference)


def test_verify_of_what_was_never_pulled_is_unreadable(tmp_path: Path) -> None:
    """It is neither verified nor different."""
    found = verify(tmp_path)
    assert isinstance(found, Unreadable)
    assert "not made by spoteval pull" in found.why


def test_a_pull_record_cut_at_each_byte_is_unreadable(guest: Guest, tmp_path: Path) -> None:
    """A torn record never verifies a directory."""
    pull(guest.store, RUN, tmp_path / "out")
    path = tmp_path / "out" / RECORD
    whole = path.read_bytes()
    for length in range(0, len(whole) - 1, 7):
        path.write_bytes(whole[:length])
        assert isinstance(verify(tmp_path / "out"), Unreadable)


def test_store_and_disk_are_compared_byte_for_byte(guest: Guest) -> None:
    """Nothing to say after a pass; then each thing that is ahead, behind or other on either side."""
    assert compare(guest.store, RUN, guest.paths.root).differences == ()
    guest.log("events.jsonl", {"kind": "later"})
    (guest.paths.work / "intended.json").write_text('["other"]')
    (guest.paths.root / "note.json").write_text("{}")
    stored(guest, "episodes/2/1/MANIFEST.json").unlink()
    guest.paths.end.unlink()
    report = compare(guest.store, RUN, guest.paths.root)
    assert [text.partition(":")[0] for text in said(report)] == [
        "end.json",
        "work/intended.json",
        "events.jsonl",
        "note.json",
        "episodes/2/1",
    ]
    assert said(report)[2] == "events.jsonl: behind: the disk has 18 more bytes"


def test_an_episode_that_the_disk_did_not_witness_is_named(guest: Guest) -> None:
    """Whoever put it, it was not this disk."""
    guest.paths.finished.write_text("")
    report = compare(guest.store, RUN, guest.paths.root)
    assert sum("no witness" in text for text in said(report)) == 2


def test_a_pull_reads_only_the_run(guest: Guest, tmp_path: Path) -> None:
    """Another run of the same store, whose name begins alike, is another run."""
    guest.store.put("runs/r11/record/000001.json", b"{}")
    guest.asked()
    assert pull(guest.store, RUN, tmp_path / "out").verified
    asked = guest.asked()
    assert asked[0] == f"runs/{RUN}/"
    assert all(key.startswith(f"runs/{RUN}/") for key in asked)


def test_segments_that_contradict_each_other_are_named(guest: Guest, tmp_path: Path) -> None:
    """Overlapping ones are joined where they agree; a gap and a length that is not the name's are named too."""
    prefix = f"runs/{RUN}/log/gpu-1/other.jsonl/000001"
    for name, data in (
        ("0-5", b"aaaaa"),
        ("0-8", b"aaaaabbb"),
        ("3-6", b"aabbbb"),
        ("0-9", b"xxxxxyyyy"),
    ):
        offset, _, length = name.partition("-")
        guest.store.put(f"{prefix}/{int(offset):012d}-{length}", data)
    guest.store.put(f"{prefix.replace('other', 'gap')}/000000000001-1", b"x")
    guest.store.put(f"{prefix.replace('other', 'short')}/000000000000-2", b"x")
    report = pull(guest.store, RUN, tmp_path / "out")
    assert (tmp_path / "out/other.jsonl").read_bytes() == b"aaaaabbbb"
    assert said(report) == [
        "gap.jsonl: missing: bytes 0 to 1",
        f"{prefix}/000000000000-9: differs: an earlier segment has other bytes there",
        f"{prefix.replace('other', 'short')}/000000000000-2: differs: 1 bytes, its name says 2",
    ]
