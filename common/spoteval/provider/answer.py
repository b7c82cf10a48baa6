"""What an operator's own program may print: one JSON object, read without trust. Pure."""

import json
from typing import Any, get_args

from spoteval.clock import Now
from spoteval.provider.contract import (
    ErrorKind,
    Observation,
    Price,
    Reply,
    ReplyKind,
    State,
    unanswered,
)
from spoteval.shape import Reading, ShapeError, Table, Unreadable

CAUSES = ("preempted", "guest", "user", "platform")
EVIDENCE = "provider-reason"
_REPLIES, _ERRORS = get_args(ReplyKind), get_args(ErrorKind)
_PRICES = ("spot", "list")
_LONGEST, _LONGEST_WORD = 200, 64


def answer_table(text: str, asked: str) -> Reading[Table]:
    """The object that a program printed. Nothing of the text is quoted: it could hold a secret."""
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return Unreadable(
            "printed nothing" if not text.strip() else "did not print one JSON object"
        )
    if not isinstance(value, dict):
        return Unreadable("did not print a JSON object")
    return Table(value, asked)


def observation_from(table: Table) -> Reading[Observation]:
    """`{"state": …, "billed": …, "auto_restart": …, "last_start": …, "cause": …, "evidence": …, "advice": …}`.

    Only `state` is required. A state in other words than ours is unreadable, never STOPPED. `{"error": …}` instead
    says why there is none.
    """
    if (refused := refusal_from(table)) is not None:
        return refused
    word = table.values.get("state")
    if not isinstance(word, str) or word not in State.__members__:
        return Unreadable(f"state {_plain(word)}: must be {' | '.join(State)}")
    try:
        cause = table.maybe_text("cause")
        return Observation(
            state=State(word),
            billed=table.flag("billed") if table.values.get("billed") is not None else None,
            auto_restart=table.flag("auto_restart", default=False),
            last_start=table.maybe_moment("last_start"),
            cause=cause if cause in CAUSES else None,
            evidence=_evidence(table) if cause in CAUSES else None,
            advice=_word(table.maybe_text("advice")),
        )
    except ShapeError as error:
        return Unreadable(_without_value(table, error))


def refusal_from(table: Table) -> Unreadable | None:
    """`{"error": "auth", "detail": …}`, in the place of a state or a price; None where there is no `error`."""
    kind = table.values.get("error")
    if kind is None:
        return None
    if not isinstance(kind, str) or kind not in _ERRORS:
        return Unreadable(f"error: must be {' | '.join(_ERRORS)}")
    found: ErrorKind = kind  # type: ignore[assignment]  # just looked up in the kinds themselves
    return unanswered(found, _detail(table))


def reply_from(table: Table) -> Reply:
    """`{"reply": "accepted"}`, or another kind of reply; `detail` is a line for people, `advice` a word."""
    kind = table.values.get("reply")
    if not isinstance(kind, str) or kind not in _REPLIES:
        return Reply(ok=False, kind="unknown", detail=f"reply must be {' | '.join(_REPLIES)}")
    found: ReplyKind = kind  # type: ignore[assignment]  # just looked up in the kinds themselves
    advice = table.values.get("advice")
    hint = _word(advice) if isinstance(advice, str) else None
    return Reply(ok=found == "accepted", kind=found, detail=_detail(table), advice=hint)


def price_from(table: Table, now: Now) -> Reading[Price]:
    """`{"amount": 3.2, "currency": "USD", "per": "hour", "kind": "spot"}`; `as_of` is now where it is absent.

    `{"error": …}` instead says why there is none.
    """
    if (refused := refusal_from(table)) is not None:
        return refused
    try:
        amount = table.number("amount")
        if amount < 0:
            return Unreadable("amount: must be 0 or more")
        return Price(
            amount=amount,
            currency=table.text("currency"),
            per=table.choice("per", ("hour",), "hour"),
            kind=table.choice("kind", _PRICES, "spot"),
            as_of=table.maybe_moment("as_of") or now.wall,
        )
    except ShapeError as error:
        return Unreadable(_without_value(table, error))


def _evidence(table: Table) -> str:
    """What says so, as one word of a line; a program that gives none is itself the evidence."""
    return _word(table.maybe_text("evidence")) or EVIDENCE


def _word(text: str | None) -> str | None:
    """As one word of a line; None where nothing is left of it."""
    return _one_line(text or "").replace(" ", "-")[:_LONGEST_WORD] or None


def _detail(table: Table) -> str:
    detail = table.values.get("detail")
    return _one_line(detail) if isinstance(detail, str) else ""


def _one_line(text: str) -> str:
    plain = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(plain.split())[:_LONGEST]


def _plain(word: object) -> str:
    """The word, where it can be nothing but a state in another spelling."""
    is_plain = isinstance(word, str) and word.isascii() and word.isalpha() and len(word) <= 16
    return f'"{word}"' if is_plain else "missing" if word is None else "not understood"


def _without_value(table: Table, error: ShapeError) -> str:
    """The key and what is allowed; the value stays out of lines and records."""
    text = str(error).removeprefix(f"[{table.place}] ")
    key = text.split(" ")[0].rstrip(":")
    allowed = text.rpartition("must be ")[2] if "must be " in text else "missing"
    return f"{key}: must be {allowed}" if allowed != "missing" else f"{key}: missing"
