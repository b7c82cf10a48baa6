"""All logs and buffers of one eval set together: every begin of a sample is one attempt, found once."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from spoteval.episode import Attempt, Outcome
from spoteval.harness.contract import Survey
from spoteval.harness.inspect_args import option
from spoteval.harness.inspect_buffer import Buffer
from spoteval.harness.inspect_log import Log, sample_attempt
from spoteval.harness.inspect_spec import changes

_LOST = "finished in the harness's buffer, which it did not read again"


@dataclass(frozen=True, slots=True)
class EvalSet:
    """What was read: logs oldest first, buffers, and the tasks that eval-set.json names, as (name, id)."""

    logs: tuple[Log, ...]
    buffers: tuple[Buffer, ...]
    tasks: tuple[tuple[str, str], ...] = ()

    @property
    def whole(self) -> tuple[Log, ...]:
        """The logs that say something of their own."""
        return tuple(log for log in self.logs if not log.half_recovered)

    def label(self, task: str, task_id: str) -> str:
        """The task's part of a key: its name, with its id where several tasks of the set share the name."""
        known = {*self.tasks, *((log.task, log.task_id) for log in self.logs)}
        shared = Counter(name for name, _ in known)[task] > 1
        return f"{task}~{task_id[:8]}" if shared else task

    def first(self) -> dict[str, Log]:
        """The log with which each task began, whichever was written to last.

        One whose samples were named is a resume that left some out, where there is another.
        """
        found: dict[str, Log] = {}
        for log in self.whole:
            known = found.setdefault(log.task_id, log)
            if _began(log) < _began(known):
                found[log.task_id] = log
        return found

    def latest(self) -> dict[str, Log]:
        """The log in which each task goes on: the one written last."""
        return {log.task_id: log for log in self.whole}


def _began(log: Log) -> tuple[bool, str]:
    return log.spec.by_id, log.spec.created


def tasks_of(eval_set_json: bytes) -> tuple[tuple[str, str], ...]:
    """The tasks that eval-set.json names; none where it is torn (Inspect writes it in place)."""
    try:
        tasks = json.loads(eval_set_json)["tasks"]
        return tuple((str(task["name"]), str(task["task_id"])) for task in tasks)
    except (ValueError, KeyError, TypeError):
        return ()


def survey_of(found: EvalSet) -> Survey:
    """Pure: what logs and buffers say, merged."""
    logged = list(_logged(found))
    recorded = {attempt.native_id for attempt in logged}
    rows = {
        row.attempt.native_id: row
        for row in _buffered(found)
        if row.attempt.native_id not in recorded
    }.values()
    cut = [_cut(row.attempt) for row in rows if not row.alive]
    alive = [row.attempt for row in rows if row.alive]
    numbered = _numbered([*logged, *cut, *alive])
    # One that SIGINT cut has its end in the buffer where KILL came before the log was written: it ran to no end.
    living = {item.native_id for item in alive if item.outcome is None or item.finished}
    return Survey(
        intended=_intended(found),
        changed=tuple(_changed(found)),
        attempts=tuple(item for item in numbered if item.native_id not in living),
        pending=tuple(item for item in numbered if item.native_id in living and item.outcome),
        in_flight=tuple(
            item for item in numbered if item.native_id in living and item.outcome is None
        ),
    )


@dataclass(frozen=True, slots=True)
class _Row:
    """A sample in a buffer. `alive`: its log is the one in which the task goes on."""

    attempt: Attempt
    alive: bool


def _logged(found: EvalSet) -> Iterator[Attempt]:
    """Each sample once, as the oldest log that holds it has it.

    A resumed run copies the samples it keeps into its new log, some of them written anew; the first log that holds
    one is the one that is never written again. Only an end is stronger than an older word of a cut.
    """
    first: dict[tuple[str, str], Attempt] = {}
    for log in found.whole:
        label = found.label(log.task, log.task_id)
        for sample in log.samples:
            attempt = sample if label == log.task else _labelled(sample, log.task, label)
            known = first.setdefault((attempt.key, attempt.native_id), attempt)
            if attempt.finished and not known.finished:
                first[attempt.key, attempt.native_id] = attempt
    yield from first.values()


def _labelled(sample: Attempt, task: str, label: str) -> Attempt:
    return replace(sample, key=label + sample.key.removeprefix(task))


def _buffered(found: EvalSet) -> Iterator[_Row]:
    logs = {log.path.name: log for log in found.whole}
    newest = found.latest()
    for buffer in found.buffers:
        log = logs.get(buffer.log)
        if log is None:
            continue  # no sample begins before its log is there
        label = found.label(log.task, log.task_id)
        alive = newest[log.task_id] is log and not log.closed
        for row in buffer.rows:
            if (attempt := row_attempt(label, row)) is not None:
                yield _Row(attempt, alive)


def row_attempt(label: str, row: Mapping[str, Any]) -> Attempt | None:
    """The attempt in a buffer's row, None for what is no sample.

    A row without an end is a sample that was running when the row was written.
    """
    try:
        attempt = sample_attempt(f"{label}/{row['id']}/{row['epoch']}", row)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return attempt if attempt.ended else replace(attempt, outcome=None)


def _cut(attempt: Attempt) -> Attempt:
    """A sample of a log that is over, and of which no log tells: its process died."""
    error = _LOST if attempt.outcome else attempt.error
    return replace(attempt, outcome=Outcome.PREEMPTION_INTERRUPTED, verdict=None, error=error)


def _numbered(attempts: Iterable[Attempt]) -> list[Attempt]:
    """The attempts with their number within the episode, from 1, in the order in which they began."""
    by_key: defaultdict[str, list[Attempt]] = defaultdict(list)
    for attempt in attempts:
        by_key[attempt.key].append(attempt)
    return [
        attempt if attempt.number == number else replace(attempt, number=number)
        for key in sorted(by_key)
        for number, attempt in enumerate(sorted(by_key[key], key=_begin), start=1)
    ]


def _begin(attempt: Attempt) -> tuple[float, str]:
    return (attempt.started.timestamp() if attempt.started else 0.0), attempt.native_id


def _intended(found: EvalSet) -> tuple[str, ...] | None:
    """The episodes of each task's first log; None until every task of the set has one."""
    first = found.first()
    if not first or any(task_id not in first for _, task_id in found.tasks):
        return None
    return tuple(
        f"{found.label(log.task, log.task_id)}/{sample}/{epoch}"
        for log in first.values()
        for sample, epoch in log.episodes
    )


def _changed(found: EvalSet) -> Iterator[str]:
    """What a later log of a task was begun with, and the first one was not."""
    first = found.first()
    for log in found.whole:
        begun = first[log.task_id]
        yield from (
            f"{what} since the first start ({log.path.name})"
            for what in changes(begun.spec, log.spec)
        )
        counts = _other_episodes(begun, log)
        if counts is not None:
            yield f"intended episodes changed {counts} since the first start ({log.path.name})"


def planned_change(found: EvalSet, args: Sequence[str]) -> str | None:
    """What `--limit` and `--epochs` among the arguments ask for, where the first start had another number.

    Seen before anything starts; a range, and what no argument tells, only in the header of a later log.
    """
    limit, epochs = option(args, "--limit"), option(args, "--epochs")
    first = [log for log in found.first().values() if not log.spec.by_id]
    known = sum(len(log.episodes) for log in first)
    wanted = sum(_planned(log, limit, epochs) for log in first)
    if wanted == known:
        return None
    return f"intended episodes changed {known} -> {wanted} since the first start"


def _planned(log: Log, limit: str | None, epochs: str | None) -> int:
    per_epoch = len({sample for sample, _ in log.episodes})
    times = len(log.episodes) // max(1, per_epoch)
    if limit is not None and limit.isdigit():
        per_epoch = min(int(limit), log.spec.dataset_samples)
    return per_epoch * (int(epochs) if epochs is not None and epochs.isdigit() else times)


def _other_episodes(begun: Log, log: Log) -> str | None:
    """How the episodes of two logs differ. A resume that leaves some out by their ids has not changed them."""
    known, seen = set(begun.episodes), set(log.episodes)
    is_part = log.spec.by_id and seen <= known
    if seen == known or (is_part and log.spec.dataset_samples == begun.spec.dataset_samples):
        return None
    others = f", {len(seen - known)} of them others" if seen - known else ""
    return f"{len(known)} -> {len(seen)}{others}"
