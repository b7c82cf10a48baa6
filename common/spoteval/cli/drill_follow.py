"""Waiting for what a drill brings, and saying each expectation when it is known."""

from collections.abc import Callable

from spoteval.cli.output import step
from spoteval.clock import monotonic_s
from spoteval.drill.expect import Expectation, verdict
from spoteval.drill.screen import line
from spoteval.loop import Waiting

Judged = tuple[str, tuple[Expectation, ...]]
Judge = Callable[[bool], tuple[Expectation, ...]]
"""The expectations now; with True, what is still open has failed."""
EVERY_S = 2.0


def followed(
    judge: Judge, within_s: float, waiting: Waiting, act: Callable[[], bool] = lambda: True
) -> tuple[Expectation, ...]:
    """Judge until nothing is open, or `within_s` seconds are over, or `act` (what is due now) ends it with False."""
    began_s, told = monotonic_s(), set[tuple[int, str]]()
    while True:
        goes_on = act()
        found = judge(not goes_on or monotonic_s() - began_s >= within_s)
        for item in found:
            if item.passed is not None and (item.stop, item.what) not in told:
                told.add((item.stop, item.what))
                step(line(item))
        if verdict([item for item in found if item.passed is None]) is True:
            return found
        waiting.wait(EVERY_S)
