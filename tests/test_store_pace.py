"""store.pace: a limit in bytes a second, over all connections, with a clock that only waiting moves."""

from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fault_proxy import proxy_to
from follower_bucket import Bucket as Bucketed
from follower_bucket import bucket_guest
from follower_world import Guest
from s3_server import Service
from spoteval.config.guest import read_guest
from spoteval.config.shared import ConfigError
from spoteval.control import requests
from spoteval.control.requests import FINAL
from spoteval.store.deadline import Deadline, Overrun
from spoteval.store.pace import Bucket, Pace, take
from spoteval_agents.publication_follower.cycle import cycle
from spoteval_agents.publication_follower.job import World


@dataclass
class Slept:
    """A clock that only sleeping moves."""

    now_s: float = 50.0
    slept_s: float = 0.0
    _lock: Lock = field(default_factory=Lock)

    def clock(self) -> float:
        """Now."""
        return self.now_s

    def sleep(self, seconds: float) -> None:
        """Time passes."""
        with self._lock:
            self.now_s += seconds
            self.slept_s += seconds


@given(
    asked=st.lists(st.tuples(st.integers(1, 5000), st.floats(0, 3)), max_size=40),
    rate=st.integers(100, 10_000),
    burst=st.integers(1, 5000),
)
def test_no_more_goes_than_the_rate_gives(
    asked: list[tuple[int, float]], rate: int, burst: int
) -> None:
    """At the moment at which a piece goes: all that went before it, and the burst, are paid for; none waits longer."""
    bucket, now_s, gone = Bucket(float(burst), 0.0), 0.0, 0
    for size, after_s in asked:
        now_s += after_s
        bucket, wait_s = take(bucket, size, float(rate), float(burst), now_s)
        gone += size
        assert gone <= burst + rate * (now_s + wait_s) + 1e-3
        assert wait_s <= gone / rate + 1e-6


@pytest.mark.parametrize(("size", "wait_s"), [(999, 0.0), (1000, 0.0), (1001, 0.01)])
def test_the_burst_goes_at_once(size: int, wait_s: float) -> None:
    """At it and below it nobody waits, one byte more waits for that byte."""
    assert take(Bucket(1000.0, 0.0), size, 100.0, 1000.0, 0.0)[1] == pytest.approx(wait_s)


def test_threads_share_one_limit() -> None:
    """Eight of them get together what one would."""
    slept = Slept()
    pace = Pace(80_000, slept.clock, slept.sleep)
    waits: list[float] = []

    def send() -> None:
        deadline = Deadline(slept.clock, 1e9)
        for _ in range(10):
            before = deadline.within_s
            pace.wait(10_000, deadline)
            waits.append(deadline.within_s - before)

    threads = [Thread(target=send) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(waits) == 80
    # The clock stands still for a thread that does not wait itself: what counts is what each was told to wait.
    assert max(waits) <= 80 * 10_000 / 80_000
    assert slept.slept_s >= (80 * 10_000 - pace.piece_bytes) / 80_000


def test_who_waits_for_his_turn_hears_that_it_is_over() -> None:
    """A final pass is asked for: within a quarter of a second the call ends."""
    slept, over = Slept(), [False]
    pace = Pace(64_000, slept.clock, slept.sleep)

    def ring(seconds: float) -> None:
        slept.sleep(seconds)
        over[0] = True

    pace.sleep = ring
    with pytest.raises(Overrun):
        pace.wait(640_000, Deadline(slept.clock, 1.0, lambda: over[0]))
    assert slept.slept_s == 0.25


def paced(guest: Guest, pace: Pace) -> World:
    """The guest's world with a limit."""
    world = guest.world
    return World(
        world.config, world.store, world.session, world.clock, world.adapter, world.read_part,
        pace=pace,
    )  # fmt: skip


@pytest.mark.runs("a service on loopback and a proxy before it")
def test_a_regular_pass_keeps_the_limit_and_a_final_one_has_the_whole_link(
    tmp_path: Path, moto_service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Body and heads of all lanes count; the call is given the time that it waits."""
    with proxy_to(moto_service.endpoint) as proxy:
        _limited(bucket_guest(tmp_path, moto_service, proxy, monkeypatch))


def _limited(bucket: Bucketed) -> None:
    guest, slept = bucket.guest, Slept()
    pace = Pace(64_000, slept.clock, slept.sleep)
    size = 300_000
    for name in ("1", "2", "3"):
        guest.finish(name, {"big": name.encode() * size})
    guest.later()
    cycle(paced(guest, pace), guest.memory)
    assert slept.slept_s >= (3 * size - pace.piece_bytes) / 64_000
    assert len(bucket.stored("episodes/3/")) == 3
    before = slept.slept_s
    guest.finish("4", {"big": b"4" * size})
    requests.ask(guest.disk, FINAL, "shutdown-hook", 30.0, guest.clock())
    cycle(paced(guest, pace), guest.memory)
    assert len(bucket.stored("episodes/4/")) == 3
    assert slept.slept_s == before


def test_slow_links_get_smaller_puts(tmp_path: Path) -> None:
    """What would take longer than half a minute goes in parts, of 8 MiB at least."""
    guest = Guest(tmp_path)
    assert guest.world.parts_above_bytes == 64_000_000
    assert paced(guest, Pace(1_000_000)).parts_above_bytes == 30_000_000
    assert paced(guest, Pace(64_000)).parts_above_bytes == 8 << 20
    assert paced(guest, Pace(10**9)).parts_above_bytes == 64_000_000


@pytest.mark.parametrize(("limit", "refused"), [("0", False), ("64kB/s", False), ("63kB/s", True)])
def test_a_limit_that_no_part_could_keep_is_refused(
    tmp_path: Path, limit: str, refused: bool
) -> None:
    """In one line, with what is allowed."""
    guest = Guest(tmp_path)
    path = guest.config.path
    path.write_text(f'{path.read_text()}bandwidth_limit = "{limit}"\n')
    if refused:
        with pytest.raises(ConfigError, match=r'bandwidth_limit: "63000B/s" is too low \("64kB/s"'):
            read_guest(path)
    else:
        assert read_guest(path).bandwidth_limit_bytes_s in (0, 64_000)
