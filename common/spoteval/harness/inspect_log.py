"""One Inspect log (`.eval`): its header, and the samples that it really holds."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from spoteval.clock import parse_stamp
from spoteval.episode import Attempt, Outcome, Part, Usage
from spoteval.harness.inspect_zip import Archive
from spoteval.shape import Reading, Unreadable

# How Inspect writes the error of a sample that was cut: the exception's repr, asyncio's or trio's.
_CUT = ("CancelledError(", "Cancelled(")
_JOURNAL = re.compile(r"_journal/summaries/(\d+)\.json")
_ERROR_CHARS = 300


@dataclass(frozen=True, slots=True)
class Log:
    """What one log says. `closed`: it has its header, so no process writes to it any more."""

    path: Path
    task: str
    task_id: str
    episodes: tuple[tuple[str, int], ...]
    """Sample id and epoch of every episode that the log was begun for."""
    closed: bool
    samples: tuple[Attempt, ...]
    """Samples whose member is in the file. Their key is `<sample id>/<epoch>`: the task comes before it."""

    @property
    def half_recovered(self) -> bool:
        """Inspect's own copy of a log whose process died, and its writer died too: the original has all."""
        return self.path.stem.endswith("-recovered") and not self.closed

    @property
    def finished(self) -> int:
        """How many of the samples ended by themselves."""
        return sum(sample.finished for sample in self.samples)


def read_log(path: Path) -> Reading[Log]:
    """The log at `path`; Unreadable where anything in it is torn or not as Inspect writes it."""
    try:
        with Archive(path) as archive:
            return _log(path, archive)
    except OSError as error:
        return Unreadable(f"{path}: {error.strerror}")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return Unreadable(f"{path}: {type(error).__name__}: {error}")


def sample_attempt(key: str, summary: Mapping[str, Any], parts: tuple[Part, ...] = ()) -> Attempt:
    """The attempt that a sample's summary tells of; raises for what is no summary.

    An error that says "cancelled" is a cut, whoever cut it; every other error is the harness's.
    """
    error = summary.get("error")
    return Attempt(
        key=key,
        native_id=str(summary.get("uuid") or f"{key}@{summary.get('started_at')}"),
        outcome=_outcome(error),
        verdict=None if error else _verdict(summary.get("scores") or {}),
        limit=summary.get("limit"),
        error=_said(error),
        usage=_usage((summary.get("model_usage") or {}).values()),
        started=_moment(summary.get("started_at")),
        ended=_moment(summary.get("completed_at")),
        parts=parts,
    )


def _log(path: Path, archive: Archive) -> Log:
    closed = "header.json" in archive.names
    header = json.loads(archive.read("header.json" if closed else "_journal/start.json"))
    spec = header["eval"]
    epochs = range(1, int(spec["config"].get("epochs") or 1) + 1)
    ids = [str(sample) for sample in spec["dataset"]["sample_ids"]]
    return Log(
        path=path,
        task=str(spec["task"]),
        task_id=str(spec["task_id"]),
        episodes=tuple((sample, epoch) for sample in ids for epoch in epochs),
        closed=closed,
        samples=tuple(_samples(path, archive)),
    )


def _samples(path: Path, archive: Archive) -> Iterable[Attempt]:
    for summary in _summaries(archive):
        member = f"samples/{summary['id']}_epoch_{summary['epoch']}.json"
        if member in archive.names:
            key = f"{summary['id']}/{summary['epoch']}"
            yield sample_attempt(key, summary, (Part("sample.json", path, member),))


def _summaries(archive: Archive) -> Iterable[dict[str, Any]]:
    """The last summary of each sample: like the sample's member, a later one replaces those before it."""
    last: dict[tuple[str, int], dict[str, Any]] = {}
    for name in _summary_members(archive.names):
        for summary in json.loads(archive.read(name)):
            last[str(summary["id"]), int(summary["epoch"])] = summary
    return last.values()


def _summary_members(names: frozenset[str]) -> list[str]:
    if "summaries.json" in names:
        return ["summaries.json"]
    numbered = [(int(found[1]), name) for name in names if (found := _JOURNAL.fullmatch(name))]
    return [name for _, name in sorted(numbered)]


def _outcome(error: str | None) -> Outcome:
    if not error:
        return Outcome.COMPLETED
    return Outcome.PREEMPTION_INTERRUPTED if error.startswith(_CUT) else Outcome.HARNESS_ERROR


def _verdict(scores: Mapping[str, Mapping[str, Any]]) -> str | None:
    """The value of the first scorer as text: "C" and "I" as they are, anything else as JSON."""
    for score in scores.values():
        value = score.get("value")
        return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return None


def _usage(models: Iterable[Mapping[str, Any]]) -> Usage:
    """Over all models that the sample called. Inspect counts input from a cache apart from the rest."""
    spent = made = 0
    for model in models:
        spent += sum(int(model.get(f"input_tokens{kind}") or 0) for kind in _INPUT_KINDS)
        made += int(model.get("output_tokens") or 0)
    return Usage(spent, made)


_INPUT_KINDS = ("", "_cache_read", "_cache_write")


def _moment(text: str | None) -> datetime | None:
    return parse_stamp(text) if text else None


def _said(error: str | None) -> str | None:
    """The error in one line. What a cancellation has to say is only where in the program it came."""
    if not error:
        return None
    if error.startswith(_CUT):
        return error.partition("(")[0]
    return error.strip().partition("\n")[0][:_ERROR_CHARS]
