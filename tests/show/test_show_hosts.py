"""The scenes of the lab as lines: what is left out, skipped or broken is said."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import package, root, tools
from lab.shell import Skipped
from lab.world import Kit
from show import lab_lines
from show.hosts_whole import scenes, shows
from show.lab_lines import Lab, Scene, folder
from show.lines import Line
from show.stage import Stage

KIT = Kit(Path("d"), Path("n"), Path("p"))


@pytest.fixture(autouse=True)
def no_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is installed, built or ended."""
    monkeypatch.setattr(tools, "ready", lambda: None)
    monkeypatch.setattr(lab_lines, "sweep", lambda: 0)
    monkeypatch.setattr(package, "kit", lambda place: KIT)
    monkeypatch.setattr(root, "with_harness", lambda: Path("h"))


def stage(tmp_path: Path, *parts: str, full: bool = False) -> Stage:
    """Where the shows run."""
    return Stage(tmp_path, tmp_path, full=full, ci=False, parts=parts)


def good(place: Path, kit: Kit) -> Iterator[Line]:
    """A scene of one line."""
    assert kit == KIT
    yield Line("ok", place.name, "1")


def breaks(place: Path, kit: Kit) -> Iterator[Line]:
    """A scene that breaks after its first line."""
    yield from good(place, kit)
    raise OSError("gone")


SCENES: dict[str, Scene] = {"a scene": good, "broken": breaks, "long": good}


def test_a_scene_gives_its_lines(tmp_path: Path) -> None:
    """Each in a place of its own; a long one only under --full."""
    lab = Lab(stage(tmp_path), SCENES, frozenset(["long"]))
    assert [line.text() for line in lab.lines("a scene")] == ["ok      a-scene  1"]
    assert [line.word for line in lab.lines("long")] == ["not run"]
    full = Lab(stage(tmp_path, full=True), SCENES, frozenset(["long"]))
    assert [line.word for line in full.lines("long")] == ["ok"]


def test_what_a_scene_showed_before_it_broke_is_shown(tmp_path: Path) -> None:
    """And then what it broke with."""
    lines = Lab(stage(tmp_path), SCENES, frozenset()).lines("broken")
    assert next(lines).word == "ok"
    with pytest.raises(OSError, match="gone"):
        next(lines)


def test_only_what_is_wanted_is_played(tmp_path: Path) -> None:
    """A scene that nobody asked for boots no machine."""
    lab = Lab(stage(tmp_path, "a sc"), SCENES, frozenset())
    assert [line.word for line in lab.lines("a scene")] == ["ok"]
    with pytest.raises(KeyError):
        next(lab.lines("broken"))


def test_a_machine_that_cannot_boot_others_skips_each_scene(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its reason, and never silently."""

    def refuse() -> None:
        raise Skipped("no root")

    monkeypatch.setattr(tools, "ready", refuse)
    lab = Lab(stage(tmp_path), SCENES, frozenset())
    for name in SCENES:
        assert [line.text() for line in lab.lines(name)] == [f"skipped {name}  skipped: no root"]


def test_every_scene_is_shown(tmp_path: Path) -> None:
    """None of them is only listed."""
    names = {one.what for one in shows(stage(tmp_path))}
    assert names >= set(scenes(stage(tmp_path)))


def test_the_folder_of_a_scene_can_be_bound() -> None:
    """A colon separates the two ends of what nspawn binds."""
    assert folder("pipx: a first hour") == "pipx-a-first-hour"
