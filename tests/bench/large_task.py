"""Many quick samples without a network: a mock model that answers at once and states its usage.

Run in the harness's own environment. Without a stated usage Inspect counts tokens with tiktoken, which downloads.
"""

import random

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import exact
from inspect_ai.solver import Generate, Solver, TaskState, solver

VOCABULARY = 4000


@task  # type: ignore[untyped-decorator, misc]
def large(n: int = 5000, chars: int = 2000) -> Task:
    """`n` samples with a prompt of about `chars` characters each; every second answer is right."""
    samples = [
        Sample(id=f"item-{i:05d}", input=_prompt(i, chars), target="yes" if i % 2 else "no")
        for i in range(n)
    ]
    return Task(dataset=MemoryDataset(samples, name="large"), solver=ask(), scorer=exact())


@solver  # type: ignore[untyped-decorator, misc]
def ask() -> Solver:
    """One call of the mock model."""
    model = get_model("mockllm/model", custom_outputs=_answer, memoize=False)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.output = await model.generate(state.messages)
        state.messages.append(state.output.message)
        return state

    return solve


def _prompt(item: int, chars: int) -> str:
    """Invented words, no two prompts alike: text that repeats itself would be packed into next to nothing."""
    draw = random.Random(item)
    words = (f"{draw.randrange(VOCABULARY) * 7919 % 1_000_003:x}" for _ in range(chars // 6))
    return f"Item {item}. {' '.join(words)}"


def _answer(messages: object, tools: object, choice: object, config: GenerateConfig) -> ModelOutput:
    output = ModelOutput.from_content("mockllm/model", "yes")
    output.usage = ModelUsage(input_tokens=500, output_tokens=1, total_tokens=501)
    return output
