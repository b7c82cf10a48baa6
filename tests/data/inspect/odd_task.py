"""Samples that do not simply end: one fails, one hits its limit, one has a score that is a number."""

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from spoteval.local.demo_task import ask


@scorer(metrics=[mean()])  # type: ignore[untyped-decorator, misc]
def half() -> Scorer:
    """Gives 0.5 to all."""

    async def score(state: TaskState, target: Target) -> Score:
        return Score(value=0.5)

    return score


@solver  # type: ignore[untyped-decorator, misc]
def stumble() -> Solver:
    """Fails on one sample and asks without end on another."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        if state.sample_id == "fails-0":
            raise RuntimeError("no sandbox\nand a second line")
        return await ask(50 if state.sample_id == "limited-0" else 1)(state, generate)

    return solve


@task  # type: ignore[untyped-decorator, misc]
def odd() -> Task:
    """Three samples."""
    samples = [Sample(id=f"{name}-0", input=name) for name in ("fails", "limited", "plain")]
    return Task(MemoryDataset(samples), solver=stumble(), scorer=half(), message_limit=6)
