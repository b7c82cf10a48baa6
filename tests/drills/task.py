"""The evaluation that is drilled: samples of different lengths, one of which fails on its first try only.

Run in the harness's own environment, with SPOTEVAL_WITNESS naming the file in which episodes witness themselves.
"""

import asyncio

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.hooks import Hooks, SampleEnd, SampleStart, hooks
from inspect_ai.model import ChatMessageUser
from inspect_ai.scorer import exact
from inspect_ai.solver import Generate, Solver, TaskState, solver

from spoteval.local import witness
from spoteval.local.model_server import WORDS, answer

FAILS, HOLD = "item-001", "hold"


@task
def drill(n: int = 9) -> Task:
    """`n` samples of one to three questions each; the stand-in is right about every second one."""
    samples = [
        Sample(
            id=f"item-{i:03d}", input=f"Item {i}.", target=_target(i), metadata={"turns": 2 + i % 3}
        )
        for i in range(n)
    ]
    return Task(dataset=MemoryDataset(samples, name="drill"), solver=ask(), scorer=exact())


@solver
def ask() -> Solver:
    """Ask for a word a few times; the one that fails does so after its first answer, until it has failed once."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        if state.sample_id == FAILS and _failed_before():
            witness.write("again", FAILS, 1)
        for turn in range(1, state.metadata["turns"] + 1):
            await _while_held()
            item = int(str(state.sample_id).rpartition("-")[2])
            state.messages.append(ChatMessageUser(content=_question(item, turn)))
            state = await generate(state)
            if state.sample_id == FAILS and not _failed_before():
                witness.write("fail", FAILS, 1)
                raise RuntimeError("the sandbox did not come up")
        return state

    return solve


@hooks(name="witness", description="appends the begin and the true end of each episode to a file")
class Witness(Hooks):
    """Begins and ends, counted by the episodes themselves and not by the harness."""

    async def on_sample_start(self, data: SampleStart) -> None:
        """The episode's first act."""
        witness.write("begin", data.summary.id, data.summary.epoch)

    async def on_sample_end(self, data: SampleEnd) -> None:
        """Called once the harness has the sample safe: see the demo's task."""
        error = data.sample.error
        is_cut = error is not None and error.message.startswith("CancelledError")
        word = "end" if error is None else "cut" if is_cut else "error"
        witness.write(word, data.sample.id, data.sample.epoch)


async def _while_held() -> None:
    """Who runs when the machine is about to be taken still runs when it is."""
    path = witness.path()
    while path is not None and path.with_name(HOLD).exists():
        await asyncio.sleep(0.05)


def _failed_before() -> bool:
    path = witness.path()
    return path is not None and path.exists() and f"fail {FAILS} " in path.read_text()


def _question(item: int, turn: int) -> str:
    return f"Item {item}, turn {turn}: answer with one word."


def _target(item: int) -> str:
    said = WORDS.index(answer(_question(item, 2 + item % 3)))
    return WORDS[(said + item % 2) % len(WORDS)]
