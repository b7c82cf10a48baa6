"""One cycle: is a pass due or asked for, may anything be published, then the pass, its line and its answers."""

from contextlib import suppress
from dataclasses import replace

from spoteval.clock import Now, elapsed_s
from spoteval.control import requests
from spoteval.control.acknowledged import note_progress
from spoteval.control.boot import Boot, recorded_boot
from spoteval.control.disk import prove
from spoteval.control.eventlog import log_event
from spoteval.control.requests import Answer, Request
from spoteval.decision import Decision
from spoteval.paths import DurablePaths
from spoteval.shape import Unreadable
from spoteval.store.contract import Store, StoreError
from spoteval_agents.publication_follower.calling import call_for_files
from spoteval_agents.publication_follower.decide import (
    AGENT,
    decide,
    nothing,
    stuck,
    unclaimed,
)
from spoteval_agents.publication_follower.heartbeat import beat_of
from spoteval_agents.publication_follower.job import GoOn, World, active_record, make_job
from spoteval_agents.publication_follower.memory import Memory
from spoteval_agents.publication_follower.passing import Job, count_backlog, make_pass
from spoteval_agents.publication_follower.urgent import Urgent
from spoteval_agents.publication_follower.work import Kind, Outcome

CALL_S = 20.0
"""What a call that was begun in a slice may take beyond it."""
SLICE_S, SLICE_BYTES = 20.0, 64 * (1 << 20)
LAST_S = 2.0
"""What the follower takes when it is itself being stopped."""
MARGIN_S = 0.2
"""Kept of a final pass for its answer."""
CALL_AFTER_S = 900.0
"""How long publication may fail before a person is called."""


def cycle(world: World, memory: Memory) -> None:
    """Look, and make a pass where one is due or asked for. Raises OSError where our own files cannot be written."""
    now = world.clock()
    proof = prove(world.config)
    if isinstance(proof, Unreadable):
        _postpone(world, memory, now)
        memory.log.path = None
        memory.say(nothing("no-disk", proof.why), now)
        return
    disk = proof.paths
    memory.log.path = disk.root / "decisions" / f"{AGENT}.jsonl"
    asked = requests.pending(disk)
    if asked or now.mono_s >= memory.due_s:
        kind = _kind(asked, is_due=now.mono_s >= memory.due_s, now=now)
        if kind is Kind.REGULAR:
            _postpone(world, memory, now)
        answer = _publish(world, memory, disk, kind, _until_s(asked, kind, now))
        _reply(disk, asked, answer, world.clock())


def last_cycle(world: World, memory: Memory) -> None:
    """Records and logs that were written while the others stopped, in at most two seconds."""
    proof = prove(world.config)
    if not isinstance(proof, Unreadable):
        _publish(world, memory, proof.paths, Kind.LAST, world.clock().mono_s + LAST_S)


def _postpone(world: World, memory: Memory, now: Now) -> None:
    memory.due_s = now.mono_s + world.config.publish_every_s


def _kind(asked: tuple[Request, ...], is_due: bool, now: Now) -> Kind:
    """The pass to make: a final one whose time is not over goes before all others."""
    if _is_final(asked, now):
        return Kind.FINAL
    return Kind.REGULAR if is_due else Kind.SOON


def _is_final(asked: tuple[Request, ...], now: Now) -> bool:
    return any(request.kind == requests.FINAL and request.left_s(now) > 0 for request in asked)


def _until_s(asked: tuple[Request, ...], kind: Kind, now: Now) -> float:
    lefts = [request.left_s(now) for request in asked if request.left_s(now) > 0]
    if kind is Kind.FINAL:
        return now.mono_s + max(0.0, min(lefts) - MARGIN_S)
    return now.mono_s + min([SLICE_S, *lefts])


def _publish(
    world: World, memory: Memory, disk: DurablePaths, kind: Kind, until_s: float
) -> Answer | None:
    """Make the pass and write its line; None where nobody can know what is left."""
    record = active_record(disk)
    if isinstance(record, Decision):
        memory.say(record, world.clock())
        return Answer(0, 0, 0, 0, 0.0) if record.word == "no-run" else None
    memory.turn_to(record.name)
    try:
        urgent = Urgent(lambda: _is_urgent(world, disk))
        go_on = _go_on(world, kind, until_s, urgent)
        store = _bounded(world, kind, until_s, urgent)
        job = make_job(world, memory, disk, record, kind, go_on, store)
    except (KeyError, ImportError) as error:
        memory.say(nothing("no-adapter", f"{record.plan.harness}: {error}"), world.clock())
        return None
    if job.target.epoch == 0:
        outcome = count_backlog(job, memory)
        memory.say(unclaimed(outcome.left), world.clock())
    else:
        outcome = replace(make_pass(job, memory, world.clock), audit_ms=memory.audit_ms)
        memory.audit_ms = None
        _tell(world, memory, job, outcome)
        _note_progress(world, memory, disk, outcome, world.clock())
        if kind is not Kind.LAST and not outcome.away:
            _beat(world, memory, disk, job)
        is_at_rest = kind is Kind.REGULAR and not (outcome.cut or outcome.away)
        memory.audited = (disk, job.target.paths) if is_at_rest else None
    held = len(outcome.withheld)
    return Answer(outcome.episodes, outcome.left, outcome.backlog, held, outcome.took_s)


def _is_urgent(world: World, disk: DurablePaths) -> bool:
    """Whether a regular pass has to make room: a final one is asked for, or this process is to end."""
    return _is_final(requests.pending(disk), world.clock()) or world.interrupted()


def _go_on(world: World, kind: Kind, until_s: float, urgent: Urgent) -> GoOn:
    """Whether a slice goes on: time, bytes, and nothing more urgent."""

    def go_on(sent_bytes: int) -> bool:
        if world.clock().mono_s >= until_s:
            return False
        if kind in (Kind.FINAL, Kind.LAST):
            return True
        return sent_bytes < SLICE_BYTES and not urgent.look()

    return go_on


def _bounded(world: World, kind: Kind, until_s: float, urgent: Urgent) -> Store:
    """A store whose calls heed the pass: in a final one its deadline, in others that something urgent came.

    A final pass has the whole link: what does not go now may be lost.
    """
    until = getattr(world.store, "until", None)
    if until is None:
        return world.store
    if kind in (Kind.FINAL, Kind.LAST):
        hasty: Store = until(until_s)
        return hasty
    patient: Store = until(until_s + CALL_S, urgent, world.pace)
    return patient


def _tell(world: World, memory: Memory, job: Job, outcome: Outcome) -> None:
    """The line, and once a quarter of an hour of failure is over, a call for a person."""
    now = world.clock()
    if outcome.cut and job.kind is Kind.REGULAR:
        memory.due_s = now.mono_s  # a slice is bounded so that requests are heard, not to go slowly
    away_s = memory.judge(outcome, now)
    memory.say(decide(outcome, away_s), now)
    call_for_files(world, memory, job, outcome)
    since = memory.failing_since
    failing_s = elapsed_s(since, now) if since is not None else None
    if failing_s is not None and failing_s >= CALL_AFTER_S and not memory.called:
        memory.called = True
        event = stuck(outcome, failing_s, world.config.instance, world.session, now.wall)
        log_event(job.target.paths.events, event)


def _note_progress(
    world: World, memory: Memory, disk: DurablePaths, outcome: Outcome, now: Now
) -> None:
    """For idle-guard: what waits, and when the store last took something; written where one of them changed."""
    if outcome.episodes or outcome.files:
        memory.took_at = now.mark
    told = (outcome.backlog, memory.took_at)
    if told != memory.noted:
        note_progress(disk, world.session, outcome.backlog, memory.took_at)
        memory.noted = told


def _beat(world: World, memory: Memory, disk: DurablePaths, job: Job) -> None:
    """A heartbeat is no part of the pass, nor is the fact that enough is finished; what fails is due at once."""
    heart = memory.heart(disk, world.config.instance, world.session)
    beat = memory.quiet.beat if memory.quiet is not None else None
    beat = beat or beat_of(
        job.target.paths,
        job.survey,
        world.session,
        job.target.journal.ledger(job.target.run).witnessed,
        memory.intended(job.target.paths),
        len(memory.held),
    )
    if memory.quiet is not None:
        memory.quiet.beat = beat
    boot = recorded_boot(disk)
    with suppress(StoreError, OSError):
        heart.beat(world.store, beat, world.clock())
        if isinstance(boot, Boot) and boot.session == world.session:
            memory.milestone.reach(world.store, job.record, beat.finished, boot)


def _reply(disk: DurablePaths, asked: tuple[Request, ...], answer: Answer | None, now: Now) -> None:
    """Without an answer the asker waits out its deadline: nobody told it that nothing is left."""
    if answer is not None:
        for request in asked:
            requests.reply(disk, request.id, answer)
    if asked:
        requests.prune(disk, now)
