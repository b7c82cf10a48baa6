"""control.keeping: the hour's fact is put until it is there, and no more."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from hook_world import AtOnce
from spoteval.clock import Now
from spoteval.control.children import Reply
from spoteval.control.keeping import AGAIN_S, CHILD_S, Keeping
from spoteval.control.worker import Work
from spoteval.shape import Reading, Table, Unreadable

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)


@dataclass
class Line:
    """A command line that answers as told, and a clock."""

    answer: Reading[Reply] = field(default_factory=lambda: Reply(Table({}, "spoteval fact put")))
    asked: list[str] = field(default_factory=list)
    worker: AtOnce = field(default_factory=AtOnce)

    def __post_init__(self) -> None:
        self.keeping = Keeping("idle-guard", self.worker, self._ask)

    def at(self, seconds: float, kept: bool = True) -> None:
        """One cycle."""
        self.keeping.cycle(kept, Now(NOON + timedelta(seconds=seconds), seconds, "boot"))

    def _ask(self, verb: Sequence[str], within_s: float) -> Reading[Reply]:
        assert within_s == CHILD_S
        self.asked.append(verb[2])
        return self.answer


def test_once_an_hour() -> None:
    """The last second of an hour, and the first of the next."""
    line = Line()
    for seconds in (0, 60, 3599, 3600, 3660):
        line.at(seconds)
    assert line.asked == ["keep-2026120112", "keep-2026120113"]


def test_nothing_where_nobody_keeps_it_on() -> None:
    """No fact is put ahead."""
    line = Line()
    line.at(0, kept=False)
    line.at(3600, kept=False)
    assert line.asked == []


@pytest.mark.parametrize(
    "answer",
    [
        Unreadable("spoteval fact put: timeout:60s"),
        Reply(Table({}, "spoteval fact put"), refused=True, said="this boot is not recorded yet"),
    ],
)
def test_a_failure_is_tried_again_after_a_minute_and_said_once(
    answer: Reading[Reply], capsys: pytest.CaptureFixture[str]
) -> None:
    """Its end is said too."""
    line = Line(answer)
    for seconds in (0, 1, AGAIN_S, AGAIN_S + 1, 2 * AGAIN_S + 1, 2 * AGAIN_S + 2):
        line.at(seconds)
    assert len(line.asked) == 2
    line.answer = Reply(Table({}, "spoteval fact put"))
    line.at(3 * AGAIN_S + 2)
    line.at(3 * AGAIN_S + 3)
    line.at(9 * AGAIN_S)
    assert line.asked == ["keep-2026120112"] * 3
    said = capsys.readouterr().err.splitlines()
    assert [text.partition(": ")[0] for text in said] == [
        "<4>agent=idle-guard keep-2026120112 not put",
        "<6>agent=idle-guard keep-2026120112 put",
    ]


class Taken(AtOnce):
    """Something else is under way."""

    def start(self, name: str, work: Work) -> bool:
        return False


def test_it_waits_while_something_else_is_under_way() -> None:
    """A hold goes before it."""
    line = Line(worker=Taken())
    line.at(0)
    line.keeping.worker = AtOnce()
    line.at(1)
    assert line.asked == ["keep-2026120112"]
