"""How fast bytes may go: a bucket of tokens that all connections of a store draw from."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

from spoteval.clock import monotonic_s
from spoteval.store.deadline import Deadline, Overrun

_LEAST_PIECE, _MOST_PIECE = 1 << 12, 1 << 18
_LOOK_S = 0.25


@dataclass(frozen=True, slots=True)
class Bucket:
    """So many bytes are free at this moment; negative while those that were let through are not paid for."""

    free_bytes: float
    at_s: float


def take(
    bucket: Bucket, size: int, rate_bytes_s: float, burst_bytes: float, now_s: float
) -> tuple[Bucket, float]:
    """Let `size` bytes through: the bucket then, and how many seconds to wait before they go.

    Up to any moment no more than `burst_bytes` and what the rate gives have gone (a token bucket).
    """
    since_s = max(0.0, now_s - bucket.at_s)
    free = min(burst_bytes, bucket.free_bytes + since_s * rate_bytes_s) - size
    return Bucket(free, now_s), max(0.0, -free / rate_bytes_s)


@dataclass(slots=True)
class Pace:
    """A limit in bytes a second. Threads share it; each waits its turn."""

    rate_bytes_s: int
    clock: Callable[[], float] = monotonic_s
    sleep: Callable[[float], None] = time.sleep
    _bucket: Bucket = field(init=False)
    _lock: Lock = field(default_factory=Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        self._bucket = Bucket(float(self.piece_bytes), self.clock())

    @property
    def piece_bytes(self) -> int:
        """How much goes at a time: an eighth of a second's worth, so that nobody waits long for a turn."""
        return min(_MOST_PIECE, max(_LEAST_PIECE, self.rate_bytes_s // 8))

    def wait(self, size: int, deadline: Deadline) -> None:
        """Return when `size` bytes may go. The deadline is put off by as much; raises Overrun where it is over."""
        with self._lock:
            rate, burst = float(self.rate_bytes_s), float(self.piece_bytes)
            self._bucket, left_s = take(self._bucket, size, rate, burst, self.clock())
        deadline.put_off(left_s)
        while left_s > 0:
            if deadline.left_s <= 0:
                raise Overrun
            self.sleep(min(_LOOK_S, left_s))
            left_s -= _LOOK_S
