"""A bounded slice of work: one thing after another, none blocking the next, until time or bytes are used up."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from spoteval.store.contract import StoreError, StoreRefused
from spoteval_agents.publication_follower.evidence import Changed
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

AWAY_AFTER = 3
"""Errors of the store in a row, of which the pass concludes that it is away; others wait for the next pass."""


@dataclass(slots=True)
class Slice:
    """What was done, and what was not, by name."""

    done: Done = field(default_factory=Done)
    finished: set[str] = field(default_factory=set)
    read: dict[str, Ident] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    waiting: list[str] = field(default_factory=list)
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


def work_off(target: Target, works: Sequence[Work], go_on: Callable[[int], bool]) -> Slice:
    """Carry out `works` in order while `go_on(bytes so far)` says so and the store answers."""
    result = Slice()
    for work in works:
        if result.unanswered >= AWAY_AFTER:
            break
        result.cut = not go_on(result.done.bytes)
        if result.cut:
            break
        _try(target, work, result)
    return result


def _try(target: Target, work: Work, result: Slice) -> None:
    try:
        done = carry(target, work)
    except Changed as changed:
        result.waiting.append(str(changed))
    except Withheld as held:
        result.withheld[work.name] = Held(str(held), held.ident)
    except StoreError as error:
        result.failed[work.name] = str(error)
        result.unanswered += not isinstance(error, StoreRefused)
    except Exception as error:  # noqa: BLE001 - one bad file never blocks another, whatever is wrong with it
        result.failed[work.name] = f"{work.name}: {_said(error)}"
    else:
        result.unanswered = 0
        _take(result, work, done)


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
        first.withheld | second.withheld,
        first.cut or second.cut,
        second.unanswered,
    )


def left_episodes(works: Sequence[Work], finished: set[str]) -> int:
    """Finished episodes that are not published."""
    return sum(isinstance(work, PutEpisode) and work.name not in finished for work in works)
