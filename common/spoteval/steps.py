"""Bounded ordered steps: each runs within its time, and runs even if an earlier one failed or hangs."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from spoteval.clock import monotonic_s


@dataclass(frozen=True, slots=True)
class Step:
    """One step. `act` gets the seconds it may take and returns a word on what it did."""

    name: str
    within_s: float
    act: Callable[[float], str]


@dataclass(frozen=True, slots=True)
class StepResult:
    """How a step went: `ok`, what it said or what failed, and the seconds it took."""

    name: str
    ok: bool
    detail: str
    took_s: float

    def record(self) -> dict[str, object]:
        """The result as a line of steps.jsonl."""
        return {
            "step": self.name,
            "ok": self.ok,
            "detail": self.detail,
            "took_s": round(self.took_s, 3),
        }


def run_steps(steps: Sequence[Step], tell: Callable[[StepResult], None]) -> tuple[StepResult, ...]:
    """Run every step in order and tell each result as soon as it is there."""
    return tuple(_told(_bounded(step), tell) for step in steps)


def _told(result: StepResult, tell: Callable[[StepResult], None]) -> StepResult:
    tell(result)
    return result


def _bounded(step: Step) -> StepResult:
    """Run in a daemon thread: a write to a dead disk blocks in the kernel, and the next step must still come."""
    said: list[tuple[bool, str]] = []

    def work() -> None:
        try:
            said.append((True, step.act(step.within_s)))
        except Exception as error:  # noqa: BLE001 - whatever failed, the next step must run
            said.append((False, f"{type(error).__name__}: {error}"))

    began_s = monotonic_s()
    thread = threading.Thread(target=work, name=step.name, daemon=True)
    thread.start()
    thread.join(step.within_s)
    ok, detail = said[0] if said else (False, f"not done within {step.within_s:.1f} s")
    return StepResult(step.name, ok, detail, monotonic_s() - began_s)
