"""Evidence into the store: small files in one put, large ones in parts that no slice has to send in one go."""

import hashlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from spoteval.store.contract import NotThere, Put, StoreError
from spoteval.store.s3_parts import part_bytes
from spoteval_agents.publication_follower.evidence import (
    Bytes,
    Changed,
    Evidence,
    Unfinished,
    ident_of,
)
from spoteval_agents.publication_follower.journal import Journal
from spoteval_agents.publication_follower.work import Ident


@dataclass(slots=True)
class Upload:
    """A large file on its way, in this process: what was sent of it, and its digest so far."""

    upload: str
    ident: Ident
    tags: list[str] = field(default_factory=list)
    digest: Any = field(default_factory=hashlib.sha256)


def put_evidence(
    store: Any,
    journal: Journal,
    key: str,
    evidence: Evidence | Bytes,
    parts_above: int,
    go_on: Callable[[], bool],
) -> Put:
    """Send it. Raises StoreError, Withheld, and Changed where it changed, or there is no time for all of it now."""
    large = getattr(store, "large", None)
    if isinstance(evidence, Bytes) or evidence.blob.size <= parts_above or large is None:
        return evidence.put(store, key)
    evidence.refuse_secret()
    found = journal.progress.get(key)
    if not isinstance(found, Upload) or found.ident != evidence.ident:
        _abort(large, journal, key)
        found = Upload(large.begin(key, evidence.blob.sha256), evidence.ident)
        journal.upload(
            key, found.upload
        )  # durable before the first part: who comes after us can end it
        journal.progress[key] = found
    try:
        _send(large, key, evidence, found, go_on)
    except NotThere:  # somebody's rule about stray parts, or a service that forgot
        journal.progress.pop(key)
        raise StoreError(
            f"{key}: the parts that were sent are gone; sent again next time"
        ) from None
    if (
        found.digest.hexdigest() != evidence.blob.sha256
        or ident_of(evidence.path) != evidence.ident
    ):
        _abort(large, journal, key)
        raise Changed(f"{evidence.path}: changed while it was sent")
    answer: Put = large.complete(key, found.upload, found.tags)
    journal.progress.pop(key, None)
    if answer in (Put.EXISTS, Put.REPEATED):
        with suppress(StoreError):
            large.abort(key, found.upload)
    journal.upload(key, None)
    return answer


def _send(
    large: Any, key: str, evidence: Evidence, found: Upload, go_on: Callable[[], bool]
) -> None:
    size = part_bytes(evidence.blob.size)
    with evidence.path.open("rb") as file:
        file.seek(size * len(found.tags))
        while piece := file.read(size):
            if not go_on():
                raise Unfinished(f"{evidence.path}: {len(found.tags)} parts sent, the rest follows")
            found.tags.append(large.part(key, found.upload, len(found.tags) + 1, piece))
            found.digest.update(piece)


def abort_stale(store: Any, journal: Journal) -> None:
    """End what an earlier process began: its parts would be paid for, and nobody lists them."""
    large = getattr(store, "large", None)
    for key in [key for key in journal.uploads if key not in journal.progress]:
        with suppress(StoreError):
            _abort(large, journal, key)


def _abort(large: Any, journal: Journal, key: str) -> None:
    upload = journal.uploads.get(key)
    if upload is not None and large is not None:
        large.abort(key, upload)
        journal.upload(key, None)
    journal.progress.pop(key, None)
