"""What needs a person now, from events: what was said and not overtaken since."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from spoteval.clock import stamp
from spoteval.event import NEEDS_YOU, Event
from spoteval.line import flat

FOLLOWER = "publication-follower"
OPERATOR = "operator"
_RESTARTER = "restarter"
_GUEST_WENT_ON = frozenset(
    ["booted", "held", "healthy", "run-started", "first-episode", "end", "end-stop", "run-stopped"]
)


@dataclass(frozen=True, slots=True)
class Need:
    """One thing that needs a person, since when, and a command to begin with."""

    since: datetime
    text: str
    command: str

    def record(self) -> dict[str, object]:
        """As JSON."""
        return {"since": stamp(self.since), "text": self.text, "command": self.command}


def open_needs(events: Iterable[Event], unpublished: int | None) -> tuple[Need, ...]:
    """Every report that nothing has overtaken, oldest first; the same words count once, since they were first said.

    The restarter's is over with its next other event, that of a person's own stop when the instance is off or the
    hold is gone, an agent's when the guest went on, the follower's when nothing is left to publish (`unpublished`
    None: unknown, so it stands).
    """
    found: dict[tuple[str, str], Need] = {}
    for event in sorted(events, key=lambda item: item.at):
        if event.kind == NEEDS_YOU:
            text = flat(event.reason or "no reason given")
            need = Need(event.at, text, str(event.detail.get("command", "spoteval events")))
            found.setdefault((event.source, text), need)
        else:
            found = {key: need for key, need in found.items() if not _overtaken(key[0], event)}
    return tuple(
        need for (source, _), need in found.items() if not (source == FOLLOWER and unpublished == 0)
    )


def _overtaken(source: str, event: Event) -> bool:
    if source == _RESTARTER:
        return event.source == _RESTARTER
    if source == FOLLOWER:
        return False
    if source == OPERATOR:
        return event.kind in ("stopped", "hold-gone")
    return event.source != _RESTARTER and event.kind in _GUEST_WENT_ON
