"""The store as the guest's own key has it: puts alone. Whatever else is asked of it fails the test."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from spoteval.store.contract import Put, Store

ASKED: Counter[str] = Counter()
"""Everything that was asked, in all tests of this process, by verb."""


class Denied(BaseException):
    """No error of a store, which the follower may live with: it may not even ask."""


@dataclass
class PutOnly:
    """Passes puts on to another store, counts what is asked, and refuses the rest."""

    inner: Store
    url: str = field(init=False)

    def __post_init__(self) -> None:
        """It passes for the inner one."""
        self.url = self.inner.url

    def put(self, key: str, data: bytes) -> Put:
        """Passed on."""
        ASKED["put"] += 1
        return self.inner.put(key, data)

    def put_file(self, key: str, path: Path) -> Put:
        """Passed on."""
        ASKED["put"] += 1
        return self.inner.put_file(key, path)

    def get(self, key: str) -> NoReturn:
        """Refused."""
        ASKED["get"] += 1
        raise Denied(f"get {key}")

    def list(self, prefix: str) -> NoReturn:
        """Refused."""
        ASKED["list"] += 1
        raise Denied(f"list {prefix}")
