"""How a drill reads."""

from collections.abc import Iterable

from spoteval.drill.expect import Expectation, verdict

_WORDS = {True: "ok", False: "FAIL", None: "wait"}
_WIDE = 14


def line(item: Expectation) -> str:
    """One expectation: its word, whose stop, what, its time, the sentence."""
    whose = f"stop {item.stop}" if item.stop else "drill"
    took = "" if item.took_s is None else f"{item.took_s:.1f} s"
    return f"{_WORDS[item.passed]:<5} {whose:<7} {item.what:<{_WIDE}} {took:>9}  {item.text}"


def summary(run: str, found: Iterable[Expectation]) -> str:
    """The last line."""
    known = tuple(found)
    count = {word: sum(item.passed is word for item in known) for word in _WORDS}
    word = {True: "passed", False: "FAILED", None: "under way"}[verdict(known)]
    return f"{run}: {word}  {count[True]} ok, {count[False]} failed, {count[None]} open"


def record(run: str, found: Iterable[Expectation]) -> dict[str, object]:
    """As JSON."""
    known = tuple(found)
    return {
        "drill": run,
        "passed": verdict(known),
        "expectations": [item.record() for item in known],
    }
