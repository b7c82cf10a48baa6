"""What an operator's own program may print: one JSON object, read without trust. Pure."""

import json
from typing import Any, get_args

from spoteval.clock import Now
from spoteval.provider.contract import Observation, Price, Reply, ReplyKind, State
from spoteval.shape import Reading, ShapeError, Table, Unreadable

CAUSES = ("preempted", "guest", "user", "platform")
EVIDENCE = "provider-reason"
_REPLIES = get_args(ReplyKind)
_PRICES = ("spot", "list")
_LONGEST = 200


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
    """`{"state": …, "billed": …, "auto_restart": …, "last_start": …, "cause": …, "evidence": …}`.

    Only `state` is required. A state in other words than ours is unreadable, never STOPPED.
    """
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
        )
    except ShapeError as error:
        return Unreadable(_without_value(table, error))


def reply_from(table: Table) -> Reply:
    """`{"reply": "accepted"}`, or another kind of reply; `detail` is a line for people."""
    kind = table.values.get("reply")
    if not isinstance(kind, str) or kind not in _REPLIES:
        return Reply(ok=False, kind="unknown", detail=f"reply must be {' | '.join(_REPLIES)}")
    detail = table.values.get("detail")
    said = _one_line(detail) if isinstance(detail, str) else ""
    found: ReplyKind = kind  # type: ignore[assignment]  # just looked up in the kinds themselves
    return Reply(ok=found == "accepted", kind=found, detail=said)


def price_from(table: Table, now: Now) -> Reading[Price]:
    """`{"amount": 3.2, "currency": "USD", "per": "hour", "kind": "spot"}`; `as_of` is now where it is absent."""
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
    text = table.maybe_text("evidence")
    return (_one_line(text) if text else "").replace(" ", "-") or EVIDENCE


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
