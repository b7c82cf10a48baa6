"""What EC2's error codes mean. Codes: docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html."""

from botocore.exceptions import BotoCoreError, ClientError, ConnectTimeoutError, ReadTimeoutError

from spoteval.provider.contract import (
    ErrorKind,
    Reply,
    ReplyKind,
    Unanswered,
    kind_of_look,
    unanswered,
)

DRY_RUN = "DryRunOperation"
_KINDS: dict[str, ReplyKind] = {
    "InsufficientInstanceCapacity": "capacity",
    "InsufficientHostCapacity": "capacity",
    "InsufficientCapacity": "capacity",
    "SpotMaxPriceTooLow": "price",
    "MaxSpotInstanceCountExceeded": "quota",
    "VcpuLimitExceeded": "quota",
    "InstanceLimitExceeded": "quota",
    "IncorrectInstanceState": "conflict",
    "IncorrectSpotRequestState": "conflict",
    "IncorrectState": "conflict",
    "UnsupportedOperation": "conflict",
    "RequestLimitExceeded": "rate",
    "Throttling": "rate",
    "ThrottlingException": "rate",
    "RequestThrottled": "rate",
    "EC2ThrottledException": "rate",
    "UnauthorizedOperation": "auth",
    "AuthFailure": "auth",
    "AccessDenied": "auth",
    "ExpiredToken": "auth",
    "RequestExpired": "auth",
    "InvalidClientTokenId": "auth",
    "SignatureDoesNotMatch": "auth",
    "UnrecognizedClientException": "auth",
    "OptInRequired": "auth",
    "Blocked": "auth",
    "InvalidInstanceID.NotFound": "gone",
}
STALE = frozenset(["ExpiredToken", "RequestExpired", "InvalidClientTokenId", "AuthFailure"])
"""Newer keys may help."""


def code_of(error: Exception) -> str:
    """EC2's code; empty where it did not answer."""
    if not isinstance(error, ClientError):
        return ""
    code = str(error.response.get("Error", {}).get("Code", ""))
    return code if code.replace(".", "").isalnum() and len(code) < 80 else "Unknown"


def refusal(error: Exception) -> Unanswered:
    """A look that was not answered. Only the code is quoted: a message may hold what was encoded for an owner."""
    code = code_of(error)
    if code:
        return unanswered(kind_of_look(_KINDS.get(code, "unknown")), code)
    if isinstance(error, ConnectTimeoutError | ReadTimeoutError):
        return unanswered("timeout", "EC2 did not answer")
    return unanswered(*_without_answer(error))


def reply_of(error: Exception) -> Reply:
    """A call that was refused, or whose fate is not known: without a code it may have arrived."""
    code = code_of(error)
    if code:
        return Reply(ok=False, kind=_KINDS.get(code, "unknown"), detail=code)
    if isinstance(error, ConnectTimeoutError | ReadTimeoutError):
        return Reply(ok=False, kind="unknown", detail="timeout:EC2 did not answer")
    kind, detail = _without_answer(error)
    return Reply(ok=False, kind="auth" if kind == "auth" else "unknown", detail=detail)


def _without_answer(error: Exception) -> tuple[ErrorKind, str]:
    """Without keys nothing was sent."""
    name = type(error).__name__ if isinstance(error, BotoCoreError | OSError) else "no answer"
    is_ours = "Credential" in name
    return ("auth", f"no access keys ({name})") if is_ours else ("unknown", name)
