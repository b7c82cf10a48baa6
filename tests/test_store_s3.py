"""The store in a bucket, against moto with users and policies: the contract for each key, and what each is refused."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from s3_server import Service
from spoteval.store.contract import Put, Store, Stored
from spoteval.store.s3 import S3Store
from store_contract import StoreContract

pytestmark = pytest.mark.runs("a real service on loopback, started once for all of them")


class Split:
    """A store in which one key puts and another reads."""

    def __init__(self, puts: S3Store, reads: S3Store) -> None:
        self._puts, self._reads, self.url = puts, reads, puts.url

    def put(self, key: str, data: bytes) -> Put:
        """By the one."""
        return self._puts.put(key, data)

    def put_file(self, key: str, path: Path) -> Put:
        """By the one."""
        return self._puts.put_file(key, path)

    def get(self, key: str) -> bytes:
        """By the other."""
        return self._reads.get(key)

    def list(self, prefix: str) -> Iterator[Stored]:
        """By the other."""
        return self._reads.list(prefix)


class TestPublisher(StoreContract):
    """The guest's key may only put: that is enough for every put of the contract; another key reads."""

    @pytest.fixture
    def store(self, moto_service: Service) -> Store:
        """An empty part of the store."""
        below = moto_service.fresh("runs")
        return Split(moto_service.store("publisher", below), moto_service.store("reader", below))


@pytest.mark.parametrize("role", ["control", "operator"])
class TestControl(StoreContract):
    """Keys that put below `instances/` and read."""

    @pytest.fixture
    def store(self, moto_service: Service, role: str) -> Store:
        """An empty part of the store."""
        return moto_service.store(role, moto_service.fresh("instances"))
