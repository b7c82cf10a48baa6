"""What needs a person now: what was said and is not over, and holds that no person placed."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from spoteval.clock import stamp
from spoteval.event import NEEDS_YOU, Event
from spoteval.hold import Hold
from spoteval.line import flat

FOLLOWER, OPERATOR = "publication-follower", "operator"
CLEARED = "cleared"
"""The restarter says with it that what it told a person is over: `topic` names what."""
_RESTARTER, _IDLE = "restarter", "idle-guard"
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


@dataclass(frozen=True, slots=True)
class _Said:
    """Who said it, under which topic (None: it has none), in which words."""

    source: str
    topic: str | None
    text: str


def open_needs(events: Iterable[Event], unpublished: int | None) -> tuple[Need, ...]:
    """Every report that nothing has overtaken, oldest first; the same words count once, since they were first said.

    One with a topic is over when its source clears the topic. Others of the restarter are over with its next event,
    that of a person's own stop when the instance is off or the hold is gone, an agent's when the guest went on, the
    follower's when nothing is left to publish (`unpublished` None: unknown, so it stands).
    """
    found: dict[_Said, Need] = {}
    for event in sorted(events, key=lambda item: item.at):
        if event.kind == NEEDS_YOU:
            text = flat(event.reason or "no reason given")
            need = Need(event.at, text, str(event.detail.get("command", "spoteval events")))
            found.setdefault(_Said(event.source, _topic(event), text), need)
        else:
            found = {said: need for said, need in found.items() if not _overtaken(said, event)}
    return tuple(
        need for said, need in found.items() if not (said.source == FOLLOWER and unpublished == 0)
    )


def held_needs(instance: str, holds: Iterable[Hold], over: bool, now: datetime) -> tuple[Need, ...]:
    """Holds by a rule, and by an idle machine whose run is not over: nothing goes on until a person lifts them."""
    return tuple(
        Need(
            hold.at or now,
            f"held by {_by(hold)}: {flat(hold.reason)}",
            f"spoteval hold release {instance}",
        )
        for hold in holds
        if hold.by == _RESTARTER or (hold.by == _IDLE and not over)
    )


def merged(held: Iterable[Need], told: Iterable[Need]) -> tuple[Need, ...]:
    """Both, without reports whose words a standing hold says already: what placed it also told of it."""
    holds = tuple(held)
    return (*holds, *(need for need in told if not any(need.text in hold.text for hold in holds)))


def _by(hold: Hold) -> str:
    return "rule" if hold.by == _RESTARTER else hold.by


def _topic(event: Event) -> str | None:
    topic = event.detail.get("topic")
    return topic if isinstance(topic, str) else None


def _overtaken(said: _Said, event: Event) -> bool:
    if said.topic is not None:
        cleared = event.kind == CLEARED and _topic(event) == said.topic
        return cleared and event.source == said.source
    if said.source == _RESTARTER:
        return event.source == _RESTARTER
    if said.source == FOLLOWER:
        return False
    if said.source == OPERATOR:
        return event.kind in ("stopped", "hold-gone")
    if event.kind == "held" and flat(event.reason or "") == said.text:
        return False  # the agent placed that hold over it, and waits for the same person
    return event.source != _RESTARTER and event.kind in _GUEST_WENT_ON
