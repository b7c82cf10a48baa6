"""What a real account shows of a provider in ten minutes: each step with its time, and no more said than was seen."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from spoteval.clock import Now, stamp
from spoteval.control.byhand import (
    CALL_S,
    OBSERVE_S,
    Watched,
    answered,
    is_off,
    is_running,
    watch,
)
from spoteval.loop import Waiting
from spoteval.provider.contract import (
    Finding,
    Observation,
    Price,
    Provider,
    Unanswered,
)
from spoteval.shape import Reading, Table, Unreadable

WORDS = {True: "ok", False: "FAIL", None: "open"}
_LOOK_EVERY_S = 5.0
Clock = Callable[[], Now]


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that was tried. `passed` None: what came is no failure, and no proof."""

    what: str
    text: str
    passed: bool | None = None
    took_s: float = 0.0

    @property
    def line(self) -> str:
        """As a person reads it."""
        return f"{WORDS[self.passed]:<5} {self.what:<42} {self.took_s:>7.1f} s  {self.text}"

    def record(self) -> dict[str, object]:
        """As JSON."""
        return {
            "what": self.what,
            "passed": self.passed,
            "took_s": round(self.took_s, 1),
            "text": self.text,
        }


def timed(clock: Clock, make: Callable[[], Step]) -> Step:
    """The step, and how long it took."""
    began_s = clock().mono_s
    step = make()
    return replace(step, took_s=clock().mono_s - began_s)


def looks(
    provider: Provider, absent: Provider | None, findings: Iterable[Finding], clock: Clock
) -> Iterator[Step]:
    """Whatever can be tried by reading. `absent`: the same place with an id that there is none of."""
    yield timed(clock, lambda: _seen("look", provider.observe(OBSERVE_S)))
    yield timed(clock, lambda: _seen("look again", provider.observe(OBSERVE_S)))
    if absent is not None:
        yield timed(clock, lambda: _absent(absent.observe(OBSERVE_S)))
    for finding in findings:
        passed = {"ok": True, "missing": False}.get(finding.verdict)
        yield Step(finding.what, finding.text, passed)
    yield timed(clock, lambda: _priced(provider.price(OBSERVE_S)))


def starts_and_stops(
    provider: Provider, within_s: float, waiting: Waiting, clock: Clock
) -> Iterator[Step]:
    """One start, watched to RUNNING, and one stop, watched until nothing is billed. It is stopped in any case."""
    before = provider.observe(OBSERVE_S)
    yield timed(clock, lambda: Step("start asked", answered(provider.start(CALL_S))))
    up = watch(provider, is_running, within_s, _LOOK_EVERY_S, waiting, clock)
    yield Step("RUNNING", up.word, up.reached, up.took_s)
    if up.reached:
        yield _last_start(before, up.last)
    yield timed(clock, lambda: Step("stop asked", answered(provider.stop(CALL_S))))
    off = watch(provider, is_off, within_s, _LOOK_EVERY_S, waiting, clock)
    yield Step("STOPPED and not billed", off.word, off.reached, off.took_s)
    if off.reached:
        yield from _ended(off)


def other_id(table: Table) -> Table:
    """The instance's table with an id that is most likely nobody's."""
    name = str(table.values.get("id", ""))
    return Table(
        {**table.values, "id": f"{name[:-1]}{'0' if name[-1:] != '0' else '1'}"}, table.place
    )


def _seen(what: str, seen: Reading[Observation]) -> Step:
    if isinstance(seen, Unreadable):
        return Step(what, seen.why, passed=False)
    billed = {True: "billed", False: "not billed", None: "no word of its bill"}[seen.billed]
    start = "no last start" if seen.last_start is None else f"started {stamp(seen.last_start)}"
    more = f", cause {seen.cause} ({seen.evidence})" if seen.cause else ""
    known = seen.state != "UNKNOWN"
    return Step(what, f"{seen.state}, {billed}, {start}{more}", known)


def _absent(seen: Reading[Observation]) -> Step:
    what = "an id that there is none of"
    if isinstance(seen, Unanswered) and seen.kind == "gone":
        return Step(what, "told as gone", passed=True)
    if isinstance(seen, Observation):
        return Step(what, f"somebody has it: {seen.state}")
    return Step(what, f"not told as gone, but {seen.why}")


def _priced(price: Reading[Price]) -> Step:
    if isinstance(price, Unreadable):
        return Step("price", price.why, passed=False)
    text = f"{price.amount:.2f} {price.currency}/{price.per} ({price.kind}, {stamp(price.as_of)})"
    return Step("price", text, passed=True)


def _last_start(before: Reading[Observation], last: Reading[Observation]) -> Step:
    what = "a newer start is told"
    now = last.last_start if isinstance(last, Observation) else None
    then = before.last_start if isinstance(before, Observation) else None
    if now is None:
        return Step(what, "this provider tells none: a cycle between two looks goes unseen")
    return Step(what, stamp(now), then is None or now > then)


def _ended(off: Watched) -> Iterator[Step]:
    last = off.last
    assert isinstance(last, Observation)
    if last.billed is None:
        yield Step("its bill", "the provider says no word of it")
    else:
        yield Step("its bill", "goes on" if last.billed else "has ended", not last.billed)
    what = "who stopped it"
    if last.cause is None:
        yield Step(what, "not told")
    else:
        text = f"{last.cause} ({last.evidence})"
        yield Step(what, text, last.cause == "user")
