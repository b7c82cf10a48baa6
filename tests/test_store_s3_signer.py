"""store.s3_signer: what it leaves out of botocore's way to a signature changes no signature."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from threading import Barrier, Event
from typing import Any
from unittest.mock import patch

import botocore.auth
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from spoteval.clock import monotonic_s
from spoteval.store.keys import AccessKeys
from spoteval.store.place import S3Place
from spoteval.store.s3_client import Kept
from spoteval.store.s3_signer import Signer

AT = datetime(2026, 12, 1, 2, 3, 4, tzinfo=UTC)
KEYS = AccessKeys("AKIAEXAMPLE", "secret", "token")
SIGNER = Signer(S3Place("http://127.0.0.1:9000", "x", lambda: KEYS), "s3://evals/a", "evals")

NAMES = st.text("abcdefghijklmnopqrstuvwxyzABCDEFG-", min_size=1, max_size=12).map(
    lambda text: f"x-amz-meta-{text}"
)
VALUES = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=30)
SPACED = st.lists(VALUES, min_size=1, max_size=3).map("  ".join)


def botocore_s(method: str, key: str, query: str, headers: dict[str, str], sha256: str) -> str:
    """The value of Authorization as the library itself makes it."""
    url = f"http://127.0.0.1:9000/evals/{key}{query}"
    request = AWSRequest(method, url, headers={**headers, "Host": "127.0.0.1:9000"})
    auth = S3SigV4Auth(Credentials("AKIAEXAMPLE", "secret", "token"), "s3", "x")
    now = AT.replace(tzinfo=None)
    clock = "botocore.auth.get_current_datetime"
    with patch.object(auth, "payload", lambda _: sha256), _patched(clock, now):
        auth.add_auth(request)
    return str(request.headers["Authorization"])


def _patched(name: str, now: datetime) -> AbstractContextManager[Any]:
    """The library's clock, which older versions ask for otherwise."""
    if hasattr(botocore.auth, "get_current_datetime"):
        return patch(name, lambda *_: now)
    moment = type("Moment", (datetime,), {"utcnow": classmethod(lambda _: now)})
    return patch("botocore.auth.datetime.datetime", moment)


@given(
    method=st.sampled_from(["PUT", "POST", "GET", "DELETE"]),
    key=st.text("abcz019-_.~=/", min_size=1, max_size=40).filter(lambda key: "//" not in key),
    query=st.sampled_from(["", "?uploads", "?partNumber=3&uploadId=a-b_c", "?uploadId=x"]),
    headers=st.dictionaries(NAMES, SPACED, max_size=6),
)
def test_the_signature_is_botocore_s(
    method: str, key: str, query: str, headers: dict[str, str]
) -> None:
    """Whatever the names, their case, and the spaces in the values."""
    unlike = {name.lower(): (name, value) for name, value in headers.items()}
    sent = {"Content-Length": "7", **dict(unlike.values())}
    quoted = key.lstrip("/").replace("=", "%3D") or "k"
    plain = quoted.replace("%3D", "=")
    head = SIGNER.head(method, plain, query, sent, "ab" * 32, AT).decode()
    lines = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
    assert lines["Authorization"] == botocore_s(method, quoted, query, sent, "ab" * 32)


def test_threads_that_want_the_client_at_once_get_the_same() -> None:
    """A restarter of many instances asks with dozens of threads first."""
    kept = Kept(S3Place("http://127.0.0.1:9000", "x", lambda: KEYS), "s3://evals/a", monotonic_s)
    together, made = Barrier(8), list[object]()

    def make(_: S3Place, __: str) -> object:
        Event().wait(0.05)
        made.append(object())
        return made[-1]

    def wants(_: int) -> object:
        together.wait(20)
        return kept.client()

    with patch("spoteval.store.s3_client.make_client", make), ThreadPoolExecutor(8) as pool:
        found = set(pool.map(wants, range(8)))
    assert found == set(made)
    assert len(made) == 1
