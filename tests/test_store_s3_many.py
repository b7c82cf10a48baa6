"""The store in a bucket, many puts at a time: what is not simply taken goes on by itself, and nothing is lost."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from fault_proxy import (
    CONFLICT,
    DEAF,
    LOST_ANSWER,
    NO_CONDITION,
    RESET,
    SLOW_DOWN,
    Fault,
    Proxy,
    proxy_to,
)
from s3_server import Service, free_port
from spoteval.clock import monotonic_s
from spoteval.store import http_exchange
from spoteval.store.contract import Later, Put, StoreError
from spoteval.store.pace import Pace
from spoteval.store.s3 import LANES, S3Store
from spoteval.store.s3_many import STOP_AFTER
from spoteval.store.s3_patience import Patience

pytestmark = pytest.mark.runs("a real service on loopback, started once for all of them")
ALL = {f"some/{number:02d}": b"%d" % number * 100 for number in range(20)}
FAULTS = {
    "slow down": (SLOW_DOWN, Put.CREATED),
    "conflict": (CONFLICT, Put.CREATED),
    "500": (Fault(500, "InternalError"), Put.CREATED),
    "reset": (RESET, Put.CREATED),
    "bad digest": (Fault(400, "BadDigest"), Put.CREATED),
    "lost answer": (LOST_ANSWER, Put.REPEATED),
    "half a head": (Fault(half=True), Put.REPEATED),
    "silence": (Fault(stall_s=30.0), Put.CREATED),
    "no condition": (NO_CONDITION, Put.ACKNOWLEDGED),
    "a portal": (Fault(200, body="<html>Log in"), None),
}
"""What happens to one put of many, and what becomes of it."""


@dataclass(frozen=True)
class Scene:
    """A store behind a proxy, in an empty part of the bucket."""

    proxy: Proxy
    service: Service
    below: str
    store: S3Store

    def each(self) -> dict[str, Put | Later]:
        """All of them."""
        return dict(self.store.put_each(ALL.items()))

    def truth(self) -> dict[str, bytes]:
        """What the bucket holds, without the proxy."""
        reads = self.service.store("reader", self.below)
        return {item.key: reads.get(item.key) for item in reads.list("")}


@pytest.fixture
def scene(moto_service: Service) -> Iterator[Scene]:
    """Fresh, without faults; pauses take no time."""
    below = moto_service.fresh("runs")
    patience = Patience(monotonic_s, lambda _: None, lambda: 1.0)
    with proxy_to(moto_service.endpoint) as proxy:
        place = moto_service.place("publisher", proxy.endpoint)
        yield Scene(proxy, moto_service, below, S3Store(moto_service.url(below), place, patience))


def test_all_are_created_by_as_many_puts(scene: Scene) -> None:
    """Signed, with their digests and the condition; over no more connections than there are lanes."""
    assert scene.each() == dict.fromkeys(ALL, Put.CREATED)
    assert scene.truth() == ALL
    assert scene.proxy.methods == ["PUT"] * len(ALL)
    assert all(headers["If-None-Match"] == "*" for _, _, headers in scene.proxy.seen)
    assert 0 < len(scene.store._kept.pool._idle) <= LANES


def test_what_exists_is_not_touched(scene: Scene) -> None:
    """It is told apart, and is no reason to stop."""
    before = dict.fromkeys(list(ALL)[::2], b"others")
    assert set(dict(scene.store.put_each(before.items())).values()) == {Put.CREATED}
    found = scene.each()
    assert found == {key: Put.EXISTS if key in before else Put.CREATED for key in ALL}
    assert scene.truth() == {**ALL, **before}


@pytest.mark.parametrize("number", [0, 7, 19])
@pytest.mark.parametrize("name", FAULTS)
def test_one_that_fails_goes_on_by_itself(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, name: str, number: int
) -> None:
    """With the patience of any put, and it knows that it was tried; the others are created beside it."""
    if name == "silence":
        monkeypatch.setattr(http_exchange, "READ_S", 1.5)
    fault, answer = FAULTS[name]
    scene.proxy.faults[:] = [*[Fault()] * number, fault]
    found = scene.each()
    (late,) = [key for key, one in found.items() if not isinstance(one, Put)]
    assert {one for key, one in found.items() if key != late} == {Put.CREATED}
    assert found.keys() == ALL.keys()
    later = found[late]
    assert not isinstance(later, Put)
    if answer is None:
        with pytest.raises(StoreError, match="no S3 service"):
            later()
    else:
        assert later() is answer
        assert scene.truth() == ALL


def test_a_service_that_says_made_of_what_exists_is_believed(scene: Scene) -> None:
    """As with a single put: what tells is the probe at set-up."""
    scene.each()
    scene.proxy.always = DEAF
    assert set(scene.each().values()) == {Put.CREATED}
    assert scene.truth() == ALL


def test_several_in_a_row_that_fail_end_it(scene: Scene) -> None:
    """What is left was not asked; a service that is busy is not asked by all at once."""
    scene.proxy.always = SLOW_DOWN
    found = scene.each()
    assert not any(isinstance(one, Put) for one in found.values())
    assert len(found) == len(scene.proxy.seen) < STOP_AFTER + LANES
    scene.proxy.always = Fault()
    assert {later() for later in found.values() if not isinstance(later, Put)} == {Put.CREATED}
    assert scene.truth() == {key: ALL[key] for key in found}


def test_what_follows_may_wait_for_an_answer(scene: Scene) -> None:
    """It is asked for when something is answered, and nothing goes before that."""
    found = dict[str, Put | Later]()

    def wanted() -> Iterator[tuple[str, bytes] | None]:
        first, *others = ALL.items()
        yield first
        while first[0] not in found:
            yield None
        yield from others

    for key, answer in scene.store.put_each(wanted()):
        found[key] = answer
        assert next(iter(found)) == "some/00"
    assert found == dict.fromkeys(ALL, Put.CREATED)
    assert scene.proxy.seen[0][1].endswith("some/00")


def test_who_waits_for_nothing_is_not_waited_for(scene: Scene) -> None:
    """Where nothing is under way no answer will come."""
    assert dict(scene.store.put_each(itertools.repeat(None))) == {}


@pytest.mark.parametrize("most", [2, 3])
def test_no_more_at_a_time_than_are_wanted(scene: Scene, most: int) -> None:
    """Nor more connections."""
    assert dict(scene.store.put_each(ALL.items(), most)) == dict.fromkeys(ALL, Put.CREATED)
    assert len(scene.store._kept.pool._idle) == most


def test_nobody_there(scene: Scene) -> None:
    """Nothing was tried: who asks for one alone is told why."""
    place = replace(
        scene.service.place("publisher"), endpoint_url=f"http://127.0.0.1:{free_port()}"
    )
    store = S3Store(scene.store.url, place)
    assert dict(store.put_each(ALL.items())) == {}
    with pytest.raises(StoreError, match="connection refused"):
        store.put("some/00", b"x")


def test_a_silent_service_ends_with_the_deadline(scene: Scene) -> None:
    """Each has its own error, and nothing is begun after it."""
    scene.proxy.always = Fault(stall_s=30.0)
    hasty = scene.store.until(monotonic_s() + 2.0)
    found = dict(hasty.put_each(ALL.items()))
    assert 0 < len(found) <= LANES
    for later in found.values():
        assert not isinstance(later, Put)
        with pytest.raises(StoreError, match=r"no answer within [\d.]+ s"):
            later()


def test_what_is_under_way_ends_for_what_is_more_urgent(scene: Scene) -> None:
    """Long before its own deadline, and the line says why."""
    scene.proxy.always = Fault(stall_s=30.0)
    began_s = monotonic_s()
    hasty = scene.store.until(began_s + 100.0, lambda: monotonic_s() - began_s > 1.0)
    found = dict(hasty.put_each(ALL.items()))
    assert 0 < len(found) <= LANES
    for later in found.values():
        assert not isinstance(later, Put)
        with pytest.raises(StoreError, match="given up, since something more urgent waits"):
            later()


def test_one_alone_and_a_pace_are_left_to_the_single_put(scene: Scene) -> None:
    """One waits for itself; a limit of bytes is kept by waiting, which one thread must not do for all."""
    assert dict(scene.store.put_each([("some/00", b"x")], 1)) == {}
    paced = scene.store.until(monotonic_s() + 10.0, pace=Pace(1_000_000))
    assert dict(paced.put_each(ALL.items())) == {}
    assert scene.proxy.seen == []


def test_a_bad_key_is_left_out(scene: Scene) -> None:
    """The others are created; who asks for it alone is told why."""
    wanted = [("some/../00", b"x"), *ALL.items()]
    assert dict(scene.store.put_each(wanted)) == dict.fromkeys(ALL, Put.CREATED)


def test_bodies_beyond_what_a_socket_takes(scene: Scene) -> None:
    """They go on where there is room again, each in its turn."""
    large = {key: data * 20_000 for key, data in [*ALL.items()][:10]}
    found = dict(scene.store.put_each(large.items()))
    assert found == dict.fromkeys(large, Put.CREATED)
    assert scene.truth() == large


def test_a_service_that_ends_each_connection_after_its_answer(scene: Scene) -> None:
    """None is used twice; others are made meanwhile."""
    scene.proxy.always = Fault(200, headers={"ETag": '"x"', "Connection": "close"}, body="")
    assert scene.each() == dict.fromkeys(ALL, Put.CREATED)
    assert len(scene.proxy.seen) == len(ALL)
