"""One question to the table of stages, and the two kinds of answer that its rows give. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from spoteval.clock import Mark, Now, elapsed_s
from spoteval.decision import Decision
from spoteval.line import Value
from spoteval_agents.boot_resume.seen import News, Plan, Policy, RunSeen, Seen, State
from spoteval_agents.boot_resume.stages import AGENT

WORKING_S, WAITING_S, SOON_S, AT_ONCE_S = 1.0, 5.0, 0.5, 0.0
"""Pauses between cycles: while a stage works, while a person or the run is waited for, while one is about to end."""


@dataclass(frozen=True, slots=True)
class Case:
    """State after `observe`, the look it came from, and now."""

    state: State
    seen: Seen
    policy: Policy
    now: Now

    @property
    def run(self) -> RunSeen:
        """The active run; only rows below the one that asks for it may ask."""
        assert self.seen.active is not None
        return self.seen.active

    def since_s(self, mark: Mark | None) -> float:
        """Seconds since a mark of this life; 0 where there is none."""
        return (elapsed_s(mark, self.now) or 0.0) if mark is not None else 0.0

    def failed(self, work: str) -> str | None:
        """Why this work failed, where it failed lately: then it is not tried again yet."""
        found = self.state.failed.get(work)
        if found is None or self.since_s(found[1]) >= self.policy.retry_s:
            return None
        return found[0]

    def does(self, stage: str, work: str, pairs: Mapping[str, Value] | None = None) -> Plan:
        """Have slow work done beside the loop: begun, under way, or waiting after a failure."""
        why = self.failed(work)
        if why is not None:
            text = f"tried again every {self.policy.retry_s:.0f} s: {why}"
            return waits(stage, pairs, text, needs_you=f"{stage}: {why}")
        if self.seen.work == work:
            return waits(stage, pairs, busy=True)
        if self.seen.work is not None:
            return waits(stage, pairs, f"{self.seen.work} is under way", busy=True)
        return begins(stage, pairs, act=work, next_s=WORKING_S)


def waits(
    stage: str,
    pairs: Mapping[str, Value] | None = None,
    why: str | None = None,
    needs_you: str | None = None,
    *,
    busy: bool = False,
    next_s: float = WORKING_S,
) -> Plan:
    """`decision=wait`: nothing to do but look again."""
    decision = Decision("wait", {"stage": stage, **(pairs or {})}, why, agent=AGENT)
    return Plan(decision, needs_you=needs_you, busy=busy, next_s=next_s)


def begins(
    stage: str,
    pairs: Mapping[str, Value] | None = None,
    *,
    news: News | None = None,
    act: str | None = None,
    next_s: float = AT_ONCE_S,
) -> Plan:
    """`decision=begin`: an event, an act, or both."""
    decision = Decision("begin", {"stage": stage, **(pairs or {})}, agent=AGENT)
    return Plan(decision, news=news, act=act, busy=True, next_s=next_s)


def shown_s(seconds: float) -> float:
    """Seconds as a line shows them: tenths below ten, whole above."""
    return round(seconds, 1) if seconds < 10 else round(seconds)
