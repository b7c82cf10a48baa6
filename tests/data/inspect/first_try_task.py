"""Samples that say when they begin and end; some fail on their first try, whoever makes it."""

import asyncio
import os
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import exact
from inspect_ai.solver import Generate, Solver, TaskState, solver


def _say(word: str, sample: object, epoch: int) -> int:
    """Append a line to the witness; how many lines of this kind there are."""
    path = Path(os.environ["SPOTEVAL_WITNESS"])
    line = f"{word} {sample} {epoch}\n"
    with path.open("a") as out:
        out.write(line)
    return path.read_text().count(line)


def _waits(sample: object, epoch: int) -> bool:
    """Whether this one is to be cut: it began as the one numbered in `wait-from`, or later."""
    witness = Path(os.environ["SPOTEVAL_WITNESS"])
    first = witness.with_name("wait-from")
    begins = [line for line in witness.read_text().splitlines() if line.startswith("begin ")]
    return first.exists() and begins.index(f"begin {sample} {epoch}") + 1 >= int(first.read_text())


@solver  # type: ignore[untyped-decorator, misc]
def answer(seconds: float, fails: list[str]) -> Solver:
    """Wait, and answer without a model: sample 2 rightly, sample 3 wrongly, and so on."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        tries = _say("begin", state.sample_id, state.epoch)
        await asyncio.sleep(seconds)
        while _waits(state.sample_id, state.epoch):
            await asyncio.sleep(seconds)
        if str(state.sample_id) in fails and tries == 1:
            _say("fail", state.sample_id, state.epoch)
            raise RuntimeError("fails on its first try")
        state.output.completion = "yes"
        _say("end", state.sample_id, state.epoch)
        return state

    return solve


@task  # type: ignore[untyped-decorator, misc]
def first_try(n: int = 8, seconds: float = 0.5, fails: str = "s-1") -> Task:
    """`n` samples, two of which have ids that a list on a command line does not take well."""
    ids = [f"s-{number}" for number in range(n - 2)] + ["odd, [id]", "17"]
    samples = [
        Sample(id=name, input="?", target="yes" if at % 2 == 0 else "no")
        for at, name in enumerate(ids)
    ]
    return Task(MemoryDataset(samples), solver=answer(seconds, fails.split(".")), scorer=exact())
