"""A bounded slice of work: one thing after another, none blocking the next, until time or bytes are used up."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from spoteval.store.contract import StoreError, StoreRefused
from spoteval_agents.publication_follower.batch import AWAY_AFTER, publish_batch
from spoteval_agents.publication_follower.evidence import Changed, Torn
from spoteval_agents.publication_follower.lanes import Failed, Lanes
from spoteval_agents.publication_follower.publisher import carry
from spoteval_agents.publication_follower.screen import Withheld
from spoteval_agents.publication_follower.sending import Done, Target
from spoteval_agents.publication_follower.work import (
    Held,
    Ident,
    PutEpisode,
    Work,
    withheld_name,
)

BATCH_BYTES = 8 << 20
"""What lies in memory at a time."""
_ONE = Lanes()


@dataclass(slots=True)
class Slice:
    """What was done, and what was not, by name."""

    done: Done = field(default_factory=Done)
    finished: set[str] = field(default_factory=set)
    read: dict[str, Ident] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    waiting: list[str] = field(default_factory=list)
    torn: dict[str, str] = field(default_factory=dict)
    """Works that wait since their file is half written."""
    withheld: dict[str, Held] = field(default_factory=dict)
    """Works that were not done since they hold a secret."""
    cut: bool = False
    """Whether time or bytes were used up before the works were."""
    unanswered: int = 0
    """Works in a row that the store did not answer."""

    @property
    def away(self) -> bool:
        """Whether the store is away, as far as this slice can tell."""
        return self.unanswered >= AWAY_AFTER or (self.unanswered > 0 and not self.finished)


def work_off(
    target: Target,
    works: Sequence[Work],
    go_on: Callable[[int], bool],
    lanes: Lanes = _ONE,
    most: int = 1,
) -> Slice:
    """Carry out `works` in order while `go_on(bytes so far)` says so and the store answers.

    Fresh episodes that follow each other are one batch, up to `most` of them.
    """
    result = Slice()
    for group in _groups(works, most):
        if result.unanswered >= AWAY_AFTER:
            break
        result.cut = not go_on(result.done.bytes)
        if result.cut:
            break
        _carry_out(target, group, result, lanes, lambda: go_on(result.done.bytes))
    return result


def _groups(works: Sequence[Work], most: int) -> Iterator[list[Work]]:
    group, size = list[Work](), 0
    for work in works:
        fits = len(group) < most and size + work.size <= BATCH_BYTES
        if group and not (_is_fresh(work) and _is_fresh(group[0]) and fits):
            yield group
            group, size = [], 0
        group.append(work)
        size += work.size
    if group:
        yield group


def _is_fresh(work: Work) -> bool:
    return isinstance(work, PutEpisode) and work.line is None


def _carry_out(
    target: Target, group: list[Work], result: Slice, lanes: Lanes, go_on: Callable[[], bool]
) -> None:
    fresh = [work for work in group if isinstance(work, PutEpisode) and work.line is None]
    answers: Sequence[Done | Failed | None]
    is_away = False
    if fresh:
        answers, is_away = publish_batch(target, fresh, lanes, go_on)
    else:
        answers = _ONE.each(lambda work: carry(target, work), group, lambda: True)
    for work, answer in zip(group, answers, strict=True):
        if isinstance(answer, Done):
            result.unanswered = 0
            _take(result, work, answer)
        elif answer is None:
            result.cut = not is_away
        else:
            _note(result, work, answer.error)
    if is_away:
        result.unanswered = AWAY_AFTER


def _note(result: Slice, work: Work, error: Exception) -> None:
    if isinstance(error, Torn):
        result.torn[work.name] = f"{work.name}: waits: {error.why}"
    if isinstance(error, Changed):
        result.waiting.append(str(error))
    elif isinstance(error, Withheld):
        result.withheld[work.name] = Held(str(error), error.ident)
    elif isinstance(error, StoreError):
        result.failed[work.name] = str(error)
        result.unanswered += not isinstance(error, StoreRefused)
    else:
        result.failed[work.name] = f"{work.name}: {_said(error)}"


def _take(result: Slice, work: Work, done: Done) -> None:
    result.finished.add(work.name)
    result.done.episodes += done.episodes
    result.done.files += done.files
    result.done.bytes += done.bytes
    if done.read is not None:
        result.read[work.name] = done.read
    if done.withheld:
        result.withheld[withheld_name(work.name)] = Held("; ".join(done.withheld))


def _said(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror is not None:
        return error.strerror
    return f"{type(error).__name__}: {error}"


def joined(first: Slice, second: Slice) -> Slice:
    """Two slices of one pass as one."""
    done, more = first.done, second.done
    failed = {name: why for name, why in first.failed.items() if name not in second.finished}
    return Slice(
        Done(done.episodes + more.episodes, done.files + more.files, done.bytes + more.bytes),
        first.finished | second.finished,
        first.read | second.read,
        failed | second.failed,
        [*first.waiting, *second.waiting],
        first.torn | second.torn,
        first.withheld | second.withheld,
        first.cut or second.cut,
        second.unanswered,
    )


def left_episodes(works: Sequence[Work], finished: set[str]) -> int:
    """Finished episodes that are not published."""
    return sum(isinstance(work, PutEpisode) and work.name not in finished for work in works)
