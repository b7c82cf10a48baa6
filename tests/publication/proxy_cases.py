"""Every fault of a proxy at every request of a pass: a real service with users behind it, a key that may only put."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from email.utils import format_datetime
from pathlib import Path
from threading import Event
from typing import Any

from fault_proxy import LOST_ANSWER, RESET, SLOW_DOWN, Fault, Proxy, proxy_to
from follower_bucket import Bucket
from follower_world import Guest
from publication.disk_cases import is_killed
from publication.judge import Case, fresh, judged, one_pass, template
from s3_server import Service, moto
from spoteval.clock import read_now
from spoteval.store import http_exchange
from spoteval.store.contract import Store
from spoteval.store.s3 import S3Store
from spoteval.store.s3_patience import Patience
from spoteval_agents.publication_follower import uploading
from spoteval_agents.publication_follower.memory import Memory

READ_S, SILENCE_S = http_exchange.READ_S, 0.8
"""Of a socket, here: a stall lasts longer, and no case takes long for it."""
PARTS_ABOVE, PART, LARGE = 20_000, 16_384, 40_000
"""Bytes: what goes in parts here, a part, and a file of three of them."""
MOST = 1000


@dataclass
class Remembered:
    """A store that is asked for each object once: what is judged changes no more."""

    inner: Store
    known: dict[str, bytes] = field(default_factory=dict)

    def get(self, key: str) -> bytes:
        """As it came first."""
        if key not in self.known:
            self.known[key] = self.inner.get(key)
        return self.known[key]

    def __getattr__(self, name: str) -> Any:
        """All else."""
        return getattr(self.inner, name)


@dataclass
class Killer:
    """kill -9 of the process that makes the pass, once it is known who that is."""

    child: int = 0
    is_born: Event = field(default_factory=Event)

    def told(self, child: int) -> None:
        """This one."""
        self.child = child
        self.is_born.set()

    def strike(self) -> None:
        """Now."""
        self.is_born.wait()
        os.kill(self.child, signal.SIGKILL)


def faults() -> dict[str, Fault]:
    """By name. Each happens to one request; the tries after it meet none."""
    skewed = format_datetime(read_now().wall + timedelta(hours=2))
    return {
        "503": SLOW_DOWN,
        "429": Fault(429, "TooManyRequests", {"Retry-After": "1"}),
        "409": Fault(409, "ConditionalRequestConflict"),
        "reset": RESET,
        "lost": LOST_ANSWER,
        "truncated": Fault(200, "x", {"ETag": "e"}, body="<a>half of it</a>", cut=3),
        "half": Fault(half=True),
        "stalled": Fault(stall_s=1.5 * SILENCE_S),
        "slow": Fault(slow_s=SILENCE_S / 4),
        "skewed": Fault(403, "RequestTimeTooSkewed", {"Date": skewed}),
        "refused": Fault(403, "AccessDenied"),
    }


KILLS = {"killed-before": RESET, "killed-after": LOST_ANSWER}
"""The process dies when the service has the request not yet, or has answered it."""


@dataclass
class Scene:
    """Where the cases of one fault are played."""

    folder: Path
    source: Path
    service: Service
    proxy: Proxy
    kind: str

    def case(self, number: int) -> Case | None:
        """The fault at that request; None where a pass has fewer."""
        below = f"runs/{self.kind}-{number}"
        with fresh(self.source, self.folder / f"{self.kind}-{number}") as guest:
            self.dress(guest, below)
            self.proxy.seen.clear()
            met = (
                self._killed(guest, number) if self.kind in KILLS else self._spoiled(guest, number)
            )
            self.proxy.faults.clear()
            if not met:
                return None
            truth = Remembered(self.service.store("reader", below))
            case = judged(self.kind, number, guest, truth, lambda: self._clean(guest))
            return replace(case, torn=(*case.torn, *self._others()))

    def dress(self, guest: Guest, below: str) -> None:
        """Its store is the bucket, behind the proxy; what is large here needs no minutes."""
        place = self.service.place("publisher", self.proxy.endpoint)
        patience = Patience(sleep=lambda pause_s: time.sleep(min(pause_s, 0.05)))
        guest.store = S3Store(self.service.url(below), place, patience)  # type: ignore[assignment]
        guest.config = replace(guest.config, multipart_above_bytes=PARTS_ABOVE)

    def _spoiled(self, guest: Guest, number: int) -> bool:
        self.proxy.faults[:] = [*[Fault()] * (number - 1), faults()[self.kind]]
        one_pass(guest)
        return not self.proxy.faults

    def _killed(self, guest: Guest, number: int) -> bool:
        killer = Killer()
        fault = replace(KILLS[self.kind], strike=killer.strike)
        self.proxy.faults[:] = [*[Fault()] * (number - 1), fault]
        return is_killed(lambda: one_pass(guest), killer.told)

    def _clean(self, guest: Guest) -> None:
        """With all the patience of the product: on a busy machine the service is no faster."""
        http_exchange.READ_S, guest.memory = READ_S, Memory()
        one_pass(guest)
        http_exchange.READ_S = SILENCE_S

    def _others(self) -> Iterator[str]:
        asked = {(method, path) for method, path, _ in self.proxy.seen}
        strange = {method for method, path in asked if not Bucket.is_allowed(method, path)}
        return (f"asked by {method}" for method in sorted(strange))


@contextmanager
def served(folder: Path) -> Iterator[Service]:
    """A service with users that takes small parts too."""
    os.environ["S3_UPLOAD_PART_MIN_SIZE"] = "1"  # of moto
    with moto(folder) as service:
        yield service


def spoiled(folder: Path, kind: str, service: Service, numbers: range) -> Iterator[Case]:
    """The fault at these requests, as far as a clean pass has them."""
    http_exchange.READ_S = SILENCE_S
    vars(uploading)["part_bytes"] = lambda size: PART
    source = template(folder / "template", LARGE)
    with proxy_to(service.endpoint) as proxy:
        scene = Scene(folder, source, service, proxy, kind)
        for number in numbers:
            case = scene.case(number)
            if case is None:
                return
            yield case
    raise RuntimeError(f"a pass has more than {MOST} requests")
