"""What Runpod says of a pod and of its errors, in the product's words. Pure.

Values: docs.runpod.io/api-reference-v2 (pods, errors of RFC 9457) and the GraphQL schema that runpodctl uses.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from spoteval.clock import parse_stamp
from spoteval.provider.contract import (
    Observation,
    Reply,
    ReplyKind,
    State,
    Unanswered,
    kind_of_look,
    unanswered,
)
from spoteval.provider.http import KIND_OF_STATUS, Answer

_STATES = {
    "PROVISIONING": State.STARTING,
    "STARTING": State.STARTING,
    "RUNNING": State.RUNNING,
    "EXITED": State.STOPPED,
    "ERROR": State.STOPPED,
    "TERMINATED": State.GONE,
}
_BY_USER = re.compile(r"^exited by user\b", re.IGNORECASE)
"""`Exited by Runpod` is an eviction as well as a container that ended: which, it does not say."""
_TEXTS: tuple[tuple[str, ReplyKind, str], ...] = (
    ("not enough free gpus on the host machine", "capacity", "host-bound"),
    ("no longer any instances available", "capacity", "no-instances"),
    ("cannot resume a spot pod as an on demand pod", "conflict", "spot-pod-without-bid"),
    ("bid", "price", "bid-too-low"),
    ("unauthorized", "auth", "unauthorized"),
    ("rate limit", "rate", "rate-limit"),
    ("balance", "quota", "balance"),
    ("pod not found", "gone", "not-found"),
)
"""Parts of messages that are known, as they are the only thing that tells these apart; never quoted."""
_RESET = re.compile(r"\bt=(\d{1,5})\b")


def observed(pod: Mapping[str, Any], wanted: int, change: str | None) -> Observation:
    """The observation. `change`: Runpod's own text on the last change of its state, None where it is not known.

    A pod that runs with fewer GPUs than `wanted` is of no use: it counts as one that is still starting.
    """
    word = str(pod.get("status"))
    state = _STATES.get(word, State.UNKNOWN)
    lacks = state is State.RUNNING and gpus(pod) < wanted
    if lacks:
        state = State.STARTING
    if state is State.STOPPED and _cannot_start(pod):
        state = State.UNRESTARTABLE
    is_off = state in (State.STOPPED, State.UNRESTARTABLE)
    by_user = is_off and _BY_USER.match(change or "") is not None
    return Observation(
        state=state,
        billed=_billed(word),
        last_start=_moment(pod) if state is State.RUNNING else None,
        cause="user" if by_user else None,
        evidence="exited-by-user" if by_user else None,
        advice="fewer-gpus" if lacks else None,
        addresses=tuple(_addresses(pod)),
    )


def gpus(pod: Mapping[str, Any]) -> int:
    """How many it has: of those that run where it says so, else of those that were promised."""
    runtime, gpu = pod.get("runtime"), pod.get("gpu")
    running = runtime.get("gpus") if isinstance(runtime, Mapping) else None
    if isinstance(running, list):
        return len(running)
    count = gpu.get("count") if isinstance(gpu, Mapping) else None
    return count if isinstance(count, int) else 0


def refusal(answer: Answer) -> Unanswered:
    """A look that was refused. Only our own word for a message is shown."""
    kind, word, _ = _understood(answer)
    return unanswered(kind_of_look(kind), word, _retry_after_s(answer))


def reply_of(answer: Answer) -> Reply:
    """200 says that it is wished for: whether GPUs come, only the state tells. GraphQL puts errors into a 200."""
    if answer.ok and not messages(answer.body):
        return Reply(ok=True, kind="accepted")
    kind, word, advice = _understood(answer)
    return Reply(ok=False, kind=kind, detail=word, advice=advice)


def messages(body: object) -> str:
    """All that an answer says of errors, in small letters: RFC 9457's `title` and `detail`, GraphQL's `errors`."""
    if not isinstance(body, Mapping):
        return ""
    errors = body.get("errors")
    rows = [one for one in errors if isinstance(one, Mapping)] if isinstance(errors, list) else []
    texts = [str(one.get("message", one.get("detail", "error"))) for one in rows]
    texts += [str(body[name]) for name in ("title", "detail") if name in body]
    return " ".join(texts).lower()


def _understood(answer: Answer) -> tuple[ReplyKind, str, str | None]:
    text = messages(answer.body)
    for part, kind, word in _TEXTS:
        if part in text:
            return kind, word, word if kind == "capacity" else None
    return KIND_OF_STATUS.get(answer.status, "unknown"), str(answer.status), None


def _billed(word: str) -> bool | None:
    """A pod that is in error may hold its GPUs: nobody says."""
    if word == "EXITED":
        return False
    return True if word in ("PROVISIONING", "STARTING", "RUNNING") else None


def _cannot_start(pod: Mapping[str, Any]) -> bool:
    actions = pod.get("actions")
    return isinstance(actions, list) and "start" not in actions


def _moment(pod: Mapping[str, Any]) -> datetime | None:
    try:
        return parse_stamp(str(pod["startedAt"]))
    except (KeyError, ValueError):
        return None


def _addresses(pod: Mapping[str, Any]) -> list[str]:
    runtime = pod.get("runtime")
    ports = runtime.get("ports") if isinstance(runtime, Mapping) else None
    rows = [one for one in ports if isinstance(one, Mapping)] if isinstance(ports, list) else []
    return list(dict.fromkeys(str(one["ip"]) for one in rows if one.get("ip")))


def _retry_after_s(answer: Answer) -> float | None:
    """`Retry-After`, or the seconds until the window of `RateLimit` ends."""
    if answer.retry_after_s is not None:
        return answer.retry_after_s
    found = _RESET.search(str(answer.headers.get("RateLimit", "")))
    return float(found[1]) if found is not None and answer.status == 429 else None
