"""control.stopping: intents in several places, and holds proved by a child."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from spoteval.clock import Now
from spoteval.control import enders, stopping
from spoteval.control.children import Reply
from spoteval.control.enders import Ender
from spoteval.files import read_record
from spoteval.shape import Reading, Table, Unreadable

NOW = Now(datetime(2026, 12, 1, 3, tzinfo=UTC), 1000.0, "boot")
INTENT = Ender("", "5e55", "idle-guard", "idle for 1200 s", "idle-1", NOW.mark)


def says(body: dict[str, object], refused: bool = False) -> Callable[..., Reading[Reply]]:
    """A child that answers so."""

    def ask(verb: Sequence[str], within_s: float) -> Reading[Reply]:
        assert verb == [
            *("hold", "place", "--reason", "idle for 1200 s", "--by", "idle-guard"),
            *("--ensure-stopped", "--id", "idle-1"),
        ]
        assert within_s == stopping.HOLD_CHILD_S
        return Reply(Table(body, "reply"), refused, "because")

    return ask


def test_a_hold_id_tells_kind_time_and_machine() -> None:
    """Two machines of one moment differ."""
    assert stopping.hold_id("idle", NOW, b"\xab\x12") == "idle-20261201T030000-ab12"


def test_a_proof_is_on_the_disk_when_it_is_told(tmp_path: Path) -> None:
    """With its strength, and who had it proved."""
    intent = enders.write_intent(tmp_path, INTENT)
    assert stopping.prove_hold((tmp_path,), intent, says({"strength": "proved"})) == "proved"
    (seen,) = found((tmp_path,))
    assert (seen.proved, seen.proved_by) == (True, "idle-guard")
    done = read_record(tmp_path / "5e55.done.json")
    assert isinstance(done, Table)
    assert done.text("strength") == "proved"


@pytest.mark.parametrize(
    "ask",
    [
        says({"strength": "proved"}, refused=True),
        says({}),
        says({"strength": 5}),
        lambda verb, within_s: Unreadable("timeout:60s"),
    ],
)
def test_everything_else_proves_nothing(tmp_path: Path, ask: Callable[..., Reading[Reply]]) -> None:
    """Refused, silent, late: no proof is written."""
    intent = enders.write_intent(tmp_path, INTENT)
    assert isinstance(stopping.prove_hold((tmp_path,), intent, ask), Unreadable)
    assert not (tmp_path / "5e55.done.json").exists()


def test_a_place_that_takes_nothing_is_passed_over(tmp_path: Path) -> None:
    """A full disk: the intent lies in /run, is found there, proved there and withdrawn there."""
    (tmp_path / "disk").write_text("")
    places = (tmp_path / "disk", tmp_path / "run")
    intent = stopping.write_intent(places, INTENT)
    assert (tmp_path / "run" / "5e55.json").exists()
    stopping.prove_hold(places, intent, says({"strength": "proved"}))
    stopping.withdraw(places, intent, "keep-alive", NOW)
    (seen,) = found(places[1:])
    assert (seen.proved, seen.withdrawn) == (True, True)
    assert isinstance(stopping.intents(places), Unreadable)


def found(places: Sequence[Path]) -> tuple[Ender, ...]:
    """The intents; every place is readable."""
    seen = stopping.intents(places)
    assert isinstance(seen, tuple)
    return seen


def test_intents_of_all_places_are_seen(tmp_path: Path) -> None:
    """The disk's first; where none takes it, that is an error."""
    places = (tmp_path / "disk", tmp_path / "run")
    stopping.write_intent(places[1:], INTENT)
    stopping.write_intent(places, INTENT)
    assert [(tmp_path / name / "5e55.json").exists() for name in ("disk", "run")] == [True, True]
    assert len(found(places)) == 2
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError):
        stopping.write_intent((tmp_path / "file",), INTENT)
