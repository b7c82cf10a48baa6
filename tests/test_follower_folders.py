"""publication-follower: the folders that lead to an episode are durable before anything of it is put."""

import os
from pathlib import Path

import pytest

from follower_world import Guest
from put_only import PutOnly
from spoteval_agents.publication_follower.cycle import cycle


@pytest.fixture
def guest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Guest:
    """A guest with three finished episodes, which are one batch."""
    monkeypatch.setattr(PutOnly, "lanes", 8, raising=False)
    guest = Guest(tmp_path)
    for name in ("1", "2", "3"):
        guest.finish(name, {"log.txt": b"x"})
    return guest


def run(guest: Guest) -> None:
    """Time passes, then a cycle."""
    guest.later(2.0)
    cycle(guest.world, guest.memory)


def test_folders_that_episodes_share_are_synced_once(
    guest: Guest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each episode's own is its own affair."""
    real, synced = os.fsync, list[Path]()

    def fsync(descriptor: int) -> None:
        real(descriptor)
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink())

    monkeypatch.setattr(os, "fsync", fsync)
    run(guest)
    episodes = guest.paths.work / "episodes"
    assert synced.count(episodes) == 1
    assert all(synced.count(episodes / name) == 1 for name in ("1", "2", "3"))


def test_a_folder_that_cannot_be_synced_holds_back_what_is_below(
    guest: Guest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of it is put, and it is said; the next pass takes it."""
    real, failing = os.fsync, [True]

    def fsync(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        if failing[0] and path == guest.paths.work / "episodes":
            raise OSError(5, "Input/output error")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    run(guest)
    assert guest.keys("episodes/") == []
    failing[0] = False
    run(guest)
    manifests = [key for key in guest.keys("episodes/") if key.endswith("MANIFEST.json")]
    assert manifests == [f"episodes/{name}/1/MANIFEST.json" for name in ("1", "2", "3")]
