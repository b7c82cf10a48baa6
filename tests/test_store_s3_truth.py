"""The store in a bucket, against SeaweedFS: it holds digests, clocks and policies against what was sent."""

import pytest

from s3_fixtures import seaweed_service
from s3_server import Service
from spoteval.store.contract import Store
from store_contract import StoreContract
from test_store_s3 import Split

__all__ = ["seaweed_service"]
pytestmark = pytest.mark.runs("a real service on loopback, started once for all of them")


class TestPublisher(StoreContract):
    """The guest's key may only put: that is enough for every put of the contract; another key reads."""

    @pytest.fixture
    def store(self, seaweed_service: Service) -> Store:
        """An empty part of the store."""
        below = seaweed_service.fresh("runs")
        return Split(
            seaweed_service.store("publisher", below), seaweed_service.store("reader", below)
        )


class TestControl(StoreContract):
    """A key that puts below `instances/` and reads."""

    @pytest.fixture
    def store(self, seaweed_service: Service) -> Store:
        """An empty part of the store."""
        return seaweed_service.store("control", seaweed_service.fresh("instances"))
