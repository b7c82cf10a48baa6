"""What a settlement is about, read from records alone: the interrupted episodes, and what becomes of each."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from spoteval.clock import Now
from spoteval.control.markers import is_settled
from spoteval.control.runfiles import interruptions, progress
from spoteval.control.settling import cut_attempts
from spoteval.episode import RUN_NONE_AGAIN, Attempt, Usage, counted
from spoteval.files import read_lines
from spoteval.harness.contract import Survey
from spoteval.interruption import UNDECIDED
from spoteval.paths import RunPaths
from spoteval.publication.keys import MANIFEST
from spoteval.publication.manifest import Manifest, manifest_from
from spoteval.run import RunRecord
from spoteval.settlement import settle, settled_attempts
from spoteval.shape import Reading, Unreadable

THEN: Mapping[str, str] = {
    "fresh_budget": "run again from scratch, full budget",
    "remaining_budget": "run again with what is left of the budget",
    "continued": "goes on where it was cut",
    RUN_NONE_AGAIN: "not run again",
}


@dataclass(frozen=True, slots=True)
class Interrupted:
    """One interrupted episode: its class now, its attempts and what they spent; `settled`: its line is written."""

    episode: str
    outcome: str
    attempts: int
    usage: Usage
    settled: bool

    def record(self, policy: str) -> dict[str, object]:
        """As `spoteval settle --dry-run --json` prints it."""
        return {
            "episode": self.episode,
            "class": self.outcome,
            "attempts": self.attempts,
            "input_tokens": self.usage.input_tokens,
            "output_tokens": self.usage.output_tokens,
            "settled": self.settled,
            "then": THEN[policy],
        }


@dataclass(frozen=True, slots=True)
class SettlePlan:
    """What `settle` would find. `intended` is None where nobody knows what was intended."""

    run: str
    policy: str
    interrupted: tuple[Interrupted, ...]
    finished: int
    intended: int | None

    def record(self) -> dict[str, object]:
        """As a JSON object."""
        return {
            "run": self.run,
            "policy": self.policy,
            "finished": self.finished,
            "intended": self.intended,
            "interrupted": [item.record(self.policy) for item in self.interrupted],
        }


def settle_plan(run: RunRecord, paths: RunPaths, survey: Survey, now: Now) -> Reading[SettlePlan]:
    """Exactly the episodes that were cut and have not ended since. Writes nothing; raises OSError."""
    found = progress(paths)
    if isinstance(found, Unreadable):
        return found
    known = read_lines(paths.settlement).records
    ended = (*found.finished, *_published(paths), *(a for a in survey.attempts if a.finished))
    records = [attempt.record() for attempt in ended]
    fresh = _fresh(run, paths, cut_attempts(survey, records), known, now)
    attempts = _by_episode((*ended, *settled_attempts(known), *fresh))
    intended = survey.intended if found.intended is None else found.intended
    keys = sorted(attempts) if intended is None else dict.fromkeys(intended)
    counting = {key: counted(attempts[key].values()) for key in keys if key in attempts}
    open_keys = {attempt.key for attempt in fresh}
    return SettlePlan(
        run=run.name,
        policy=run.plan.settlement,
        interrupted=tuple(
            _interrupted(attempt, tuple(attempts[key].values()), key not in open_keys)
            for key, attempt in counting.items()
            if attempt is not None and attempt.outcome is not None and not attempt.finished
        ),
        finished=sum(attempt is not None and attempt.finished for attempt in counting.values()),
        intended=None if intended is None else len(set(intended)),
    )


def _fresh(
    run: RunRecord,
    paths: RunPaths,
    cut: tuple[Attempt, ...],
    known: tuple[dict[str, object], ...],
    now: Now,
) -> tuple[Attempt, ...]:
    """What was cut and has no line yet, with the outcome that its line would give it."""
    unsettled = [item for _, item in sorted(interruptions(paths).items()) if item.counts]
    unsettled = [item for item in unsettled if not is_settled(paths, item.opened.id)]
    cause = unsettled[0].cause if unsettled else UNDECIDED
    lines = settle(cut, known, "", cause, run.plan.settlement, now.wall)
    return settled_attempts(line.record() for line in lines)


def _interrupted(counts: Attempt, attempts: tuple[Attempt, ...], settled: bool) -> Interrupted:
    usage = Usage(
        sum(item.usage.input_tokens for item in attempts),
        sum(item.usage.output_tokens for item in attempts),
    )
    return Interrupted(counts.key, str(counts.outcome), len(attempts), usage, settled)


def _by_episode(attempts: Iterable[Attempt]) -> dict[str, dict[str, Attempt]]:
    """Attempts by episode and native id, each once: the first word about one counts."""
    found: dict[str, dict[str, Attempt]] = {}
    for attempt in attempts:
        found.setdefault(attempt.key, {}).setdefault(attempt.native_id, attempt)
    return found


def _published(paths: RunPaths) -> Iterator[Attempt]:
    """Attempts whose manifest lies in the tree, as in a pulled one: the witness may be a pass behind it."""
    for path in sorted((paths.root / "episodes").glob(f"*/*/{MANIFEST}")):
        manifest = manifest_from(path.read_bytes(), str(path))
        if isinstance(manifest, Manifest):
            yield manifest.attempt
