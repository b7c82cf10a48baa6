"""publication_follower.audit: what is written where no pass looks is found and said, and never published."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from follower_world import RUN, Guest
from spoteval.files import read_lines
from spoteval_agents.publication_follower.audit import (
    EVERY_S,
    SHARE,
    SLICE_S,
    Audit,
    allowed_s,
)
from spoteval_agents.publication_follower.auditing import audit
from spoteval_agents.publication_follower.cycle import cycle


@pytest.fixture
def guest(tmp_path: Path) -> Guest:
    """Two episodes, published and once looked through."""
    guest = Guest(tmp_path)
    guest.finish("1")
    guest.finish("2")
    run(guest)
    look(guest)
    return guest


def run(guest: Guest) -> None:
    """A regular pass."""
    guest.later(61)
    cycle(guest.world, guest.memory)


def look(guest: Guest) -> None:
    """A whole round of the audit, an hour later."""
    guest.later(EVERY_S)
    cycle(guest.world, guest.memory)
    if guest.memory.audit is not None:  # the kernel's clock is not the guest's
        guest.memory.audit.since = datetime.now(UTC) - timedelta(hours=1)
    while guest.memory.audited is not None or guest.memory.audit._work is not None:  # type: ignore[union-attr]
        guest.memory.audited = guest.memory.audited or (guest.disk, guest.paths)
        audit(guest.world, guest.memory)


def told(guest: Guest) -> list[str]:
    """What a person was called for."""
    lines = read_lines(guest.paths.events).records
    return [str(line["reason"]) for line in lines if line["kind"] == "needs_you"]


def test_what_is_as_it_was_is_not_mentioned(guest: Guest) -> None:
    """Also when every file was touched: its bytes are the same, and no request is sent (failure 3)."""
    guest.asked()
    for path in guest.paths.work.rglob("*.txt"):
        path.touch()
    look(guest)
    assert told(guest) == []
    assert [key for key in guest.asked() if "/episodes/" in key] == []


def test_a_file_rewritten_with_its_old_date_is_found_and_not_published(guest: Guest) -> None:
    """Same size, same date, other bytes (failure 2): the published ones stay."""
    path = guest.paths.work / "episodes" / "1" / "log.txt"
    before = path.stat()
    old = path.read_bytes()
    path.write_bytes(old.upper())
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    os.utime(path.parent, ns=(before.st_atime_ns, before.st_mtime_ns))
    look(guest)
    (said,) = told(guest)
    assert said.startswith("episodes/1/log.txt: changed after it was published (as many bytes")
    assert guest.store.get(f"runs/{RUN}/episodes/1/1/log.txt") == old
    look(guest)
    guest.restart()
    look(guest)
    assert len(told(guest)) == 1


def test_what_came_grew_or_went_afterwards_is_named(guest: Guest) -> None:
    """A new file in an old directory, a longer one, and one that is gone."""
    folder = guest.paths.work / "episodes"
    (folder / "1" / "late.txt").write_bytes(b"x")
    (folder / "2" / "log.txt").write_bytes(b"longer than it was before")
    (folder / "2" / "episode.json").unlink()
    look(guest)
    found = "\n".join(told(guest))
    assert "episodes/1/late.txt: was written after the episode was published" in found
    assert "episodes/2/log.txt: changed after it was published (9 bytes then)" in found
    assert "episodes/2/episode.json: is gone from the disk" in found


def still() -> float:
    """A clock that stands."""
    return 0.0


def test_a_round_goes_on_where_a_slice_ended_and_rests_until_the_next(guest: Guest) -> None:
    """Each step asks the clock; the next round begins an hour after the last one began."""
    state, ticks = Audit.of(guest.root / "audit.json", RUN), iter(range(1000))
    place = (guest.paths.finished, guest.paths.work / "episodes")
    now = guest.clock()
    slices = 0
    while not state.slice(*place, now, (lambda: float(next(ticks)), still)):
        slices += 1
    assert slices > 1
    again = Audit.of(guest.root / "audit.json", RUN)
    assert again.since == now.wall.replace(microsecond=now.wall.microsecond // 1000 * 1000)
    guest.later(EVERY_S - 1)
    assert not again.slice(*place, guest.clock(), (still, still))
    guest.later(1)
    assert again.slice(*place, guest.clock(), (still, still))


def test_slices_take_a_thousandth_of_a_processor_however_often_they_come(guest: Guest) -> None:
    """Each step of this processor takes 10 ms: five steps at once, then one for each 10 s that pass."""
    state, spent = Audit.of(guest.root / "audit.json", RUN), [0.0]
    place = (guest.paths.finished, guest.paths.work / "episodes")

    def slow() -> float:
        spent[0] += 0.01
        return spent[0]

    slices = 0
    while not state.slice(*place, guest.clock(), (still, slow)):
        assert state.spent_s <= SLICE_S + 0.01
        slices += 1
        guest.later(2.0)
    whole_s = spent[0]
    assert state.longest_s <= SLICE_S + 0.01
    assert whole_s <= SLICE_S + 2.0 * slices * SHARE + 0.02 * (slices + 2)


@pytest.mark.parametrize(
    ("left_s", "passed_s", "found_s"),
    [(0.0, 45.0, 0.045), (0.0, 44.0, 0.044), (0.0, 46.0, 0.045), (-0.02, 20.0, 0.0), (0.01, -5.0, 0.01)],
)  # fmt: skip
def test_what_may_be_taken(left_s: float, passed_s: float, found_s: float) -> None:
    """A millisecond a second, up to a slice; what was taken too much is paid back; a clock set back gives nothing."""
    assert allowed_s(left_s, passed_s) == pytest.approx(found_s)


def test_the_line_of_the_next_pass_says_what_a_slice_took(
    guest: Guest, capsys: pytest.CaptureFixture[str]
) -> None:
    """And no line does after an hour in which there was none."""
    look(guest)
    assert guest.memory.audit_ms is not None
    capsys.readouterr()
    for name in ("3", "4"):
        guest.finish(name)
        run(guest)
    first, second = [line for line in capsys.readouterr().err.splitlines() if "published" in line]
    assert int(first.partition("audit_ms=")[2].split()[0]) >= 1
    assert "audit_ms" not in second


def test_an_episode_moved_in_with_an_old_date_is_published_by_the_next_pass(guest: Guest) -> None:
    """The date of its parent tells, not its own (failure 4)."""
    guest.finish("3")
    folder = guest.paths.work / "episodes" / "3"
    away = guest.paths.work / "aside"
    folder.rename(away)
    run(guest)
    ago = (guest.clock().wall - timedelta(days=1)).timestamp()
    for path in (*away.iterdir(), away):
        os.utime(path, (ago, ago))
    away.rename(folder)
    run(guest)
    assert guest.has("episodes/3/1/MANIFEST.json")
