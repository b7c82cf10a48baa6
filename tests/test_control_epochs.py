"""control.epochs: each boot claims one; a copied disk is found out."""

import shutil
from pathlib import Path

import pytest

from crash_points import Crash, CrashPoints
from guest_world import NOW
from spoteval.control.epochs import Claimant, Forked, claim, claimed
from spoteval.paths import RunPaths
from spoteval.store.contract import Put, StoreError, StoreRefused
from spoteval.store.file import FileStore


class PutOnly(FileStore):
    """A store under the guest's key: it may put, and nothing else."""

    def get(self, key: str) -> bytes:
        """Refused."""
        raise StoreRefused(f"{key}: 403")


def who(session: str) -> Claimant:
    """One life of the machine."""
    return Claimant("swe", "gpu-1", session)


def store(tmp_path: Path, kind: type[FileStore] = FileStore) -> FileStore:
    """An empty store."""
    (tmp_path / "store").mkdir(exist_ok=True)
    return kind(tmp_path / "store")


@pytest.mark.parametrize("kind", [FileStore, PutOnly])
def test_each_life_claims_the_next_one_once(tmp_path: Path, kind: type[FileStore]) -> None:
    """Asking again gives the same; the next life gets the next number."""
    there, paths = store(tmp_path, kind), RunPaths(tmp_path / "run")
    assert claimed(paths, "s1") is None
    assert [claim(there, paths, who("s1"), NOW) for _ in range(2)] == [1, 1]
    assert (claimed(paths, "s1"), claimed(paths, "s2")) == (1, None)
    assert claim(there, paths, who("s2"), NOW) == 2
    assert [item.key for item in there.list("")] == [
        "runs/swe/epochs/000001.json",
        "runs/swe/epochs/000002.json",
    ]


@pytest.mark.parametrize("kind", [FileStore, PutOnly])
def test_a_copied_disk_that_comes_second_is_forked(tmp_path: Path, kind: type[FileStore]) -> None:
    """Two machines go on from one state: the first has the epoch, the second must not resume; nothing is written."""
    there, original = store(tmp_path, kind), RunPaths(tmp_path / "original")
    claim(there, original, who("s1"), NOW)
    shutil.copytree(original.root, tmp_path / "copy")
    copy = RunPaths(tmp_path / "copy")
    assert claim(there, original, who("s2"), NOW) == 2
    with pytest.raises(Forked, match=r"^runs/swe/epochs/000002.json: claimed by session"):
        claim(there, copy, who("s9"), NOW)
    assert claimed(copy, "s9") is None


class Deaf(PutOnly):
    """Its client did not hear the first answer, and asked once more."""

    def put(self, key: str, data: bytes) -> Put:
        """Created, and then met."""
        super().put(key, data)
        return Put.REPEATED


def test_an_answer_that_was_lost_is_no_fork(tmp_path: Path) -> None:
    """A key that may only put cannot look whose it is; it is not a copied disk for that."""
    paths = RunPaths(tmp_path / "run")
    assert claim(store(tmp_path, Deaf), paths, who("s1"), NOW) == 1
    assert claimed(paths, "s1") == 1


def test_a_store_that_is_away_leaves_nothing_claimed(tmp_path: Path) -> None:
    """Unknown is not forked: the claim is tried again later, and succeeds."""
    paths = RunPaths(tmp_path / "run")
    away = FileStore(tmp_path / "store")
    with pytest.raises(StoreError):
        claim(away, paths, who("s1"), NOW)
    assert claimed(paths, "s1") is None
    assert claim(store(tmp_path), paths, who("s1"), NOW) == 1


@pytest.mark.parametrize("kind", [FileStore, PutOnly])
@pytest.mark.parametrize("again", ["s2", "s3"])
def test_a_crash_at_each_write_never_looks_forked(
    tmp_path: Path, crash_points: CrashPoints, kind: type[FileStore], again: str
) -> None:
    """The same life, or the next one, goes on; no number is used by two lives."""

    def world(name: str) -> tuple[FileStore, RunPaths]:
        (tmp_path / name).mkdir()
        there, paths = store(tmp_path / name, kind), RunPaths(tmp_path / name / "run")
        claim(there, paths, who("s1"), NOW)
        return there, paths

    there, paths = world("whole")
    points = crash_points.count(lambda: claim(there, paths, who("s2"), NOW))
    assert points > 5
    for n in range(1, points + 1):
        there, paths = world(str(n))
        with pytest.raises(Crash), crash_points.crash_at(n):
            claim(there, paths, who("s2"), NOW)
        number = claim(there, paths, who(again), NOW)
        assert number in ((2,) if again == "s2" else (2, 3))
        assert claimed(paths, again) == number
