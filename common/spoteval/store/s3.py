"""The store in a bucket: `s3://bucket/prefix`. Create-only by If-None-Match; no HEAD, and no delete of an object.

Puts and gets are signed by botocore's signer and sent over kept-alive connections of our own, a quarter of what they
cost through its client, which is left what is rare.
"""

import copy
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, TypeVar

from spoteval.clock import Now, read_now
from spoteval.store.contract import (
    Exists,
    Later,
    Put,
    Stored,
    StoreError,
    StoreRefused,
    key_error,
)
from spoteval.store.deadline import LOOK_S, Deadline, Overrun, bounded
from spoteval.store.http_exchange import Answer
from spoteval.store.http_many import Call
from spoteval.store.pace import Pace
from spoteval.store.place import S3Place
from spoteval.store.s3_answer import error_of
from spoteval.store.s3_body import Body, body_of, body_of_file, damaged_body, refuse_damaged
from spoteval.store.s3_client import Client, Kept
from spoteval.store.s3_errors import (
    TROUBLES,
    NotS3,
    Way,
    clock_text,
    is_refusal_of_digests,
    trouble_of,
)
from spoteval.store.s3_failed import NoCondition, after, failed_call
from spoteval.store.s3_large import S3Large
from spoteval.store.s3_many import S3Many, Wanted
from spoteval.store.s3_patience import Patience, pause_s
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
LANES = 8
"""Puts that go on at the same time, where there are many."""
_NOTHING = hashlib.sha256().hexdigest()
_DICE = Patience()


def _never() -> bool:
    return False


def _condition(is_known: bool) -> Mapping[str, str]:
    """What makes a put create-only, unless the service has shown that it does not know it."""
    return {"If-None-Match": "*"} if is_known else {}


class S3Store:
    """A store below a prefix of a bucket. Keys that may only put are enough for `put`, `put_file` and large files.

    Threads may share it.
    """

    lanes = LANES

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
        self._by_s: float | None = None
        self._is_over: Callable[[], bool] = _never
        self._pace: Pace | None = None

    def until(
        self, by_s: float, is_over: Callable[[], bool] = _never, pace: Pace | None = None
    ) -> "S3Store":
        """The same store, of which no call takes longer than to this moment of the clock of `Mark.mono_s`.

        Calls under way also end, within a second, once `is_over` says so; it is asked often, by any thread. With a
        `pace`, bytes go no faster, and what they wait for it is added to the time of their call.
        """
        hasty = copy.copy(self)
        hasty._by_s, hasty._is_over, hasty._pace = by_s, is_over, pace
        return hasty

    @property
    def complaint(self) -> str | None:
        """What a person should know of, though all works: a clock that is off, and is corrected in signatures."""
        off_s = self._kept.ahead_s
        return f"{clock_text(off_s)}; signatures have the store's time" if off_s else None

    def put(self, key: str, data: bytes) -> Put:
        """Create `key` with `data`."""
        body = nullcontext(body_of(data))
        return self._put(key, lambda: body, len(data))

    def put_file(self, key: str, path: Path) -> Put:
        """Create `key` with the bytes of a file."""
        try:
            size = path.stat().st_size
        except OSError as error:
            raise StoreError(f"{path}: {error.strerror}") from error
        return self._put(key, lambda: body_of_file(path), size)

    def put_each(
        self, wanted: Iterable[tuple[str, bytes] | None], most: int = LANES
    ) -> Iterator[tuple[str, Put | Later]]:
        """Try to create each key in this thread. One alone is not tried, nor any at a pace: it is kept by waiting."""
        if self._pace is None and most > 1:
            many = S3Many(self._kept.pool, self._call_of, self._gone_on)
            yield from many.each(wanted, min(most, LANES), self._deadline())

    def get(self, key: str) -> bytes:
        """The bytes of `key`."""
        name = self._name(key)

        def attempt(deadline: Deadline) -> bytes:
            answer = self._asked(deadline, "GET", name)
            refuse_damaged(answer.headers, answer.body)
            return answer.body

        return self._tried(f"{self.url}/{key}: get", attempt, self._deadline())

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

    def refuses_damaged(self, key: str) -> bool:
        """Whether the service holds a put to its digests: one try with bytes that are not theirs. Raises StoreError.

        What takes them has an object under `key` from then on, which also answers whoever asks again.
        """
        name, what = self._name(key), f"{self.url}/{key}: put with wrong digests"
        body, deadline = damaged_body(), self._deadline()
        headers = {**body.headers, **_condition(self._kept.conditional)}
        try:
            self._asked(deadline, "PUT", name, headers, body.sha256.hex(), body.pieces())
        except Overrun:
            raise StoreError(f"{what}: no answer within {deadline.within_s:.3g} s") from None
        except TROUBLES as error:
            if is_refusal_of_digests(error):
                return True
            trouble = trouble_of(error, self._clock())
            if trouble.way is Way.EXISTS:
                return False
            raise failed_call(what, trouble, 1, is_open=False) from None
        return False

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

    def _put(
        self,
        key: str,
        opened: Opened,
        size: int,
        deadline: Deadline | None = None,
        failed: Exception | None = None,
    ) -> Put:
        """With all tries, the first of which may have `failed` already, by the `deadline` that it had."""
        name, what = self._name(key), f"{self.url}/{key}: put"
        if size > LARGEST_PUT:
            raise StoreRefused(f"{what}: {size} bytes are more than one put takes (5 GiB)")

        def attempt(deadline: Deadline) -> Put:
            with opened() as body:
                wanted = Wanted(key, body, self._kept.conditional, deadline)
                headers = self._headers(wanted)
                digest = body.sha256.hex()
                answer = self._asked(deadline, "PUT", name, headers, digest, body.pieces())
                return wanted.taken(answer)

        first = attempt if failed is None else after(failed, attempt)
        try:
            return self._tried(what, first, deadline or self._deadline(size))
        except NoCondition:
            return self._without_condition(what, attempt, self._deadline(size))
        except Exists as exists:
            return Put.REPEATED if exists.is_repeated else Put.EXISTS

    def _gone_on(self, wanted: Wanted, error: Exception) -> Put:
        """With a deadline of its own, unless that of the first try is what failed: others may have taken it up."""
        body = nullcontext(wanted.body)
        deadline = wanted.deadline if isinstance(error, Overrun) else None
        return self._put(wanted.key, lambda: body, wanted.body.size, deadline, error)

    def _call_of(self, key: str, data: bytes) -> Call[Wanted]:
        """A put as it goes beside others."""
        name, body = self._name(key), body_of(data)
        deadline = self._deadline(len(data))
        wanted = Wanted(key, body, self._kept.conditional, deadline)
        head = self._head("PUT", name, self._headers(wanted), body.sha256.hex())
        return Call(wanted, head, data, deadline)

    def _headers(self, wanted: Wanted) -> Mapping[str, str]:
        return {**wanted.body.headers, **_condition(wanted.is_conditional)}

    def _without_condition(
        self, what: str, attempt: Callable[[Deadline], Put], deadline: Deadline
    ) -> Put:
        """For services that answer 501 to the condition: kept for this process once it worked."""
        self._kept.conditional = False
        try:
            return self._tried(what, attempt, deadline)
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

    def _asked(
        self,
        deadline: Deadline,
        method: str,
        name: str,
        headers: Mapping[str, str] = {},
        sha256: str = _NOTHING,
        body: Iterable[bytes] = (),
        query: str = "",
    ) -> Answer:
        """One signed request and its answer; raises ClientError for a refusal, and what the connection raises."""
        head = self._head(method, name, headers, sha256, query)
        answer = self._kept.pool.ask(head, body, deadline, bare=False, pace=self._pace)
        if answer.status >= 300:
            raise error_of(answer, method)
        return answer

    def _head(
        self, method: str, name: str, headers: Mapping[str, str], sha256: str, query: str = ""
    ) -> bytes:
        at = self._kept.moment(self._clock)
        return self._kept.signer().head(method, name, query, headers, sha256, at)

    @property
    def large(self) -> S3Large:
        """Large files in parts."""
        return S3Large(self._part_of, lambda: self._kept.conditional)

    def _part_of(
        self,
        what: str,
        method: str,
        key: str,
        query: str,
        headers: Mapping[str, str],
        data: bytes,
        check: Callable[[Answer], None],
    ) -> Answer:
        """One call of a file in parts. Where the service knows no condition it is asked without."""
        name, sha256 = self._name(key), hashlib.sha256(data).hexdigest()

        def attempt(deadline: Deadline) -> Answer:
            sent = {**headers, "Content-Length": str(len(data))}
            if not self._kept.conditional:
                sent.pop("If-None-Match", None)
            answer = self._asked(deadline, method, name, sent, sha256, (data,), query)
            check(answer)
            return answer

        try:
            return self._tried(f"{self.url}/{key}: {what}", attempt, self._deadline(len(data)))
        except NoCondition:
            self._kept.conditional = False
            return self._tried(f"{self.url}/{key}: {what}", attempt, self._deadline(len(data)))

    def _deadline(self, size: int = 0, within_s: float = CALL_S) -> Deadline:
        clock = self._patience.clock
        within_s += size / LEAST_BYTES_S
        if self._by_s is not None:
            within_s = min(within_s, self._by_s - clock())
        return Deadline(clock, within_s, self._is_over)

    def _rest(self, pause_s: float, deadline: Deadline) -> None:
        """A pause, in which is heard that something more urgent waits."""
        while pause_s > 0 and deadline.left_s > 0:
            piece_s = min(LOOK_S, pause_s) if self._is_over is not _never else pause_s
            self._patience.sleep(piece_s)
            pause_s -= piece_s

    def _over(self, deadline: Deadline) -> str:
        if self._is_over():
            return "given up, since something more urgent waits"
        return f"no answer within {deadline.within_s:.3g} s"

    def _call(self, what: str, act: Act[T], within_s: float = CALL_S) -> T:
        """One call of the client, for what is rare, with all its tries. Raises StoreError."""

        def attempt(deadline: Deadline) -> T:
            return bounded(lambda: act(self._kept.client(), deadline), deadline)

        return self._tried(what, attempt, self._deadline(within_s=within_s))

    def _tried(self, what: str, attempt: Callable[[Deadline], T], deadline: Deadline) -> T:
        """One call with all its tries, inside one deadline. Raises StoreError."""
        tries, is_open, is_corrected = 0, False, False
        while True:
            tries += 1
            try:
                return attempt(deadline)
            except Overrun:
                raise StoreError(f"{what}: {self._over(deadline)}") from None
            except TROUBLES as error:
                trouble = trouble_of(error, self._clock())
            if trouble.is_of_key:
                self._kept.drop()
            if trouble.ahead_s is not None and not is_corrected:
                # Signed anew with the service's own time: a node that was stopped may wake up hours late.
                self._kept.ahead_s, is_corrected = trouble.ahead_s, True
                continue
            pause = pause_s(trouble, tries, deadline.left_s, self._patience.dice())
            if pause is None:
                raise failed_call(what, trouble, tries - is_corrected, is_open)
            is_open = is_open or trouble.is_open
            self._rest(pause, deadline)
