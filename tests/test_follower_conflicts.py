"""publication_follower: an attempt whose name in the store somebody else has taken goes beside it, whole."""

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from follower_world import RUN, Guest
from spoteval.event import NEEDS_YOU
from spoteval.files import read_lines
from spoteval.publication.pull import pull
from spoteval.publication.verify import verify_store
from spoteval_agents.publication_follower.cycle import cycle
from spoteval_agents.publication_follower.journal import Journal
from spoteval_agents.publication_follower.work import Begun

THEIRS = b"bytes of another machine\n"
FILES = {"a.txt": b"ours a\n", "b/c.txt": b"ours c\n"}


def run(guest: Guest, times: int = 1) -> None:
    """Regular passes."""
    for _ in range(times):
        guest.later()
        cycle(guest.world, guest.memory)


def met(root: Path, name: str) -> Guest:
    """A guest whose journal knows its run, that has one episode, of which the store has an object of `name` already."""
    guest = Guest(root)
    run(guest)
    guest.store.inner.put(f"runs/{RUN}/episodes/1/1/{name}", THEIRS)
    guest.finish("1", FILES)
    return guest


def calls(guest: Guest) -> list[str]:
    """What a person was told of conflicts."""
    found = [line for line in read_lines(guest.paths.events).records if line["kind"] == NEEDS_YOU]
    return [str(line["reason"]) for line in found if "conflict" in str(line["reason"])]


@pytest.mark.parametrize("name", ["a.txt", "b/c.txt", "episode.json", "MANIFEST.json"])
def test_a_name_that_somebody_else_has_is_never_overwritten(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ours lie beside it, every part and the manifest; it is said once, also over processes, and never tried again."""
    guest = met(tmp_path, name)
    run(guest)
    assert guest.store.inner.get(f"runs/{RUN}/episodes/1/1/{name}") == THEIRS
    aside = guest.keys("conflicts/")
    prefix = aside[0].rpartition("/MANIFEST")[0] + "/"
    assert [key.removeprefix(prefix) for key in aside] == [
        "MANIFEST.json", "a.txt", "b/c.txt", "episode.json",
    ]  # fmt: skip
    manifest = guest.store.inner.get(f"runs/{RUN}/{prefix}MANIFEST.json")
    assert prefix == f"conflicts/1/1/{hashlib.sha256(manifest).hexdigest()[:12]}/"
    for part in json.loads(manifest)["parts"]:
        data = guest.store.inner.get(f"runs/{RUN}/{prefix}{part['name']}")
        assert hashlib.sha256(data).hexdigest() == part["sha256"]
    assert "conflict: episodes/1/1 in the store" in capsys.readouterr().err
    guest.asked()
    run(guest, 2)
    guest.restart()
    run(guest, 2)
    assert [key for key in guest.asked() if "/log/" not in key] == []
    assert len(calls(guest)) == 1
    assert [line["episode"] for line in guest.witness()] == ["1"]


def test_pull_and_verify_name_the_conflict(tmp_path: Path) -> None:
    """What lies beside its name is no part of the tree, and is not passed over in silence."""
    guest = met(tmp_path, "a.txt")
    run(guest)
    beside = guest.keys("conflicts/")[0].rpartition("/")[0]
    for report in (pull(guest.store.inner, RUN, tmp_path / "out"), verify_store(guest.store, RUN)):
        assert not report.verified
        assert [
            str(one).partition(":")[0] for one in report.differences if "merged" in one.what
        ] == [f"runs/{RUN}/{beside}"]
    assert not (tmp_path / "out" / "conflicts").exists()


def test_a_conflict_that_was_cut_is_gone_on_with(tmp_path: Path) -> None:
    """The store goes away between witness and manifest: the next process puts the rest beside the name, too."""
    guest = met(tmp_path, "a.txt")
    guest.store.refused = ("/conflicts/1/1/",)
    run(guest)
    assert guest.keys("conflicts/") == []
    assert len(guest.witness()) == 1
    guest.store.refused = ()
    guest.restart()
    run(guest)
    assert len(guest.keys("conflicts/")) == 4
    assert not guest.has("episodes/1/1/MANIFEST.json")


def test_with_a_lost_journal_what_exists_is_ours(tmp_path: Path) -> None:
    """Nobody can tell then, and nothing gets a second name: the note beside the journal says that it was lost."""
    guest = Guest(tmp_path)
    guest.finish("1", FILES)
    guest.store.refused = ("MANIFEST.json",)
    run(guest)
    guest.store.refused = ()
    (guest.disk.publication / "journal.jsonl").unlink()
    guest.paths.finished.unlink()
    guest.restart()
    run(guest)
    assert guest.keys("conflicts/") == []
    assert guest.has("episodes/1/1/MANIFEST.json")


def test_a_lost_answer_is_no_conflict(tmp_path: Path) -> None:
    """The put went through, its answer did not come: the journal has meant it."""
    guest = Guest(tmp_path)
    guest.finish("1", FILES)
    guest.store.lost_answers = True
    run(guest, 2)
    guest.store.lost_answers = False
    run(guest)
    assert guest.keys("conflicts/") == []
    assert guest.has("episodes/1/1/MANIFEST.json")


def test_a_durable_line_that_the_disk_lost_overwrites_nothing(tmp_path: Path) -> None:
    """A disk that lied: what was meant is gone with the journal's last line, so what exists is taken for another's."""
    guest = Guest(tmp_path)
    run(guest)
    guest.finish("1", FILES)
    guest.store.lost_answers = True
    run(guest)
    guest.store.lost_answers = False
    journal = guest.disk.publication / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    last = max(n for n, line in enumerate(lines) if b'"begin"' in line)
    journal.write_bytes(b"".join(lines[:last]) + lines[last][:-2])
    guest.restart()
    run(guest)
    assert guest.store.inner.get(f"runs/{RUN}/episodes/1/1/a.txt") == FILES["a.txt"]
    aside = [key for key in guest.keys("conflicts/") if key.endswith("a.txt")]
    assert [guest.store.inner.get(f"runs/{RUN}/{key}") for key in aside] == [FILES["a.txt"]]
    assert len(calls(guest)) == 1


def test_a_part_of_which_nobody_knows_which_content_came_goes_aside(tmp_path: Path) -> None:
    """Two contents were meant for one name, no answer came for either, and the file is a third one by now."""
    guest = Guest(tmp_path)
    guest.finish("1", FILES)
    guest.store.lost_answers = True
    run(guest)
    for text in (b"two", b"three"):
        guest.store.lost_answers, guest.store.away = False, text == b"two"
        guest.finish("1", {**FILES, "a.txt": text})
        run(guest)
    assert guest.store.inner.get(f"runs/{RUN}/episodes/1/1/a.txt") == FILES["a.txt"]
    aside = [key for key in guest.keys("conflicts/") if key.endswith("a.txt")]
    assert [guest.store.inner.get(f"runs/{RUN}/{key}") for key in aside] == [b"three"]


@settings(max_examples=60)
@given(steps=st.lists(st.sampled_from(["begin", "finish", "conflict", "compact", "again"])))
def test_a_journal_is_first_only_before_anything_was_meant(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str]
) -> None:
    """Whatever was done before, also over compactions and processes; and what is aside stays known."""
    path, name = tmp_path_factory.mktemp("j") / "journal.jsonl", ("e", "e#1")
    journal = Journal(path, "file:///s")
    journal.meet("r")
    begun = aside = False
    for step in steps:
        if step == "begin":
            journal.begin("r", {name: Begun(1)})
        elif step == "finish":
            journal.finish("r", [(name, 1)])
        elif step == "conflict":
            journal.conflict("r", name, "p/")
        elif step == "compact":
            journal.compact()
        else:
            journal = Journal(path, "file:///s")
        begun, aside = begun or step in ("begin", "finish"), aside or step == "conflict"
        assert journal.is_first("r", name) is not begun
        assert (("r", name) in journal.conflicts) is aside
        assert not journal.is_first("other", name)
