"""control.worker: one slow thing at a time, beside the main thread."""

import threading

import pytest

from spoteval.control.worker import Worker
from spoteval.shape import Reading, Unreadable


def finished(worker: Worker, name: str) -> Reading[str]:
    """Wait for what the work said."""
    for thread in threading.enumerate():
        if thread.name == name:
            thread.join(30)
    said = worker.take(name)
    assert said is not None
    return said


def test_one_thing_at_a_time_and_its_word_once() -> None:
    """A second start is refused while the first is under way; the answer is taken once."""
    worker, gate = Worker(), threading.Event()

    def work() -> str:
        gate.wait(30)
        return "proved"

    assert worker.start("hold", work)
    assert worker.busy() == "hold"
    assert not worker.start("fact", lambda: "put")
    assert worker.take("hold") is None
    gate.set()
    assert finished(worker, "hold") == "proved"
    assert worker.take("hold") is None
    assert worker.busy() is None
    assert worker.start("fact", lambda: "put")
    assert finished(worker, "fact") == "put"


@pytest.mark.parametrize("error", [OSError("disk full"), ValueError("disk full")])
def test_a_failure_is_unreadable(error: Exception) -> None:
    """The loop hears of it and goes on."""

    def work() -> str:
        raise error

    worker = Worker()
    worker.start("hold", work)
    assert finished(worker, "hold") == Unreadable(f"{type(error).__name__}: disk full")
