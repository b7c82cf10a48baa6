"""Which URLs name a store: known without loading any."""

import re
from urllib.parse import urlsplit

from spoteval.store.contract import key_error

_S3 = "s3://"
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_ALLOWED = "must be file:///absolute/path or s3://bucket/prefix"


def url_error(url: str) -> str | None:
    """Why `url` names no store we know, or None."""
    if url.startswith(_S3):
        return _s3_error(url)
    parts = urlsplit(url)
    if parts.scheme == "file" and parts.path.startswith("/") and not parts.netloc:
        return None
    return f'"{url}": {_ALLOWED}'


def bucket_and_prefix(url: str) -> tuple[str, str]:
    """Bucket and what begins each key of a valid `s3://` URL, taken letter by letter: "" or a text that ends in "/"."""
    bucket, _, prefix = url.removeprefix(_S3).partition("/")
    prefix = prefix.rstrip("/")
    return bucket, f"{prefix}/" if prefix else ""


def _s3_error(url: str) -> str | None:
    bucket, prefix = bucket_and_prefix(url)
    if not _BUCKET.fullmatch(bucket):
        shown = (
            url if "@" not in url else "s3://…@…"
        )  # who types a key there must not read it in a log
        return f'"{shown}": {_ALLOWED}; a bucket is 3 to 63 of a-z 0-9 . -'
    if prefix and key_error(prefix.rstrip("/")) is not None:
        return f'"{url}": {_ALLOWED}; a prefix has no empty or dotted part'
    return None
