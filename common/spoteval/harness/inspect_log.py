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
from spoteval.harness.inspect_spec import Spec, spec_of
from spoteval.harness.inspect_zip import Archive
from spoteval.shape import Reading, Unreadable

# How Inspect writes the error of a sample that was cut: the exception's repr, asyncio's or trio's.
_CUT = ("CancelledError(", "Cancelled(")
_JOURNAL = re.compile(r"_journal/summaries/(\d+)\.json")
_SUMMARIES = "summaries.json"
_ERROR_CHARS = 300


@dataclass(frozen=True, slots=True)
class Piece:
    """The summaries in one member. No flush writes a member anew, so what is known of one is not read again."""

    name: str
    crc: int
    samples: tuple[Attempt, ...]


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
    """Samples whose member is in the file. Their key is `<task>/<sample id>/<epoch>`, their number 1."""
    spec: Spec
    pieces: tuple[Piece, ...] = ()

    @property
    def half_recovered(self) -> bool:
        """Inspect's own copy of a log whose process died, and its writer died too: the original has all."""
        return self.path.stem.endswith("-recovered") and not self.closed

    @property
    def kept(self) -> frozenset[str]:
        """Keys of the samples that Inspect does not run again when it goes on from this log."""
        return frozenset(
            sample.key for sample in self.samples if sample.outcome is Outcome.COMPLETED
        )


def read_log(path: Path, known: Log | None = None) -> Reading[Log]:
    """The log at `path`; Unreadable where anything in it is torn or not as Inspect writes it.

    `known`: what it said before it was written anew; then only what is new is read.
    """
    try:
        with Archive(path) as archive:
            return _log(path, archive, known)
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
        number=1,
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


def _log(path: Path, archive: Archive, known: Log | None) -> Log:
    closed = "header.json" in archive.names
    header = json.loads(archive.read("header.json" if closed else "_journal/start.json"))
    spec = header["eval"]
    task = str(spec["task"])
    pieces = _pieces(path, archive, task, known)
    return Log(
        path=path,
        task=task,
        task_id=str(spec["task_id"]),
        episodes=_episodes(spec),
        closed=closed,
        samples=_latest(pieces, archive),
        spec=spec_of(header),
        pieces=pieces,
    )


def _episodes(spec: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    epochs = range(1, int(spec["config"].get("epochs") or 1) + 1)
    return tuple((str(sample), n) for sample in spec["dataset"]["sample_ids"] for n in epochs)


def _latest(pieces: Iterable[Piece], archive: Archive) -> tuple[Attempt, ...]:
    """The last summary of each sample: like the sample's member, a later one replaces those before it."""
    last = {sample.key: sample for piece in pieces for sample in piece.samples}
    return tuple(sample for sample in last.values() if sample.parts[0].member in archive.entries)


def _pieces(path: Path, archive: Archive, task: str, known: Log | None) -> tuple[Piece, ...]:
    """The journal, flush by flush. Where it does not tell of every sample, the list that closes a log does."""
    before = {piece.name: piece for piece in known.pieces} if known is not None else {}
    pieces = tuple(
        _piece(path, archive, task, name, before.get(name)) for name in _journal(archive)
    )
    if _SUMMARIES in archive.entries:
        told = {sample.parts[0].member for piece in pieces for sample in piece.samples}
        if not told.issuperset(name for name in archive.entries if name.startswith("samples/")):
            return (_piece(path, archive, task, _SUMMARIES, before.get(_SUMMARIES)),)
    return pieces


def _piece(path: Path, archive: Archive, task: str, name: str, before: Piece | None) -> Piece:
    crc = archive.entries[name].crc
    if before is not None and before.crc == crc:
        return before
    summaries = json.loads(archive.read(name))
    return Piece(name, crc, tuple(_sample(path, task, summary) for summary in summaries))


def _sample(path: Path, task: str, summary: Mapping[str, Any]) -> Attempt:
    sample, epoch = summary["id"], int(summary["epoch"])
    member = f"samples/{sample}_epoch_{epoch}.json"
    return sample_attempt(f"{task}/{sample}/{epoch}", summary, (Part("sample.json", path, member),))


def _journal(archive: Archive) -> list[str]:
    numbered = ((_JOURNAL.fullmatch(name), name) for name in archive.entries)
    return [name for _, name in sorted((int(found[1]), name) for found, name in numbered if found)]


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
