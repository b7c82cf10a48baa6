"""Many instances on one screen: a line each, those first that need somebody."""

from collections.abc import Iterable

from spoteval.report.fold import WIDTH
from spoteval.report.status import Status

_ORDER = ("needs you", "waiting", "ok")


def overview(found: Iterable[Status]) -> list[str]:
    """How many need somebody, then instance, state, run, episodes and the second line of each screen, cut to 80."""
    known = sorted(found, key=lambda status: (_rank(status), status.instance))
    needing = sum(_rank(status) == 0 for status in known)
    wide = max((len(status.instance) for status in known), default=0)
    head = f"{len(known)} instances, {needing} need you  (spoteval status NAME shows one)"
    return [head, *(_line(status, wide) for status in known)]


def _rank(status: Status) -> int:
    word = status.second_line.partition(":")[0].partition(",")[0]
    return _ORDER.index(word)


def _line(status: Status, wide: int) -> str:
    name = status.run.name if status.run is not None else "no run"
    done = "" if status.intended is None else f" {status.finished}/{status.intended}"
    state = ("last " if status.restarter.stale else "") + (status.state or "not seen")
    text = f"{status.instance:<{wide}}  {state:<8}  {name}{done}  {status.second_line}"
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"
