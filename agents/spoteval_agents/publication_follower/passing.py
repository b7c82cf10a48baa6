"""One pass over one run: look, plan, work off, and look once more, since publishing writes to the witness."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from spoteval.clock import Now
from spoteval.harness.contract import Survey
from spoteval.run import RunRecord
from spoteval_agents.publication_follower.counted import Counted
from spoteval_agents.publication_follower.decide import chosen, plan
from spoteval_agents.publication_follower.memory import Memory, Quiet
from spoteval_agents.publication_follower.observe import glance, is_settled, look
from spoteval_agents.publication_follower.sending import Target
from spoteval_agents.publication_follower.slice import Slice, joined, left_episodes, work_off
from spoteval_agents.publication_follower.work import (
    Held,
    Ident,
    Kind,
    Known,
    Outcome,
    Plan,
    Seen,
)

ROUNDS = 2
_LOOKS = (Kind.REGULAR, Kind.SOON)


@dataclass(frozen=True, slots=True)
class Job:
    """What a pass is about. `go_on(bytes)` says whether there is time left, and room in the slice."""

    target: Target
    record: RunRecord
    survey: Survey
    session: str
    kind: Kind
    go_on: Callable[[int], bool]


def count_backlog(job: Job, memory: Memory) -> Outcome:
    """What a pass would have to look at, without doing it; files that may turn out to be published are counted."""
    todo = plan(_seen(job), _known(job, memory, {}, {}))
    return Outcome(left=left_episodes(todo.works, set()), backlog=len(todo.works))


def make_pass(job: Job, memory: Memory, clock: Callable[[], Now]) -> Outcome:
    """Publish what is new. Raises OSError where the run's own logs cannot be read; all else is in the outcome."""
    began, store = clock(), Counted(job.target.store)
    sight = glance(job.target.paths, job.record, job.survey, job.target.epoch)
    if memory.quiet is not None and memory.quiet.sight == sight and job.kind in _LOOKS:
        return replace(memory.quiet.outcome, took_s=clock().mono_s - began.mono_s)
    job = replace(job, target=replace(job.target, store=store))
    done, todo, last = Slice(), Plan(()), Slice()
    for _ in range(ROUNDS):
        before = store.requests
        sight = glance(job.target.paths, job.record, job.survey, job.target.epoch)
        todo, last = _round(job, memory, done)
        done = joined(done, last)
        if store.requests == before or done.cut or last.away:
            break
    memory.learn(done.read, frozenset(done.failed), clock())
    memory.hold(done.withheld, done.finished)
    outcome = Outcome(
        episodes=done.done.episodes,
        files=done.done.files,
        bytes=done.done.bytes,
        requests=store.requests,
        left=left_episodes(todo.works, last.finished),
        backlog=sum(
            work.name not in last.finished and work.name not in memory.held for work in todo.works
        ),
        errors=tuple(done.failed.values()),
        complaints=todo.complaints,
        withheld=memory.held,
        away=last.away,
        cut=done.cut,
        took_s=clock().mono_s - began.mono_s,
    )
    at_rest = store.requests == 0 and not (outcome.errors or outcome.cut or done.waiting)
    is_quiet = at_rest and job.kind is Kind.REGULAR and is_settled(sight, began)
    memory.quiet = Quiet(sight, outcome) if is_quiet else None
    return outcome


def _round(job: Job, memory: Memory, done: Slice) -> tuple[Plan, Slice]:
    seen = _seen(job)
    todo = plan(seen, _known(job, memory, done.read, done.withheld))
    is_over = any(file.name == "end.json" for file in seen.own)
    again = job.kind is Kind.FINAL  # there is no next pass
    works = [
        work
        for work in chosen(todo.works, job.kind, is_over)
        if again or work.name not in done.failed
    ]
    return todo, work_off(job.target, works, lambda size: job.go_on(done.done.bytes + size))


def _seen(job: Job) -> Seen:
    put = job.target.journal.put
    return look(job.target.paths, job.record, job.survey, job.session, put)


def _known(job: Job, memory: Memory, read: dict[str, Ident], withheld: dict[str, Held]) -> Known:
    journal = job.target.journal
    numbers = journal.number_of(job.target.run)
    known = {**memory.held, **withheld}
    return Known(journal.put, numbers, {**memory.read, **read}, memory.failed, known)
