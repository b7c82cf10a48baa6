"""Large files in parts: each a request of its own, so that what was sent is not sent again, and no call is long.

Only PUT and the calls of multipart are asked, all of which a key has that may put (`s3:AbortMultipartUpload` besides).
"""

import hashlib
import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Protocol
from urllib.parse import quote

from spoteval.store.contract import Exists, NotThere, Put
from spoteval.store.http_exchange import Answer
from spoteval.store.s3_answer import error_of
from spoteval.store.s3_errors import NotS3

_ID = re.compile(rb"<UploadId>\s*([^<\s]{1,2000})\s*</UploadId>")


class Large(Protocol):
    """What a store has that takes files in parts. All methods raise StoreError."""

    def begin(self, key: str, sha256: str) -> str:
        """An id under which parts are sent; until it is complete the key does not exist."""

    def part(self, key: str, upload: str, number: int, data: bytes) -> str:
        """Send part `number` (from 1), again if need be; returns its tag."""

    def complete(self, key: str, upload: str, tags: Sequence[str]) -> Put:
        """Make the object of its parts, create-only where the service can."""

    def abort(self, key: str, upload: str) -> None:
        """Throw the parts away; nothing happens where there are none any more."""


class Asking(Protocol):
    """A signed request of the store, with all its tries."""

    def __call__(
        self,
        what: str,
        method: str,
        key: str,
        query: str,
        headers: Mapping[str, str],
        data: bytes,
        check: Callable[[Answer], None],
    ) -> Answer: ...


class S3Large:
    """The parts of one store in a bucket. `conditional`: whether it is known to heed the condition."""

    def __init__(self, asked: Asking, conditional: Callable[[], bool]) -> None:
        self._asked, self._conditional = asked, conditional

    def begin(self, key: str, sha256: str) -> str:
        """As the contract says."""
        meta = {"x-amz-meta-sha256": sha256}
        answer = self._asked("begin of parts", "POST", key, "?uploads", meta, b"", _has_id)
        found = _ID.search(answer.body)
        assert found is not None  # it was checked
        return found[1].decode()

    def part(self, key: str, upload: str, number: int, data: bytes) -> str:
        """As the contract says; the service holds the MD5 and the signed SHA-256 against what came."""
        md5 = b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode()
        query = f"?partNumber={number}&uploadId={quote(upload, safe='')}"
        answer = self._asked(
            f"part {number}", "PUT", key, query, {"Content-MD5": md5}, data, _has_tag
        )
        return answer.headers["etag"]

    def complete(self, key: str, upload: str, tags: Sequence[str]) -> Put:
        """As the contract says. REPEATED where an earlier try of this call may have done it."""
        parts = "".join(
            f"<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag></Part>"
            for number, tag in enumerate(tags, start=1)
        )
        body = f"<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>".encode()
        is_conditional = self._conditional()
        headers = {"If-None-Match": "*"} if is_conditional else {}
        query = f"?uploadId={quote(upload, safe='')}"
        try:
            self._asked("end of parts", "POST", key, query, headers, body, _is_done)
        except Exists as exists:
            return Put.REPEATED if exists.is_repeated else Put.EXISTS
        return Put.CREATED if is_conditional else Put.ACKNOWLEDGED

    def abort(self, key: str, upload: str) -> None:
        """As the contract says."""
        query = f"?uploadId={quote(upload, safe='')}"
        with suppress(NotThere):
            self._asked("abort of parts", "DELETE", key, query, {}, b"", _anything)


def _has_id(answer: Answer) -> None:
    if _ID.search(answer.body) is None:
        raise NotS3


def _has_tag(answer: Answer) -> None:
    if not answer.headers.get("etag"):
        raise NotS3


def _is_done(answer: Answer) -> None:
    """A service may answer 200 at once and tell in the body, later, that it failed."""
    if b"<Error>" in answer.body:
        raise error_of(answer, "POST")
    if b"CompleteMultipartUploadResult" not in answer.body:
        raise NotS3


def _anything(answer: Answer) -> None:
    """An answer is enough."""
