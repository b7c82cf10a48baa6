"""A pass of the publication follower, asked for and waited for."""

from spoteval.cli.common import patience
from spoteval.clock import elapsed_s, read_now
from spoteval.control.requests import Answer, answer, ask
from spoteval.loop import Waiting
from spoteval.paths import DurablePaths

_LOOK_EVERY_S = 0.25


def ask_pass(disk: DurablePaths, kind: str, by: str, within_s: float) -> Answer | None:
    """What the follower answered within so many seconds; None where it did not. Raises OSError."""
    asked = ask(disk, kind, by, within_s, read_now())
    with patience() as waiting:
        return _answer(disk, asked, within_s, waiting)


def _answer(disk: DurablePaths, asked: str, within_s: float, waiting: Waiting) -> Answer | None:
    began = read_now().mark
    while not isinstance(found := answer(disk, asked), Answer):
        if (elapsed_s(began, read_now()) or 0.0) >= within_s:
            return None
        waiting.wait(_LOOK_EVERY_S)
    return found
