"""One cycle: look, observe, decide, make it durable, say it, act, record the answer."""

from spoteval.clock import Now
from spoteval.control.eventlog import DecisionLog, tell
from spoteval.decision import Decision
from spoteval.store.contract import StoreError
from spoteval_agents.restarter.book import Book
from spoteval_agents.restarter.case import STOP
from spoteval_agents.restarter.decide import decide
from spoteval_agents.restarter.intent import answered, intend, withdrawn
from spoteval_agents.restarter.mirror import mirror
from spoteval_agents.restarter.observe import observe
from spoteval_agents.restarter.policy import FRESH_S, Policy, since_s
from spoteval_agents.restarter.putting import adopt, put_holds
from spoteval_agents.restarter.seen import Seen
from spoteval_agents.restarter.state import State
from spoteval_agents.restarter.telling import News
from spoteval_agents.restarter.world import CALL_S, World


def cycle(world: World, book: Book, log: DecisionLog, policy: Policy) -> Decision:
    """Serve one instance once. Raises OSError where its memory cannot be written: then nothing was done."""
    seen, state, news, decision, now = _decided(world, book.state, policy)
    state, intent = intend(decision, state, seen, policy, now)
    book.save(state, (*news, *intent), now)
    _say(log, decision, now)
    if decision.word == "start":
        _start(world, book, policy, seen)
    elif decision.word == "stop" or decision.pairs.get("action") == STOP:
        _stop(world, book, policy)
    put_holds(world, book)
    adopt(world, policy, seen)
    if (state := _mirrored(world, book.state, seen)) != book.state:
        book.save(state, (), world.clock())
    return decision


def _decided(world: World, state: State, policy: Policy) -> tuple[Seen, State, News, Decision, Now]:
    """What to do now. A decision that needs a price gets it together with a second look at holds."""
    seen = world.look(state)
    now = world.clock()
    state, news = observe(state, seen, policy, now)
    decision = decide(state, seen, policy, now)
    if decision.asks is None:
        return seen, state, news, decision, now
    seen = world.look_again(state, seen)
    now = world.clock()
    state, more = observe(state, seen, policy, now)
    return seen, state, (*news, *more), decide(state, seen, policy, now), now


def _say(log: DecisionLog, decision: Decision, now: Now) -> None:
    """The journal has the line in any case; that its copy cannot be kept hinders nothing."""
    try:
        log.write(decision, now)
    except OSError as error:
        tell(f"instance={decision.pairs['instance']} decision not copied: {error}", warning=True)


def _start(world: World, book: Book, policy: Policy, seen: Seen) -> None:
    """The one start request. A disk that took its time to make the intent durable may have made the look old."""
    now = world.clock()
    if since_s(seen.taken, now) >= FRESH_S:
        why = f"the look was older than {FRESH_S:.0f} s when the request should have gone out"
        book.save(*withdrawn(book.state, policy, now, why), now)
        return
    reply = world.provider.start(CALL_S)
    now = world.clock()
    book.save(*answered("start", book.state, reply, policy, now), now)


def _stop(world: World, book: Book, policy: Policy) -> None:
    reply = world.provider.stop(CALL_S)
    now = world.clock()
    book.save(*answered("stop", book.state, reply, policy, now), now)


def _mirrored(world: World, state: State, seen: Seen) -> State:
    """Files of holds serve people: that they cannot be written or read keeps nothing else from happening."""
    try:
        return mirror(world, state, seen)
    except (OSError, StoreError) as error:
        tell(f"instance={world.instance} holds are not mirrored: {error}", warning=True)
        return state
