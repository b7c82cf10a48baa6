"""Run inside the harness's environment: what Inspect itself reads from a directory of logs.

Prints {"logs": number opened, "task_args": …, "verdicts": {"task/sample/epoch": [verdict, …]}}; a
sample that stands in several logs, because a retry copied it, gives each of its verdicts once.
"""

import json
import sys
from pathlib import Path

from inspect_ai.log import EvalLog, read_eval_log


def main(folder: str) -> None:
    """Read every log of the folder; a log that does not open ends the program with a traceback."""
    logs = [read_eval_log(str(path)) for path in sorted(Path(folder).rglob("*.eval"))]
    verdicts: dict[str, set[str]] = {}
    for log in logs:
        for name, verdict in _ended(log):
            verdicts.setdefault(name, set()).add(verdict)
    found = {name: sorted(several) for name, several in sorted(verdicts.items())}
    task_args = logs[-1].eval.task_args if logs else {}
    print(json.dumps({"logs": len(logs), "task_args": task_args, "verdicts": found}))


def _ended(log: EvalLog) -> list[tuple[str, str]]:
    """Name and verdict of each sample that ended by itself."""
    return [
        (f"{log.eval.task}/{sample.id}/{sample.epoch}", _verdict(sample.scores))
        for sample in log.samples or []
        if sample.error is None and sample.scores
    ]


def _verdict(scores: dict[str, object]) -> str:
    return json.dumps({name: getattr(score, "value", None) for name, score in scores.items()})


if __name__ == "__main__":
    main(sys.argv[1])
