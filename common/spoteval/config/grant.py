"""`[grant]`: the outer limits of what may be spent, and how a run tightens them. Pure."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeVar

from spoteval.run import StopRules
from spoteval.settings.keys import key, shown
from spoteval.settings.kinds import (
    DURATION,
    MOMENT,
    PREEMPTIONS_EPISODES,
    RATE_PER_HOUR,
    SUM,
    TEXTS,
    or_word,
    seconds,
    whole,
)
from spoteval.settings.money import Money

T = TypeVar("T")
OFF = "off"


@dataclass(frozen=True, slots=True)
class Grant:
    """The outer limits of what may be spent. None = no such limit; empty lists allow everything."""

    price_cap: Money | None = field(
        default=None, metadata=key(RATE_PER_HOUR, "no start above this price")
    )
    spend: Money | None = field(
        default=None, metadata=key(SUM, "no start once this much was spent on an instance's run")
    )
    starts: int | None = field(
        default=None, metadata=key(whole(1), "no start after so many of a run")
    )
    regions: tuple[str, ...] = field(
        default=(), metadata=key(TEXTS, "regions of instances that may be started; empty = any")
    )
    types: tuple[str, ...] = field(
        default=(), metadata=key(TEXTS, "types of instances that may be started; empty = any")
    )
    until: datetime | None = field(default=None, metadata=key(MOMENT, "no start from then on"))
    failed_starts_s: float | None = field(
        default=2700.0,
        metadata=key(
            or_word(OFF, DURATION), 'so long without a start that reached RUNNING, or "off"'
        ),
    )
    preemptions_before_healthy: int | None = field(
        default=2,
        metadata=key(
            or_word(OFF, whole(1)), 'so many preemptions in a row before `healthy`, or "off"'
        ),
    )
    preemptions_before_episodes: tuple[int, int] | None = field(
        default=(3, 20),
        metadata=key(
            or_word(OFF, PREEMPTIONS_EPISODES),
            'so many preemptions before so many episodes finished, or "off"',
        ),
    )

    def allows(self, kind: str | None, region: str | None) -> bool:
        """Whether an instance of this type in this region may be started; one that is not known is not in a list."""
        return (not self.types or kind in self.types) and (
            not self.regions or region in self.regions
        )


def tightened(grant: Grant, rules: StopRules) -> Grant:
    """The limits in force for a run: of each the tighter one, never looser than the grant.

    Amounts in another currency than the grant's cannot be held against it: the grant's stands.
    """
    return replace(
        grant,
        price_cap=_tighter(grant.price_cap, rules.price_cap, _less),
        spend=_tighter(grant.spend, rules.spend, _less),
        failed_starts_s=_tighter(grant.failed_starts_s, rules.failed_starts_s, min),
        preemptions_before_healthy=_tighter(
            grant.preemptions_before_healthy, rules.preemptions_before_healthy, min
        ),
        preemptions_before_episodes=_tighter(
            grant.preemptions_before_episodes, rules.preemptions_before_episodes, _sooner
        ),
    )


def looser(grant: Grant, rules: StopRules) -> tuple[str, ...]:
    """Each rule that would loosen the grant, in one line; such a rule is refused where it is typed."""
    lines = (
        _line(name, outer, typed)
        for name, outer, typed, is_looser in _compared(grant, rules)
        if is_looser
    )
    return tuple(lines)


def _compared(grant: Grant, rules: StopRules) -> Iterator[tuple[str, str, str, bool]]:
    """Name, the grant's and the run's value as text, and whether the run's is looser."""
    for name in ("price_cap", "spend"):
        outer, typed = getattr(grant, name), getattr(rules, name)
        if outer is not None and typed is not None:
            texts = (shown(outer.record()), shown(typed.record()))
            yield name, *texts, _unit(outer) != _unit(typed) or typed.amount > outer.amount
    outer_s, typed_s = grant.failed_starts_s, rules.failed_starts_s
    if outer_s is not None and typed_s is not None:
        yield "failed_starts", seconds(outer_s), seconds(typed_s), typed_s > outer_s
    most, typed_most = grant.preemptions_before_healthy, rules.preemptions_before_healthy
    if most is not None and typed_most is not None:
        yield "preemptions_before_healthy", str(most), str(typed_most), typed_most > most
    pair, typed_pair = grant.preemptions_before_episodes, rules.preemptions_before_episodes
    if pair is not None and typed_pair is not None:
        is_looser = typed_pair[0] > pair[0] or typed_pair[1] < pair[1]
        yield "preemptions_before_episodes", _pair(pair), _pair(typed_pair), is_looser


def _line(name: str, outer: str, typed: str) -> str:
    return f'{name} "{typed}": looser than "{outer}" in [grant]: a run may only tighten it'


def _tighter(outer: T | None, typed: T | None, choose: Callable[[T, T], T]) -> T | None:
    if outer is None or typed is None:
        return typed if outer is None else outer
    return choose(outer, typed)


def _less(outer: Money, typed: Money) -> Money:
    return typed if _unit(outer) == _unit(typed) and typed.amount < outer.amount else outer


def _unit(money: Money) -> tuple[str, str | None]:
    return money.currency, money.per


def _sooner(outer: tuple[int, int], typed: tuple[int, int]) -> tuple[int, int]:
    """Fewer preemptions, and more episodes that must be finished by then."""
    return min(outer[0], typed[0]), max(outer[1], typed[1])


def _pair(pair: tuple[int, int]) -> str:
    return f"{pair[0]} preemptions before {pair[1]} episodes"
