"""The store in a bucket: `s3://bucket/prefix`. Create-only by If-None-Match; no HEAD, no delete, no multipart."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

from spoteval.clock import Now, read_now
from spoteval.store.contract import NotThere, Put, Stored, StoreError, StoreRefused, key_error
from spoteval.store.place import S3Place
from spoteval.store.s3_body import Body, body_of, body_of_file, refuse_damaged
from spoteval.store.s3_client import Client, Kept
from spoteval.store.s3_errors import TROUBLES, NotS3, Trouble, Way, trouble_of
from spoteval.store.s3_patience import Deadline, Overrun, Patience, bounded, pause_s
from spoteval.store.url import bucket_and_prefix

T = TypeVar("T")
Act = Callable[[Client, Deadline], T]
Opened = Callable[[], AbstractContextManager[Body]]
CALL_S = 20.0
"""Longest call, all tries together; much data has as much more as it takes at the least rate."""
LEAST_BYTES_S = 1e6
LARGEST_PUT = 5 * 1024**3
"""Of one PUT, by the protocol."""
LONGEST_KEY = 1024
_DICE = Patience()


class S3Store:
    """A store below a prefix of a bucket. Keys that may only put are enough for `put` and `put_file`."""

    def __init__(
        self,
        url: str,
        place: S3Place,
        patience: Patience = _DICE,
        clock: Callable[[], Now] = read_now,
    ) -> None:
        """Load the client; raises ValueError with one line where none can be made."""
        self.url = url.rstrip("/")
        self._bucket, self._prefix = bucket_and_prefix(url)
        self._patience, self._clock = patience, clock
        self._kept = Kept(place, self.url, patience.clock)

    def put(self, key: str, data: bytes) -> Put:
        """Create `key` with `data`."""
        return self._put(key, lambda: body_of(data), len(data))

    def put_file(self, key: str, path: Path) -> Put:
        """Create `key` with the bytes of a file."""
        try:
            size = path.stat().st_size
        except OSError as error:
            raise StoreError(f"{path}: {error.strerror}") from error
        return self._put(key, lambda: body_of_file(path), size)

    def get(self, key: str) -> bytes:
        """The bytes of `key`."""
        name = self._name(key)

        def act(client: Client, deadline: Deadline) -> bytes:
            answer = client.get_object(Bucket=self._bucket, Key=name)
            deadline.put_off(answer.get("ContentLength", 0) / LEAST_BYTES_S)
            data: bytes = answer["Body"].read()
            refuse_damaged(answer, data)
            return data

        return self._call(f"{self.url}/{key}: get", act)

    def list(self, prefix: str) -> Iterator[Stored]:
        """Every object whose key begins with `prefix`, in the order of keys."""
        found: list[Stored] = []
        token: Mapping[str, str] = {}
        while True:
            page = self._page(prefix, token)
            found += [self._stored(item) for item in page.get("Contents", ())]
            if not page.get("IsTruncated"):
                break
            token = self._next(prefix, page, token)
        found.sort(key=lambda item: item.key)  # not every service keeps the order of AWS
        # A name that ends in a slash is a folder that somebody's console made.
        yield from (item for item in found if not item.key.endswith("/") and item.key)

    def _page(self, prefix: str, token: Mapping[str, str]) -> Mapping[str, Any]:
        def act(client: Client, _: Deadline) -> Mapping[str, Any]:
            name = self._prefix + prefix
            page: Mapping[str, Any] = client.list_objects_v2(
                Bucket=self._bucket, Prefix=name, **token
            )
            if "IsTruncated" not in page:
                raise NotS3  # it would read as an empty listing
            return page

        return self._call(f"{self.url}/{prefix}: list", act)

    def _next(
        self, prefix: str, page: Mapping[str, Any], token: Mapping[str, str]
    ) -> Mapping[str, str]:
        """Where the next page begins. Half a listing would read as absence, hence an error where it does not go on."""
        following = page.get("NextContinuationToken")
        if not following or following == token.get("ContinuationToken"):
            raise StoreError(f"{self.url}/{prefix}: list: the service does not end its listing")
        return {"ContinuationToken": following}

    def _stored(self, item: Mapping[str, Any]) -> Stored:
        return Stored(item["Key"].removeprefix(self._prefix), item["Size"])

    def _put(self, key: str, opened: Opened, size: int) -> Put:
        name, what = self._name(key), f"{self.url}/{key}: put"
        if size > LARGEST_PUT:
            raise StoreRefused(f"{what}: {size} bytes are more than one put takes (5 GiB)")
        within_s = CALL_S + size / LEAST_BYTES_S

        def act(client: Client, _: Deadline) -> Put:
            is_conditional, condition = self._kept.conditional, self._kept.condition
            with opened() as body:
                answer = client.put_object(
                    Bucket=self._bucket, Key=name, **body.arguments, **condition
                )
                body.confirm(answer)
                return Put.CREATED if is_conditional else body.acknowledged(answer)

        try:
            return self._call(what, act, within_s)
        except _NoCondition:
            return self._without_condition(what, act, within_s)
        except _Exists as exists:
            return Put.REPEATED if exists.is_repeated else Put.EXISTS

    def _without_condition(self, what: str, act: Act[Put], within_s: float) -> Put:
        """For services that answer 501 to the condition: kept for this process once it worked."""
        self._kept.conditional = False
        try:
            return self._call(what, act, within_s)
        except StoreError:
            self._kept.conditional = True
            raise

    def _name(self, key: str) -> str:
        """The whole name in the bucket; raises StoreRefused."""
        if (why := key_error(key)) is not None:
            raise StoreRefused(f"{self.url}: {why}")
        if len((self._prefix + key).encode()) > LONGEST_KEY:
            raise StoreRefused(f'{self.url}: "{key[:200]}": with the prefix above 1024 bytes')
        return self._prefix + key

    def _call(self, what: str, act: Act[T], within_s: float = CALL_S) -> T:
        """One call with all its tries, inside one deadline. Raises StoreError."""
        deadline, tries, is_open = Deadline(self._patience.clock, within_s), 0, False
        while True:
            tries += 1
            try:
                return bounded(lambda: act(self._kept.client(), deadline), deadline)
            except Overrun:
                raise StoreError(f"{what}: no answer within {deadline.within_s:.3g} s") from None
            except TROUBLES as error:
                trouble = trouble_of(error, self._clock())
            if trouble.is_of_key:
                self._kept.drop()
            pause = pause_s(trouble, tries, deadline.left_s, self._patience.dice())
            if pause is None:
                raise _failed(what, trouble, tries, is_open)
            is_open = is_open or trouble.is_open
            self._patience.sleep(pause)


class _Exists(StoreError):
    """The condition did not hold; `is_repeated`: perhaps by an earlier try of the same call."""

    is_repeated = False


class _NoCondition(StoreError):
    """The service knows no conditions."""


_KINDS: Mapping[Way, type[StoreError]] = {
    Way.REFUSED: StoreRefused,
    Way.ABSENT: NotThere,
    Way.EXISTS: _Exists,
    Way.NO_CONDITION: _NoCondition,
}


def _failed(what: str, trouble: Trouble, tries: int, is_open: bool) -> StoreError:
    tried = f" ({tries} tries)" if tries > 1 else ""
    error = _KINDS.get(trouble.way, StoreError)(f"{what}: {trouble.text}{tried}")
    if isinstance(error, _Exists):
        error.is_repeated = is_open
    return error
