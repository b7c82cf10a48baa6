"""What a put sends and what its answer says about it: digests on both sides."""

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from spoteval.store.contract import Put, StoreError
from spoteval.store.s3_errors import Damaged, NotS3

_CHECKSUM = "x-amz-checksum-sha256"
_HEX = re.compile(r"[0-9a-f]{64}")
_PIECE = 1 << 20


class Body(NamedTuple):
    """Bytes to send, from their beginning, and their digests: services that look at none of them are few."""

    data: IO[bytes] | bytes
    size: int
    sha256: bytes
    md5: bytes

    @property
    def headers(self) -> dict[str, str]:
        """Of the put."""
        return {
            "Content-Length": str(self.size),
            "Content-MD5": b64encode(self.md5).decode(),
            "x-amz-checksum-sha256": b64encode(self.sha256).decode(),
            "x-amz-meta-sha256": self.sha256.hex(),
        }

    def pieces(self) -> Iterator[bytes]:
        """From the beginning, each time it is asked."""
        if isinstance(self.data, bytes):
            yield self.data
        else:
            self.data.seek(0)
            while piece := self.data.read(_PIECE):
                yield piece

    def confirm(self, headers: Mapping[str, str]) -> None:
        """Raise Damaged where the service answered with the checksum of other bytes, NotS3 where none answered."""
        refuse_stranger(headers)
        if headers.get(_CHECKSUM) not in (None, b64encode(self.sha256).decode()):
            raise Damaged

    def acknowledged(self, headers: Mapping[str, str]) -> Put:
        """ACKNOWLEDGED where the answer names these very bytes, by checksum or ETag; raises StoreError."""
        etag = headers.get("etag", "").strip('"').lower()
        if headers.get(_CHECKSUM) is None and etag != self.md5.hex():
            raise StoreError("taken without a condition, and the answer does not say which bytes")
        return Put.ACKNOWLEDGED


def body_of(data: bytes) -> Body:
    """Bytes in memory, with their digests: those of every try."""
    md5 = hashlib.md5(data, usedforsecurity=False)
    return Body(data, len(data), hashlib.sha256(data).digest(), md5.digest())


def damaged_body() -> Body:
    """Bytes under the digests of others, as many: what a bad cable or a bad proxy makes of a put."""
    sent, meant = b"damaged\n", b"correct\n"
    md5 = hashlib.md5(meant, usedforsecurity=False)
    return Body(sent, len(sent), hashlib.sha256(meant).digest(), md5.digest())


@contextmanager
def body_of_file(path: Path) -> Iterator[Body]:
    """A file, read once for its digests and once to be sent; raises StoreError where it cannot be read.

    What changes in between is refused by services that check digests, and raised as such.
    """
    try:
        with path.open("rb") as file:
            yield _digested(file)
    except OSError as error:
        if error.filename is None:
            raise  # of the connection
        raise StoreError(f"{path}: {error.strerror}") from error


def _digested(file: IO[bytes]) -> Body:
    sha256, md5, size = hashlib.sha256(), hashlib.md5(usedforsecurity=False), 0
    while piece := file.read(_PIECE):
        sha256.update(piece)
        md5.update(piece)
        size += len(piece)
    file.seek(0)
    return Body(file, size, sha256.digest(), md5.digest())


def refuse_damaged(headers: Mapping[str, str], data: bytes) -> None:
    """Raise Damaged where the object's own metadata names other bytes, NotS3 where no service answered."""
    refuse_stranger(headers)
    meant = headers.get("x-amz-meta-sha256", "")
    if _HEX.fullmatch(meant) and hashlib.sha256(data).hexdigest() != meant:
        raise Damaged


def refuse_stranger(headers: Mapping[str, str]) -> None:
    """Raise NotS3 for an answer about an object without its ETag, which every service sends."""
    if not headers.get("etag"):
        raise NotS3
