"""The guest of tests/follower_world.py with a bucket for its store, behind a proxy, under the guest's own key."""

from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

import follower_world
from fault_proxy import Proxy
from follower_world import Guest
from s3_server import Service
from spoteval.store.s3 import S3Store
from spoteval_agents.publication_follower.cycle import cycle

_RUNS = count()
ALLOWED = ("PUT",)
PARTS = ("uploads", "uploadId=", "partNumber=")


@dataclass(frozen=True)
class Bucket:
    """A guest, what came through the proxy, and a key that reads."""

    guest: Guest
    proxy: Proxy
    service: Service
    run: str

    def passes(self, times: int = 1, each_s: float = 61.0) -> None:
        """Time passes, then a pass; so many times."""
        for _ in range(times):
            self.guest.later(each_s)
            cycle(self.guest.world, self.guest.memory)

    def stored(self, below: str = "") -> list[str]:
        """What the bucket holds of the run."""
        prefix = f"runs/{self.run}/"
        listed = self.service.store("reader").list(prefix + below)
        return [item.key.removeprefix(prefix) for item in listed]

    def asked(self) -> list[tuple[str, str]]:
        """Method and path of every request since the last call, heartbeats apart."""
        found = [(method, path) for method, path, _ in self.proxy.seen if "/heartbeat/" not in path]
        self.proxy.seen.clear()
        return found

    @staticmethod
    def is_allowed(method: str, path: str) -> bool:
        """A put, or a call about the parts of a large file."""
        return method in ALLOWED or any(word in path.partition("?")[2] for word in PARTS)


def bucket_guest(
    root: Path, service: Service, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> Bucket:
    """A run of its own in the bucket of all."""
    run = f"f-{next(_RUNS)}"
    monkeypatch.setattr(follower_world, "RUN", run)
    proxy.faults.clear()
    proxy.always = type(proxy.always)()
    guest = Guest(root)
    store = S3Store(service.url(), service.place("publisher", proxy.endpoint))
    guest.store = store  # type: ignore[assignment]
    proxy.seen.clear()
    return Bucket(guest, proxy, service, run)
