"""What every provider can be asked, and how it answers."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal, Protocol

from spoteval.clock import stamp
from spoteval.shape import Reading, Unreadable

ReplyKind = Literal[
    "accepted", "capacity", "auth", "quota", "gone", "conflict", "price", "rate", "unknown"
]

ErrorKind = Literal["auth", "quota", "gone", "conflict", "rate", "timeout", "unknown"]
_LOOKS: dict[ReplyKind, ErrorKind] = {
    "auth": "auth",
    "quota": "quota",
    "gone": "gone",
    "conflict": "conflict",
    "rate": "rate",
}


class State(StrEnum):
    """What an instance is, in words that hold for all providers. UNKNOWN: it answered, we do not understand."""

    STARTING = "STARTING"
    RUNNING = "RUNNING"
    STOPPING = "STOPPING"
    STOPPED = "STOPPED"
    UNRESTARTABLE = "UNRESTARTABLE"
    GONE = "GONE"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, slots=True)
class Observation:
    """One look at an instance. `billed` None: the provider does not say."""

    state: State
    billed: bool | None = None
    auto_restart: bool = False  # only the provider itself may start it again
    last_start: datetime | None = None  # of the last start that reached RUNNING
    cause: str | None = None  # why it stopped: preempted | guest | user | platform
    evidence: str | None = None  # what says so, for the decision line
    advice: str | None = None  # the provider's own hint about capacity, one word
    addresses: tuple[str, ...] = ()  # as the provider says them; they may change at each start


@dataclass(frozen=True, slots=True)
class Price:
    """What an hour costs now. `kind`: spot, list, charged or configured."""

    amount: float
    currency: str
    per: str
    kind: str
    as_of: datetime

    def record(self) -> dict[str, object]:
        """The price as it stands in an event."""
        return {
            "amount": self.amount,
            "currency": self.currency,
            "per": self.per,
            "kind": self.kind,
            "as_of": stamp(self.as_of),
        }


@dataclass(frozen=True, slots=True)
class Reply:
    """What a start or stop call was answered. Not ok does not mean that it did not happen."""

    ok: bool
    kind: ReplyKind
    detail: str = ""
    advice: str | None = None  # the provider's own hint about capacity, one word


@dataclass(frozen=True, slots=True)
class Unanswered(Unreadable):
    """The provider was asked and refused, or did not answer in time. `why` begins with the kind, for the line.

    `retry_after_s`: how long it wants to be left alone, where it says so.
    """

    kind: ErrorKind = "unknown"
    retry_after_s: float | None = None


def unanswered(kind: ErrorKind, detail: str = "", retry_after_s: float | None = None) -> Unanswered:
    """A refusal of this kind, with what the provider said of it."""
    return Unanswered(f"{kind}:{detail}" if detail else kind, kind, retry_after_s)


def kind_of_look(kind: ReplyKind) -> ErrorKind:
    """The same of a look: it takes no room and has no price, so that a refusal for those is not understood."""
    return _LOOKS.get(kind, "unknown")


def error_kind(error: Unreadable) -> ErrorKind:
    """What kind of failure it is; `unknown` where nobody said."""
    return error.kind if isinstance(error, Unanswered) else "unknown"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a provider's own check found out, asking and starting nothing.

    `missing`: without it the instance cannot be operated. `lacking`: without it causes, prices or hints are unknown
    and all else goes on. `competing`: something else would start or end the instance too.
    """

    verdict: Literal["ok", "missing", "lacking", "competing", "unknown"]
    what: str  # the right or the setting, in the provider's own words
    text: str  # what follows from it, and what to do


class Provider(Protocol):
    """One instance at one provider. No method raises: foreign errors end in the provider's own module."""

    @property
    def cancels(self) -> bool:
        """Whether a stop request ends a start that is still under way."""
        ...

    def observe(self, deadline_s: float) -> Reading[Observation]:
        """The instance now; Unreadable where the provider does not answer within `deadline_s`, and `Unanswered` with
        a kind where it says why not."""
        ...

    def start(self, deadline_s: float) -> Reply:
        """Exactly one start request, never repeated here."""
        ...

    def stop(self, deadline_s: float) -> Reply:
        """Exactly one stop request."""
        ...

    def price(self, deadline_s: float) -> Reading[Price]:
        """What an hour costs if it is started now."""
        ...
