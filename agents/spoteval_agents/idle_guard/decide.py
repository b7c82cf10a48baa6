"""Whether anything uses the machine, and the next step towards its end where nothing does."""

from collections.abc import Iterator
from dataclasses import dataclass

from spoteval.clock import Mark, Now, elapsed_s
from spoteval.control.enders import HOLD_WITHIN_S, ROUNDS, Ender, rounds
from spoteval.decision import Decision
from spoteval.line import Value
from spoteval.shape import Reading, Unreadable

AGENT = "idle-guard"
RESUME = "boot-resume"
SOON_S = 1.0


@dataclass(frozen=True, slots=True)
class Policy:
    """After how many idle seconds the machine ends, what share of its processors is work, how often to look."""

    after_s: float
    cpu_above: float
    every_s: float


@dataclass(frozen=True, slots=True)
class Seen:
    """The world of one cycle. What only the disk can tell is None or empty where there is none (`disk` says why).

    `cpu` is None until its share is known for the first time: that is neither use nor idleness.
    """

    session: str
    members: Reading[int]
    cpu: Reading[float | None]
    disk: str | None = None
    complete: Reading[bool] = False
    """Whether the active run needs nothing more; also where none is active."""
    guest_hold: Reading[str | None] = None
    busy: Reading[tuple[str, ...]] = ()
    keep_alive: Reading[str | None] = None
    draining: bool = False
    intents: Reading[tuple[Ender, ...]] = ()
    work: str | None = None
    failed: str | None = None
    """What the last try to prove the hold said."""


@dataclass(frozen=True, slots=True)
class State:
    """Since when nothing uses the machine; before the first look nobody knows."""

    idle_since: Mark | None = None


def uses(seen: Seen, policy: Policy) -> tuple[str, ...]:
    """What uses the machine now, in words; nothing = idle. A probe that cannot be read counts as use."""
    return tuple(_uses(seen, policy))


def observe(state: State, seen: Seen, policy: Policy, now: Now) -> State:
    """Idleness begins with the first look that sees none, and ends with the first that does."""
    if uses(seen, policy):
        return State()
    if seen.cpu is None:
        return state
    return state if state.idle_since is not None else State(now.mark)


def own_intent(seen: Seen) -> Ender | None:
    """The intent of this session that stands; one that cannot be read stands too, under another name."""
    found = seen.intents if not isinstance(seen.intents, Unreadable) else ()
    own = [item for item in found if item.session == seen.session and not item.withdrawn]
    own = [item for item in own if item.agent == AGENT]
    return own[-1] if own else None


def decide(state: State, seen: Seen, policy: Policy, now: Now) -> Decision:
    """The first row that fits."""
    reasons, intent = uses(seen, policy), own_intent(seen)
    idle_s = elapsed_s(state.idle_since, now) if state.idle_since is not None else None
    if reasons and intent is not None:
        return _withdraw(seen, intent, reasons)
    if reasons:
        return _said("active", seen, {"because": "; ".join(reasons), "idle_s": 0})
    if seen.cpu is None:
        return _said("look", seen, {}, "how busy the processors are is not known yet")
    if intent is None and (idle_s is None or idle_s < policy.after_s):
        return _waiting(seen, policy, idle_s or 0.0)
    if isinstance(seen.intents, Unreadable):
        return _said("unknown", seen, {"idle_s": idle_s}, f"intents: {seen.intents.why}")
    if intent is None:
        return _begin(seen, idle_s)
    return _end(seen, intent, now)


def _withdraw(seen: Seen, intent: Ender, reasons: tuple[str, ...]) -> Decision:
    """A hold that stands already has the restarter stop the machine: only a person can lift it."""
    why = f"spoteval hold release {intent.hold_id}, or it is stopped" if intent.proved else None
    pairs: dict[str, Value] = {"because": "; ".join(reasons), "hold": intent.hold_id}
    return _said("withdraw", seen, pairs, why)


def _waiting(seen: Seen, policy: Policy, idle_s: float) -> Decision:
    pairs: dict[str, Value] = {"idle_s": round(idle_s), "after_s": policy.after_s}
    left_s = policy.after_s - idle_s
    return _said("idle", seen, pairs, f"off in {left_s:.0f} s unless something uses it")


def _begin(seen: Seen, idle_s: float | None) -> Decision:
    assert not isinstance(seen.intents, Unreadable)
    before = rounds(seen.intents, seen.session, AGENT)
    pairs: dict[str, Value] = {"idle_s": None if idle_s is None else round(idle_s)}
    if before >= ROUNDS:
        why = f"stopped {before} times without a hold, and started again each time; a person must"
        return _said("gave-up", seen, {**pairs, "rounds": before}, f"{why} look")
    return _said("intent", seen, pairs, "nothing uses it; written down before anything is done")


def _end(seen: Seen, intent: Ender, now: Now) -> Decision:
    tried_s = elapsed_s(intent.at, now) if intent.at is not None else None
    pairs: dict[str, Value] = {"hold": intent.hold_id}
    if intent.proved:
        why = "nothing uses it, and it is not started again until a person releases the hold"
        return _said("stop", seen, {**pairs, "restarter_hold": "proved", "power": "off"}, why)
    if tried_s is not None and tried_s >= HOLD_WITHIN_S:
        why = "the hold could not be proved; the next boot places it first"
        return _said("stop", seen, {**pairs, "restarter_hold": "unproved", "power": "off"}, why)
    pairs["tried_s"] = None if tried_s is None else round(tried_s)
    return _said("hold", seen, pairs, seen.failed)


def _uses(seen: Seen, policy: Policy) -> Iterator[str]:
    if isinstance(seen.members, Unreadable):
        yield f"run unreadable: {seen.members.why}"
    elif seen.members:
        yield "run active"
    yield from _at_work(seen)
    if isinstance(seen.cpu, Unreadable):
        yield f"cpu unreadable: {seen.cpu.why}"
    elif seen.cpu is not None and seen.cpu > policy.cpu_above:
        yield f"cpu {100 * seen.cpu:.0f} %"
    if seen.draining:
        yield "notice pending"
    if isinstance(seen.keep_alive, Unreadable):
        yield f"keep-alive unreadable: {seen.keep_alive.why}"
    elif seen.keep_alive is not None:
        yield "keep-alive"


def _at_work(seen: Seen) -> Iterator[str]:
    """Agents that say so. boot-resume counts while there is a run that it may bring back: waiting for a person,
    or for nothing, is idle."""
    if isinstance(seen.busy, Unreadable):
        yield f"busy files unreadable: {seen.busy.why}"
        return
    for agent in seen.busy:
        waits = isinstance(seen.guest_hold, str) or seen.complete is True
        if agent != RESUME or not waits:
            yield f"{agent} at work"


def _said(word: str, seen: Seen, pairs: dict[str, Value], why: str | None = None) -> Decision:
    keep = seen.keep_alive
    shown = (
        "unreadable" if isinstance(keep, Unreadable) else "none" if keep is None else keep or "yes"
    )
    end: dict[str, Value] = {"keep_alive": shown, "disk": seen.disk}
    return Decision(word, {**pairs, **end}, why, AGENT)
