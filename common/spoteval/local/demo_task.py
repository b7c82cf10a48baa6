"""The evaluation of the demo: an Inspect task whose episodes also witness themselves.

Run in the harness's own environment: inspect eval-set …/demo_task.py@demo -T n=24 …
"""

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.hooks import Hooks, SampleEnd, SampleStart, hooks
from inspect_ai.model import ChatMessageUser
from inspect_ai.scorer import exact
from inspect_ai.solver import Generate, Solver, TaskState, solver

from spoteval.local import witness
from spoteval.local.model_server import WORDS, answer


@task
def demo(n: int = 24, turns: int = 4) -> Task:
    """`n` samples of `turns` questions each; the stand-in is right about every second one."""
    samples = [
        Sample(id=f"item-{i:03d}", input=f"Item {i}.", target=_target(i, turns)) for i in range(n)
    ]
    return Task(dataset=MemoryDataset(samples, name="demo"), solver=ask(turns), scorer=exact())


@solver
def ask(turns: int) -> Solver:
    """Ask for a word `turns` times, so that a preemption finds tokens already spent."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        item = int(str(state.sample_id).rpartition("-")[2])
        for turn in range(1, turns + 1):
            state.messages.append(ChatMessageUser(content=_question(item, turn)))
            state = await generate(state)
        return state

    return solve


@hooks(name="witness", description="appends the begin and the true end of each episode to a file")
class Witness(Hooks):
    """Begins and ends, counted by the episodes themselves and not by the harness."""

    def enabled(self) -> bool:
        """Only where a file is named."""
        return witness.path() is not None

    async def on_sample_start(self, data: SampleStart) -> None:
        """The episode's first act."""
        witness.write("begin", data.summary.id, data.summary.epoch)

    async def on_sample_end(self, data: SampleEnd) -> None:
        """An `end` says that the harness keeps the sample, also when the process is killed now.

        Inspect 0.3.285 calls this hook after it has committed the sample to its buffer (and, where a flush was
        due, to the log). An earlier point, such as the solver's last line, would call a sample finished that a
        kill takes back, and its rightful rerun a second run. The other way round a kill in the milliseconds
        between (0.2 to 9, with a flush 15 to 55) leaves a sample that is kept and has no `end`: never counted
        as rerun, never as lost. A sample that SIGINT cuts, in its solver or its scorer, comes here with an error.
        """
        word = "end" if data.sample.error is None else "cut"
        witness.write(word, data.sample.id, data.sample.epoch)


def _question(item: int, turn: int) -> str:
    return f"Item {item}, turn {turn}: answer with one word."


def _target(item: int, turns: int) -> str:
    said = WORDS.index(answer(_question(item, turns)))
    return WORDS[(said + item % 2) % len(WORDS)]
