"""The one place in which decisions are told."""

import pytest

from restarter_story import now
from spoteval.control.eventlog import DecisionLog
from spoteval.decision import Decision


def told(
    log: DecisionLog, moments: dict[float, Decision], capsys: pytest.CaptureFixture[str]
) -> list[float]:
    """The moments of which the journal has a line."""
    heard = []
    for second, decision in moments.items():
        log.write(decision, now(second))
        if capsys.readouterr().err:
            heard.append(second)
    return heard


def test_what_stays_the_same_is_told_every_so_often(capsys: pytest.CaptureFixture[str]) -> None:
    """At the limit, not a moment before; another word or stage at once, and the same one again when it is back."""
    wait, other = Decision("wait", {"stage": "server"}), Decision("wait", {"stage": "preflight"})
    moments = {0.0: wait, 0.5: wait, 9.999: wait, 10.0: wait, 10.5: other, 11.0: wait, 20.999: wait}
    log = DecisionLog(None, told_every_s=10.0)
    assert told(log, moments, capsys) == [0.0, 10.0, 10.5, 11.0]
    assert told(DecisionLog(None), moments, capsys) == list(moments)
