"""The store in a bucket, against SeaweedFS: it holds digests, clocks and policies against what was sent."""

import re
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest

from fault_proxy import Fault, proxy_to
from s3_rights import Rights
from s3_server import Service
from spoteval.clock import Now, read_now
from spoteval.store.contract import Put, Store
from spoteval.store.s3 import S3Store
from store_contract import StoreContract
from test_store_s3 import Split

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


class TestRights(Rights):
    """Its own users."""

    @pytest.fixture
    def service(self, seaweed_service: Service) -> Service:
        """The one that is tested."""
        return seaweed_service


@pytest.mark.parametrize(("by_s", "side"), [(-240, None), (-1200, "slow"), (1200, "fast")], ids=str)
def test_a_clock_that_is_off_is_corrected_and_named(
    seaweed_service: Service, by_s: float, side: str | None
) -> None:
    """20 minutes: signed anew with the service's own time, and the line says by how much; 4 minutes are well."""
    url = seaweed_service.url(seaweed_service.fresh("instances"))
    off = timedelta(seconds=by_s)
    store = S3Store(url, seaweed_service.place("control"), clock=partial(later, off))
    assert store.put("a", b"x") is Put.CREATED
    assert store.get("a") == b"x"
    if side is None:
        assert store.complaint is None
    else:
        assert re.match(rf"this host's clock is 1(19|20)\d s {side};", store.complaint or "")


def later(off: timedelta) -> Now:
    """A clock that is off."""
    now = read_now()
    return replace(now, wall=now.wall + off)


def test_bytes_that_are_damaged_on_their_way_are_refused(seaweed_service: Service) -> None:
    """By the digests that go with them: tried again, and then whole."""
    below = seaweed_service.fresh("instances")
    with proxy_to(seaweed_service.endpoint) as proxy:
        place = seaweed_service.place("control", proxy.endpoint)
        store = S3Store(seaweed_service.url(below), place)
        proxy.faults.append(Fault(damage=True))
        assert store.put("a", b"body" * 100) is Put.CREATED
        assert [method for method, _, _ in proxy.seen] == ["PUT", "PUT"]
    assert seaweed_service.store("reader", below).get("a") == b"body" * 100
