"""`[costs]`, `[monitor]`, `[alerts]`: what else is on the bill, and who hears what."""

import re
from dataclasses import dataclass, field

from spoteval.settings.keys import Kind, key
from spoteval.settings.kinds import DURATION, RATE_PER_HOUR, TEXT, or_word
from spoteval.settings.money import Money
from spoteval.shape import Table

_CHANNEL = r"^(ntfy:https?://\S+|mail:\S+@\S+)$"
_DIGEST = r"^([01]\d|2[0-3]):[0-5]\d( [A-Za-z_+-]+(/[A-Za-z0-9_+-]+)*)?$"
_INTERVALS = r"^[1-9]\d* intervals?$"


def _matching(pattern: str, allowed: str, noun: str) -> Kind:
    def found(table: Table, name: str) -> str:
        text = table.text(name)
        if not re.fullmatch(pattern, text):
            raise table.error(name, allowed)
        return text

    return Kind(found, lambda value: value, {"type": "string", "pattern": pattern}, noun)


def _channels(table: Table, name: str) -> tuple[str, ...]:
    words = table.texts(name)
    if not all(re.fullmatch(_CHANNEL, word) for word in words):
        raise table.error(name, 'a list of "ntfy:https://…" and "mail:name@host"')
    return words


CHANNELS = Kind(
    _channels,
    list,
    {"type": "array", "items": {"type": "string", "pattern": _CHANNEL}},
    "list of channels",
)


@dataclass(frozen=True, slots=True)
class CostSettings:
    """What else is on the bill."""

    restarter: Money | None = field(
        default=None, metadata=key(RATE_PER_HOUR, "the restarter host", later=True)
    )
    store: Money | None = field(default=None, metadata=key(RATE_PER_HOUR, "the store", later=True))


@dataclass(frozen=True, slots=True)
class MonitorSettings:
    """How often the monitor looks, and what it takes for a standstill."""

    spot_every_s: float = field(
        default=60.0, metadata=key(DURATION, "between looks at spot instances", later=True)
    )
    stable_every_s: float = field(
        default=300.0, metadata=key(DURATION, "between looks at stable hosts", later=True)
    )
    stall_after: str = field(
        default="3 intervals",
        metadata=key(
            _matching(
                _INTERVALS, 'a number of intervals such as "3 intervals"', "number of intervals"
            ),
            "without a sign of life",
            later=True,
        ),
    )
    no_finished_episode_for_s: float | None = field(
        default=None,
        metadata=key(
            or_word("auto", DURATION),
            "then an alert; auto = 3 x p90 of finished episodes, at least 1 h",
            later=True,
        ),
    )


@dataclass(frozen=True, slots=True)
class AlertSettings:
    """Who hears what: `ntfy:URL` or `mail:ADDRESS`."""

    needs_you: tuple[str, ...] = field(
        default=(), metadata=key(CHANNELS, "somebody must act", later=True)
    )
    news: tuple[str, ...] = field(
        default=(),
        metadata=key(
            CHANNELS, "preempted, restarted, resumed; by default kept for the digest", later=True
        ),
    )
    digest: str | None = field(
        default=None,
        metadata=key(
            _matching(
                _DIGEST,
                'a time of day with its zone such as "08:00 Europe/Berlin"',
                "time of day and zone",
            ),
            "when the day's news are sent",
            later=True,
        ),
    )
    credential: str | None = field(
        default=None, metadata=key(TEXT, "file in the credentials directory", later=True)
    )
