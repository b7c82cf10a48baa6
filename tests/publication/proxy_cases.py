"""Every fault of a proxy at every request of a pass: a real service with users behind it, a key that may only put."""

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from email.utils import format_datetime
from itertools import count
from pathlib import Path

from fault_proxy import LOST_ANSWER, RESET, SLOW_DOWN, Fault, Proxy, proxy_to
from follower_world import RUN
from publication.judge import Case, fresh, judged, one_pass, template
from s3_server import Service, moto
from spoteval.clock import read_now
from spoteval.store import http_wire
from spoteval.store.s3 import S3Store
from spoteval.store.s3_patience import Patience

SILENCE_S = 2.0
"""Of a socket, here: a stall lasts longer, and no case takes long for it."""


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
        "stalled": Fault(stall_s=1.5 * SILENCE_S),
        "slow": Fault(stall_s=SILENCE_S / 4),
        "skewed": Fault(403, "RequestTimeTooSkewed", {"Date": skewed}),
        "refused": Fault(403, "AccessDenied"),
    }


def spoiled(folder: Path, every: int) -> Iterator[Case]:
    """The fault at request n, for every n that a clean pass has; the requests of all passes are PUT alone."""
    source = template(folder / "template")
    http_wire.READ_S = SILENCE_S
    (folder / "moto").mkdir()
    with moto(folder / "moto") as service, proxy_to(service.endpoint) as proxy:
        for turn, (kind, fault) in enumerate(faults().items()):
            for number in count(1 + turn % every, every):
                case = _case(folder, source, service, proxy, (kind, fault), number)
                if case is None:
                    break
                yield case


def _case(
    folder: Path,
    source: Path,
    service: Service,
    proxy: Proxy,
    named: tuple[str, Fault],
    number: int,
) -> Case | None:
    kind, fault = named
    below = service.fresh("runs")
    with fresh(source, folder / f"{kind}-{number}") as guest:
        place = service.place("publisher", proxy.endpoint)
        patience = Patience(sleep=lambda pause_s: time.sleep(min(pause_s, 0.05)))
        guest.store = S3Store(service.url(below), place, patience)  # type: ignore[assignment]
        proxy.seen.clear()
        proxy.faults[:] = [*[Fault()] * (number - 1), fault]
        one_pass(guest)
        if proxy.faults:
            proxy.faults.clear()
            return None
        truth = service.store("reader", below)

        def clean() -> None:
            guest.restart()
            one_pass(guest)

        case = judged(kind, number, guest, truth, clean)
        others = {method for method in proxy.methods if method != "PUT"}
        return replace(case, torn=(*case.torn, *(f"asked {RUN} by {name}" for name in others)))
