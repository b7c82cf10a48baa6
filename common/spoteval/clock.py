"""Time as a value: read once a cycle, stored as a mark, subtracted in one place."""

import ctypes
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_TIME_ERROR = 5  # adjtimex(2): state TIME_ERROR means that the clock is not synchronised


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment as it is stored: wall clock (UTC), CLOCK_BOOTTIME seconds, and the boot they belong to."""

    wall: datetime
    mono_s: float
    boot: str

    def record(self) -> dict[str, object]:
        """The mark as a JSON object."""
        return {"wall": stamp(self.wall), "mono_s": round(self.mono_s, 3), "boot": self.boot}


@dataclass(frozen=True, slots=True)
class Now(Mark):
    """The present moment, read once a cycle; `synced` says whether the wall clock may be believed."""

    synced: bool = True

    @property
    def mark(self) -> Mark:
        """This moment in the form that is stored."""
        return Mark(self.wall, self.mono_s, self.boot)


def elapsed_s(mark: Mark, now: Now) -> float | None:
    """Seconds from `mark` to `now`; None where nobody can know.

    Same boot: the monotonic difference. Another boot: the wall difference, never negative,
    and None while the clock is not synchronised.
    """
    if mark.boot == now.boot:
        return max(0.0, now.mono_s - mark.mono_s)
    if not now.synced:
        return None
    return max(0.0, (now.wall - mark.wall).total_seconds())


def carried(mark: Mark, saved: Now, now: Now) -> Mark:
    """`mark`, of the boot in which it was `saved`, as a mark of the boot that is going on.

    How old it was when it was saved is a monotonic difference; only from there on the wall clock counts, and only
    where it was synchronised both times. Where nobody can know, it becomes the present moment: a wait begins anew.
    """
    if mark.boot == now.boot:
        return mark
    passed_s = elapsed_s(saved, now) if saved.synced else None
    if passed_s is None or mark.boot != saved.boot:
        return now.mark
    return Mark(mark.wall, now.mono_s - passed_s - (saved.mono_s - mark.mono_s), now.boot)


def left_s(deadline: datetime, now: Now) -> float | None:
    """Seconds until a wall-clock deadline (negative when past); None while the clock is not synchronised."""
    return (deadline - now.wall).total_seconds() if now.synced else None


def ahead_s(theirs: datetime, now: Now) -> float:
    """How far another host's wall clock is ahead of this one's (negative: behind)."""
    return (theirs - now.wall).total_seconds()


def booted_at(now: Now) -> datetime:
    """When this boot began, by the wall clock of now."""
    return now.wall - timedelta(seconds=now.mono_s)


def stamp(moment: datetime) -> str:
    """RFC 3339 in UTC with milliseconds, such as 2026-12-01T02:58:11.004Z."""
    text = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def parse_stamp(text: str) -> datetime:
    """The moment that `stamp` wrote.

    Raises ValueError for text that is no RFC 3339 time, or that names no zone.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} names no time zone")
    return moment.astimezone(UTC)


def mark_from(record: Mapping[str, object]) -> Mark:
    """The mark in a JSON object that `Mark.record` made; raises ValueError, KeyError or TypeError if it is none."""
    wall, mono_s, boot = record["wall"], record["mono_s"], record["boot"]
    if not (isinstance(wall, str) and isinstance(boot, str) and isinstance(mono_s, int | float)):
        raise TypeError("a mark is {wall, mono_s, boot}")
    return Mark(parse_stamp(wall), float(mono_s), boot)


def read_now() -> Now:
    """The only reading of the clocks. CLOCK_BOOTTIME goes on through suspend, unlike CLOCK_MONOTONIC."""
    return Now(
        wall=datetime.now(UTC),
        mono_s=time.clock_gettime(time.CLOCK_BOOTTIME),
        boot=_boot(),
        synced=_synchronised(),
    )


@cache
def _boot() -> str:
    """The boot of this process: it sees no other."""
    return _BOOT_ID.read_text().strip()


def _synchronised() -> bool:
    """Ask the kernel: timesyncd's stamp file is absent under chrony, and adjtimex answers for both."""
    buffer = ctypes.create_string_buffer(256)  # struct timex, modes = 0: a question
    state = _libc().adjtimex(buffer)
    return bool(0 <= state < _TIME_ERROR)


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def monotonic_s() -> float:
    """Seconds on the clock that `Mark.mono_s` uses, for deadlines inside one wait."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
