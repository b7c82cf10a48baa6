"""What went wrong with an S3 service, in one line: what it is, what to do, and nothing that the service wrote itself.

Services quote key ids, signatures and account numbers in their messages; only their error codes are repeated.
"""

import re
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from enum import Enum
from http.client import HTTPException

from botocore import exceptions as boto
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError
from urllib3.exceptions import HTTPError

from spoteval.clock import Now, ahead_s
from spoteval.store.http_route import ProxyDown, TlsFailed
from spoteval.store.s3_codes import (
    AGAIN_CODES,
    AGAIN_STATUS,
    DIGEST_CODES,
    KEY_CODES,
    LATER_CODES,
)


class Damaged(Exception):
    """What came is not what was put."""


class NotS3(Exception):
    """Success, said by something that is no S3 service: a portal that wants somebody to log in."""


TROUBLES = (
    BotoCoreError,
    ClientError,
    ResponseParserError,
    HTTPError,
    HTTPException,
    OSError,
    Damaged,
    NotS3,
)
"""All that a call can raise; OSError of its sockets."""
SKEW_S = 300.0
"""From here on services refuse a signature, some of them as if the key were wrong (AWS: 15 min)."""
_WORD = re.compile(r"[A-Za-z0-9.]{1,60}")
_OPEN_STATUS = frozenset([500, 502, 504])  # a gateway's, or of a service that failed half-way
_SKEWED = frozenset(["RequestTimeTooSkewed", "RequestExpired"])
_DNS = 'its name is not known (DNS; is "endpoint_url" right?)'


class Way(Enum):
    """What follows from it."""

    AGAIN = "again"
    LATER = "later"
    REFUSED = "refused"
    ABSENT = "absent"
    EXISTS = "exists"
    NO_CONDITION = "no condition"


@dataclass(frozen=True, slots=True)
class Trouble:
    """One failed attempt. `after_s`: how long the service asks to be left alone; `is_of_key`: another key may do;
    `is_open`: what was asked may have been done."""

    way: Way
    text: str
    after_s: float | None = None
    is_of_key: bool = False
    is_open: bool = False
    ahead_s: float | None = None
    """By how much the service's clock is ahead, where that is what is wrong."""


def is_refusal_of_digests(error: Exception) -> bool:
    """Whether the service took a look at the bytes, and they are not those of the put's digests or signature."""
    if not isinstance(error, ClientError):
        return False
    return _word(_table(error.response, "Error").get("Code")) in DIGEST_CODES


def unmade(url: str, endpoint: str | None, error: Exception) -> ValueError:
    """That no client can be made. The error's own text may quote a file of keys: its kind alone is told.

    A bundle of certificates that cannot be read is an OSError.
    """
    variable = "AWS_CA_BUNDLE" if isinstance(error, OSError) else "AWS_PROFILE"
    return ValueError(
        f'"{url}": no client can be made: {type(error).__name__}'
        f" (endpoint_url {endpoint or 'of AWS'}; is {variable} right?)"
    )


def trouble_of(error: Exception, now: Now) -> Trouble:
    """What one attempt's error means; `now` is held against the service's clock."""
    if isinstance(error, ClientError):
        return _answered(error.response, now)
    if isinstance(error, Damaged):
        return Trouble(Way.AGAIN, "the bytes that came are not those that were put", is_open=True)
    if isinstance(error, boto.SSLError | TlsFailed):
        return Trouble(Way.LATER, "TLS failed (its certificate, AWS_CA_BUNDLE, or http for https)")
    if isinstance(error, boto.NoCredentialsError):
        no_key = "no key: set [store] credential, or give this machine a role"
        return Trouble(Way.LATER, no_key, is_of_key=True)
    if isinstance(error, boto.PartialCredentialsError | boto.CredentialRetrievalError):
        unread = "the key of this machine or profile cannot be read"
        return Trouble(Way.LATER, unread, is_of_key=True)
    if isinstance(error, boto.ParamValidationError):
        return Trouble(Way.REFUSED, "the client takes this call for wrong (is the bucket's name?)")
    if isinstance(error, boto.ProxyConnectionError | ProxyDown):
        return Trouble(Way.LATER, "the proxy does not answer (HTTPS_PROXY, HTTP_PROXY, NO_PROXY)")
    if isinstance(error, ResponseParserError | NotS3):
        return Trouble(Way.LATER, "something answered that is no S3 service (endpoint_url? proxy?)")
    if isinstance(error, BotoCoreError) and not isinstance(error, _NETWORK):
        return Trouble(Way.LATER, f"{type(error).__name__} in the client")
    return _unanswered(error)


_NETWORK = (boto.ConnectionError, boto.HTTPClientError, boto.IncompleteReadError)


def _unanswered(error: Exception) -> Trouble:
    causes = list(_causes(error))
    if isinstance(error, boto.ConnectTimeoutError | boto.ReadTimeoutError):
        return Trouble(Way.AGAIN, "no answer: timeout", is_open=True)
    if any(isinstance(cause, socket.gaierror) for cause in causes) or _says_dns(error):
        return Trouble(Way.LATER, _DNS)
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return Trouble(Way.LATER, "connection refused (is the service up, and endpoint_url right?)")
    if any(isinstance(cause, TimeoutError) for cause in causes):
        return Trouble(Way.AGAIN, "no answer: timeout", is_open=True)
    said = next((c.strerror for c in causes if isinstance(c, OSError) and c.strerror), None)
    text = f"the connection broke: {said or type(error).__name__}"
    return Trouble(Way.AGAIN, text, is_open=True)


def _says_dns(error: Exception) -> bool:
    return any(type(cause).__name__ == "NameResolutionError" for cause in _causes(error))


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what lies beneath: botocore keeps it in `kwargs`, urllib3 in its reasons."""
    seen: list[BaseException] = []
    left: list[object] = [error]
    while left:
        one = left.pop()
        if isinstance(one, BaseException) and one not in seen:
            seen.append(one)
            inner = getattr(one, "kwargs", {})
            left += [one.__cause__, one.__context__, inner.get("error"), *one.args]
            left.append(getattr(one, "reason", None))
            yield one


def _answered(response: Mapping[str, object], now: Now) -> Trouble:
    meta, said = _table(response, "ResponseMetadata"), _table(response, "Error")
    status, code = _number(meta.get("HTTPStatusCode")), _word(said.get("Code"))
    headers = _table(meta, "HTTPHeaders")
    way, text = _verdict(status, code, str(said.get("Message")))
    name = f"{status} {code}" if code and code != str(status) else f"{status}"
    if status in (400, 401, 403) and (off := _skew(code, headers, now)) is not None:
        return Trouble(Way.LATER, f"{name}: {off[0]}", ahead_s=off[1])
    if status in (301, 307, 400) and (region := _word(headers.get("x-amz-bucket-region"))):
        return Trouble(Way.LATER, f'{name}: the bucket is elsewhere: set [store] region "{region}"')
    after_s = float(_number(headers.get("retry-after"))) or None
    whole = f"{name}{': ' if text else ''}{text}"
    return Trouble(way, whole, after_s, code in KEY_CODES, status in _OPEN_STATUS)


def _verdict(status: int, code: str, message: str) -> tuple[Way, str]:
    """What an answer means by status and code; `message` is looked at and never repeated."""
    if status in (304, 412):
        return Way.EXISTS, ""
    if code == "NotImplemented" or (status == 400 and "none-match" in message.lower()):
        return Way.NO_CONDITION, "the service does not know this kind of request"
    if code in ("NoSuchKey", "NoSuchUpload"):
        return Way.ABSENT, "no such object"
    if (text := LATER_CODES.get(code)) is not None:
        return Way.LATER, text
    if status in AGAIN_STATUS or code in AGAIN_CODES:
        return Way.AGAIN, "the service cannot take it now"
    if status in (401, 403):
        return Way.REFUSED, "this key may not do that (rotated? rights: docs/stores/s3.md)"
    if status in (404, 501):
        return Way.LATER, "no S3 service answers there (endpoint_url? proxy?)"
    return Way.REFUSED, "the service refuses it"


def _skew(code: str, headers: Mapping[str, object], now: Now) -> tuple[str, float | None] | None:
    """By how much this host's clock is off, in words and seconds, where that is what is wrong."""
    try:
        theirs = parsedate_to_datetime(str(headers.get("date")))
        off_s = ahead_s(theirs, now) if theirs.tzinfo is not None else 0.0
    except ValueError:
        off_s = 0.0
    if abs(off_s) <= SKEW_S:
        text = "the clocks differ (timedatectl shows this host's)"
        return (text, None) if code in _SKEWED else None
    return f"{clock_text(off_s)} (timedatectl; a signature has a time)", off_s


def clock_text(off_s: float) -> str:
    """How far this host's clock is off, for people."""
    return f"this host's clock is {abs(off_s):.0f} s {'slow' if off_s > 0 else 'fast'}"


def _table(values: Mapping[str, object], name: str) -> Mapping[str, object]:
    found = values.get(name)
    return found if isinstance(found, Mapping) else {}


def _number(value: object) -> int:
    """A count in an answer, 0 for what is none."""
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 7 else 0


def _word(value: object) -> str:
    """A code or a region as it may stand in a line, "" for what is none."""
    return value if isinstance(value, str) and _WORD.fullmatch(value.replace("-", "")) else ""
