"""One pass over one run: look, plan, work off, and look once more, since publishing writes to the witness."""

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from spoteval.clock import Now
from spoteval.harness.contract import Survey
from spoteval.run import RunRecord
from spoteval_agents.publication_follower.counted import Counted
from spoteval_agents.publication_follower.decide import chosen, conflict_text, plan
from spoteval_agents.publication_follower.lanes import Lanes
from spoteval_agents.publication_follower.ledger import PUBLISHED
from spoteval_agents.publication_follower.memory import Memory, Quiet
from spoteval_agents.publication_follower.observe import glance, is_settled, look
from spoteval_agents.publication_follower.sending import Target
from spoteval_agents.publication_follower.slice import Slice, joined, left_episodes, work_off
from spoteval_agents.publication_follower.uploading import abort_stale
from spoteval_agents.publication_follower.work import (
    AttemptId,
    Held,
    Ident,
    Kind,
    Known,
    Outcome,
    Plan,
    PutState,
    Seen,
)

ROUNDS = 2
AT_ONCE = 8
"""Episodes of a batch for each lane; in a final pass one, so that what is begun is also ended."""
_LOOKS = (Kind.REGULAR, Kind.SOON)


def _nothing() -> None:
    """Nobody listens."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a pass is about. `go_on(bytes)` says whether there is time left, and room in the slice."""

    target: Target
    record: RunRecord
    survey: Survey
    session: str
    kind: Kind
    go_on: Callable[[int], bool]
    lanes: Lanes = field(default_factory=Lanes)
    state_every_s: float = 0.0
    """Shortest time between two generations of a state file, in regular passes."""
    recent: frozenset[str] = frozenset()
    """Files that were published so shortly ago."""
    alive: Callable[[], None] = _nothing
    """Told whenever the store took something."""


def count_backlog(job: Job, memory: Memory) -> Outcome:
    """What a pass would have to look at, without doing it; files that may turn out to be published are counted."""
    seen = _seen(job, memory)
    todo = plan(seen, _known(job, memory, seen, {}, {}))
    beyond = job.survey.beyond
    left = left_episodes(todo.works, set()) + beyond
    return Outcome(left=left, backlog=len(todo.works) + beyond)


def make_pass(job: Job, memory: Memory, clock: Callable[[], Now]) -> Outcome:
    """Publish what is new. Raises OSError where the run's own logs cannot be read; all else is in the outcome."""
    began, store = clock(), Counted(job.target.store, job.alive)
    sight = glance(job.target.paths, job.record, job.survey, job.target.epoch)
    if memory.quiet is not None and memory.quiet.sight == sight and job.kind in _LOOKS:
        return replace(memory.quiet.outcome, took_s=clock().mono_s - began.mono_s)
    recent = memory.recent(job.state_every_s, began)
    job = replace(job, target=replace(job.target, store=store), recent=recent)
    abort_stale(store, job.target.journal)
    done, todo, last, beyond = Slice(), Plan(()), Slice(), 0
    conflicts = dict(job.target.journal.conflicts)
    for _ in range(ROUNDS):
        before = store.requests
        sight = glance(job.target.paths, job.record, job.survey, job.target.epoch)
        todo, last = _round(job, memory, done)
        done = joined(done, last)
        beyond = job.survey.beyond
        done.cut = done.cut or (beyond > 0 and job.kind is not Kind.LAST and not last.away)
        if store.requests == before or done.cut or last.away:
            break
    memory.learn(done.read, frozenset(done.failed), clock())
    memory.hold(done.withheld, done.finished)
    outcome = Outcome(
        episodes=done.done.episodes,
        files=done.done.files,
        bytes=done.done.bytes,
        requests=store.requests,
        left=left_episodes(todo.works, last.finished) + beyond,
        backlog=beyond + _left(todo, last.finished | memory.held.keys() | done.torn.keys()),
        errors=tuple(done.failed.values()),
        complaints=(
            *todo.complaints,
            *store.complaints,
            *done.torn.values(),
            *_new_conflicts(job, conflicts),
        ),
        withheld=memory.held,
        away=last.away,
        cut=done.cut,
        took_s=clock().mono_s - began.mono_s,
    )
    waits = done.waiting or any(isinstance(work, PutState) and work.is_early for work in todo.works)
    at_rest = store.requests == 0 and not (outcome.errors or outcome.cut or waits)
    is_quiet = at_rest and job.kind is Kind.REGULAR and is_settled(sight, began)
    memory.quiet = Quiet(sight, outcome) if is_quiet else None
    memory.note_witness(job.target)
    return outcome


def _left(todo: Plan, done: AbstractSet[str]) -> int:
    return sum(work.name not in done for work in todo.works)


def _new_conflicts(job: Job, before: Mapping[tuple[str, AttemptId], str]) -> Iterator[str]:
    """What this pass put beside its name."""
    for name, prefix in job.target.journal.conflicts.items():
        if name not in before:
            yield conflict_text(prefix)


def _round(job: Job, memory: Memory, done: Slice) -> tuple[Plan, Slice]:
    seen = _seen(job, memory)
    todo = plan(seen, _known(job, memory, seen, done.read, done.withheld))
    is_over = any(file.name == "end.json" for file in seen.own)
    again = job.kind is Kind.FINAL  # there is no next pass
    works = [
        work
        for work in chosen(todo.works, job.kind, is_over)
        if again or work.name not in done.failed
    ]
    count = job.lanes.count
    most = count if again or count == 1 else count * AT_ONCE
    return todo, work_off(
        job.target, works, lambda size: job.go_on(done.done.bytes + size), job.lanes, most
    )


def _seen(job: Job, memory: Memory) -> Seen:
    return look(job.target.paths, job.record, job.survey, job.session, memory.witness(job.target))


def _known(
    job: Job, memory: Memory, seen: Seen, read: dict[str, Ident], withheld: dict[str, Held]
) -> Known:
    journal, run = job.target.journal, job.target.run
    ledger = journal.ledger(run)
    return Known(
        put=journal.put,
        numbers=journal.numbers(run, (attempt.key for attempt in seen.attempts)),
        read={**memory.read, **read},
        failed=memory.failed,
        held={**memory.held, **withheld},
        recent=job.recent | read.keys() if job.state_every_s > 0 else frozenset(),
        is_published=lambda name: ledger.has(name, PUBLISHED),
    )
