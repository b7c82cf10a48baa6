"""From the moment at which a metadata service announces a stop to the hook's marker on the disk."""

import random
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

from fakes.aws import FakeImds
from fakes.azure import FakeAzureMetadata
from fakes.gcp import FakeGcpMetadata
from hook_world import Guest
from spoteval.machine.metadata import Metadata
from spoteval.notice import aws, azure, gcp
from spoteval.notice.contract import Notice, NoticeSource
from spoteval.notice.paced import Paced
from spoteval_agents.shutdown_hook.agent import NOTICE_EVERY_S
from spoteval_agents.shutdown_hook.watch import Polled

COUNT, AT_ONCE, LIMIT_S = 100, 10, 30.0
Face = Callable[[str, Guest], NoticeSource]


def _aws(url: str, guest: Guest) -> NoticeSource:
    return Paced(aws.AwsNotice(Metadata(url), guest.clock), aws.EVERY_S)


FACES: dict[str, tuple[Callable[[], Any], Face]] = {
    "aws": (FakeImds, _aws),
    "gcp": (FakeGcpMetadata, lambda url, _: Paced(gcp.GcpNotice(Metadata(url)), gcp.AGAIN_S)),
    "azure": (
        FakeAzureMetadata,
        lambda url, _: Paced(azure.AzureNotice(Metadata(url)), azure.EVERY_S),
    ),
}


def markers(count: int = COUNT) -> dict[str, Any]:
    """p50 and p99 by cloud. The instants lie anywhere between two questions, by a seed."""
    return {name: _measured(name, count) for name in FACES}


def _measured(name: str, count: int) -> dict[str, float]:
    draw = random.Random(name)
    delays = [draw.uniform(0.5, 3.0) for _ in range(count)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        took = sorted(pool.map(lambda delay_s: _once(name, delay_s), delays))
    p99_s = took[min(len(took) - 1, round(0.99 * len(took)) - 1)]
    return {"count": count, "p50_s": round(statistics.median(took), 3), "p99_s": round(p99_s, 3)}


def _once(name: str, delay_s: float) -> float:
    make, face = FACES[name]
    service = make()
    with tempfile.TemporaryDirectory(prefix="spoteval-bench-") as scratch, service.listening():
        guest = Guest(Path(scratch))
        polled = Polled[Notice | None]("notices", face(service.url, guest).read, NOTICE_EVERY_S)
        polled.start()
        ends = threading.Event()
        hook = threading.Thread(target=_hook, args=(guest, polled, ends), daemon=True)
        hook.start()
        time.sleep(delay_s)
        service.announce(guest.clock().wall + timedelta(seconds=120))
        began_s = time.monotonic()
        while not list(guest.run.interruptions.glob("*/opened.json")):
            if time.monotonic() - began_s > LIMIT_S:
                raise TimeoutError(name)
            time.sleep(0.005)
        took_s = time.monotonic() - began_s
        ends.set()
        hook.join()
        return took_s


def _hook(guest: Guest, polled: Polled[Notice | None], ends: threading.Event) -> None:
    """As the agent's main thread does: look, decide, act, wait for a quarter of a second."""
    hook = guest.hook()
    while not ends.wait(NOTICE_EVERY_S):
        guest.notice = polled.value
        guest.cycle(hook)
