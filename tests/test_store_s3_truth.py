"""The store in a bucket, against SeaweedFS: it holds digests, clocks and policies against what was sent."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import botocore.auth
import pytest

from fault_proxy import Fault, proxy_to
from s3_rights import Rights
from s3_server import Service
from spoteval.clock import Now, read_now
from spoteval.store.contract import Put, Store, StoreError
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


def test_a_signature_of_another_time_is_named(
    seaweed_service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """20 minutes off: refused, and the line says by how much this clock is; 4 minutes are well."""
    url, place = (
        seaweed_service.url(seaweed_service.fresh("instances")),
        seaweed_service.place("control"),
    )
    for by_s, well in ((-240, True), (-1200, False), (1200, False)):
        off = timedelta(seconds=by_s)
        signs_at(monkeypatch, off)
        store = S3Store(url, place, clock=partial(later, off))
        if well:
            assert store.put("a", b"x") is Put.CREATED
        else:
            side = "slow" if by_s < 0 else "fast"
            with pytest.raises(StoreError, match=rf"clock is 1(19|20)\d s {side}"):
                store.put("b", b"x")


def later(off: timedelta) -> Now:
    """A clock that is off."""
    now = read_now()
    return replace(now, wall=now.wall + off)


def signs_at(monkeypatch: pytest.MonkeyPatch, off: timedelta) -> None:
    """botocore's signer by a clock that is off, in its ways of both years."""
    if hasattr(botocore.auth, "get_current_datetime"):
        monkeypatch.setattr(
            botocore.auth,
            "get_current_datetime",
            lambda **_: (datetime.now(UTC) + off).replace(tzinfo=None),
        )
        return

    class Off(datetime):
        @classmethod
        def utcnow(cls) -> Any:
            return (datetime.now(UTC) + off).replace(tzinfo=None)

    class Module:
        datetime = Off

    monkeypatch.setattr(botocore.auth, "datetime", Module)


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
