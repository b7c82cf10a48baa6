"""Notice sources of the clouds: none, a notice, or not known; nothing that fails is ever a notice."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta

import pytest

from fakes.aws import FakeImds
from fakes.azure import FakeAzureMetadata
from fakes.gcp import FakeGcpMetadata
from fakes.nebius import FakeNebiusMetadata
from fakes.server import FakeServer, Reply
from restarter_story import NOON, now
from spoteval.machine.metadata import Metadata
from spoteval.notice.aws import AwsNotice
from spoteval.notice.azure import AzureNotice
from spoteval.notice.contract import Notice, NoticeSource
from spoteval.notice.gcp import GcpNotice
from spoteval.notice.nebius import NebiusNotice
from spoteval.notice.paced import Paced
from spoteval.shape import Reading, Unreadable

PATHS = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
IN_TWO_MINUTES = NOON + timedelta(seconds=120)


@dataclass
class Face:
    """One cloud's source and service."""

    name: str
    service: FakeServer
    source: NoticeSource
    says_deadline: bool

    def announces(self) -> None:
        """A stop in two minutes."""
        self.service.announce(IN_TWO_MINUTES)  # type: ignore[attr-defined]

    def withdraws(self) -> None:
        """It was nothing."""
        self.service.withdraw()  # type: ignore[attr-defined]


def aws(service: FakeServer) -> Face:
    source = AwsNotice(Metadata(service.url), lambda: now(0))
    return Face("aws", service, source, says_deadline=True)


def gcp(service: FakeServer) -> Face:
    return Face("gcp", service, GcpNotice(Metadata(service.url), 0), says_deadline=False)


def azure(service: FakeServer) -> Face:
    return Face("azure", service, AzureNotice(Metadata(service.url)), says_deadline=True)


FACES: dict[str, tuple[type[FakeServer], Callable[[FakeServer], Face]]] = {
    "aws": (FakeImds, aws),
    "gcp": (FakeGcpMetadata, gcp),
    "azure": (FakeAzureMetadata, azure),
}


@pytest.fixture(params=sorted(FACES))
def face(request: pytest.FixtureRequest) -> Iterator[Face]:
    """Each cloud in turn."""
    make, face_of = FACES[request.param]
    with ExitStack() as stack:
        service = make()
        stack.enter_context(service.listening())
        yield face_of(service)


def notice(found: Reading[Notice | None]) -> Notice:
    """It is one."""
    assert isinstance(found, Notice), found
    return found


def test_cloud_notice_none_then_a_notice_then_none(face: Face) -> None:
    """The same stop keeps its id; its deadline is told where the cloud says one."""
    assert face.source.read() is None
    face.announces()
    first, second = notice(face.source.read()), notice(face.source.read())
    assert first == second
    assert first.source == face.name
    assert first.deadline == (IN_TWO_MINUTES if face.says_deadline else None)
    face.withdraws()
    assert face.source.read() is None


def test_complaint_38_the_deadline_is_the_clouds_own(face: Face) -> None:
    """Where it says one; where not, the configured window counts from the notice."""
    face.announces()
    assert notice(face.source.read()).deadline == (IN_TWO_MINUTES if face.says_deadline else None)


def test_another_stop_has_another_id(face: Face) -> None:
    """After one that was withdrawn."""
    face.source.read()
    face.announces()
    first = notice(face.source.read())
    face.withdraws()
    assert face.source.read() is None
    face.service.announce(IN_TWO_MINUTES + timedelta(hours=1))  # type: ignore[attr-defined]
    assert notice(face.source.read()).id != first.id


BAD = (
    Reply(500, "TRUE"),
    Reply(503, '{"action": "stop", "time": "2026-12-01T12:02:00Z"}'),
    Reply(429, ""),
    Reply(200, ""),
    Reply(200, "<html>TRUE</html>"),
    Reply(200, "[" * 9000),
    Reply(200, '{"action": "dance", "time": "2026-12-01T12:02:00Z", "Events": 5}'),
    Reply(200, '{"action": "stop"}'),
    Reply(200, '{"action": "stop", "time": "soon"}'),
    Reply(200, "TRUE", then="half"),
    Reply(200, "TRUE", then="reset"),
)


@pytest.mark.parametrize("bad", BAD, ids=range(len(BAD)))
def test_cloud_notice_what_is_not_understood_is_neither_a_notice_nor_none(
    face: Face, bad: Reply
) -> None:
    """Before, between and after good answers; the next good one counts again (complaints 34 and 36)."""
    face.service.goes_wrong(bad)
    assert isinstance(face.source.read(), Unreadable)
    face.service.recovers()
    assert face.source.read() is None
    face.announces()
    first = notice(face.source.read())
    face.service.goes_wrong(bad)
    assert isinstance(face.source.read(), Unreadable)
    face.service.recovers()
    assert notice(face.source.read()) == first


def test_nobody_there_is_not_known(face: Face) -> None:
    """The process goes on."""
    dead = Metadata("http://127.0.0.1:9")
    for source in (AwsNotice(dead), GcpNotice(dead, 0), AzureNotice(dead)):
        assert isinstance(source.read(), Unreadable)


@pytest.fixture
def imds() -> Iterator[FakeImds]:
    """The metadata service of EC2."""
    service = FakeImds()
    with service.listening():
        yield service


def test_aws_renews_a_token_that_is_refused(imds: FakeImds) -> None:
    """401, another token, the answer."""
    source = AwsNotice(Metadata(imds.url), lambda: now(0))
    assert source.read() is None
    imds.token = "another"
    assert source.read() is None
    assert imds.count("PUT", "/latest/api/token") == 2


@pytest.mark.parametrize(("past_s", "stands"), [(300, True), (301, False)])
def test_aws_a_notice_long_past_announces_nothing(
    imds: FakeImds, past_s: float, stands: bool
) -> None:
    """At equal and one past; a clock that is not believed judges nothing (complaint 38)."""
    imds.announce(NOON)
    source = AwsNotice(Metadata(imds.url), lambda: now(past_s))
    assert isinstance(source.read(), Notice) is stands
    unsynced = AwsNotice(Metadata(imds.url), lambda: now(past_s, synced=False))
    assert isinstance(unsynced.read(), Notice)


@pytest.fixture
def events() -> Iterator[FakeAzureMetadata]:
    """Scheduled events of a VM."""
    service = FakeAzureMetadata()
    with service.listening():
        yield service


def test_azure_events_of_neighbours_are_not_ours(events: FakeAzureMetadata) -> None:
    """In a set all VMs see all events; names differ in case."""
    source = AzureNotice(Metadata(events.url))
    events.events = [events.event("Preempt", ["gpu-2"]), events.event("Reboot", ["gpu-1"])]
    assert source.read() is None
    events.events = [events.event("Preempt", ["gpu-2", "GPU-1"])]
    assert isinstance(source.read(), Notice)


@pytest.mark.parametrize(
    ("status", "stands"), [("Scheduled", True), ("Started", True), ("Completed", False)]
)
def test_azure_an_event_that_has_begun_stands(
    events: FakeAzureMetadata, status: str, stands: bool
) -> None:
    """Hardware failures skip `Scheduled`, and have no time left."""
    event = events.event("Preempt", ["gpu-1"]) | {"EventStatus": status, "NotBefore": ""}
    events.events = [event]
    found = AzureNotice(Metadata(events.url)).read()
    assert isinstance(found, Notice) is stands
    if isinstance(found, Notice):
        assert found.deadline is None


def test_azure_waits_long_for_the_first_answer_alone(events: FakeAzureMetadata) -> None:
    """It switches the service on; and nothing is ever acknowledged, which would make the stop come sooner."""
    asked: list[float] = []

    class Noted(Metadata):
        def get(self, path: str, headers: object, deadline_s: float) -> object:  # type: ignore[override]
            asked.append(deadline_s)
            return Metadata.get(self, path, headers, deadline_s)  # type: ignore[arg-type]

    source = AzureNotice(Noted(events.url))
    events.announce(IN_TWO_MINUTES)
    for _ in range(3):
        source.read()
    assert asked == [5.0, 130.0, 5.0, 5.0]
    assert {one.method for one in events.asked} == {"GET"}


def test_complaint_40_gcp_waits_for_a_change() -> None:
    """The second question names the first one's etag, and is answered when the value changes."""
    service = FakeGcpMetadata()
    with service.listening():
        source = GcpNotice(Metadata(service.url), 20)
        assert source.read() is None
        threading.Timer(0.1, service.announce, [IN_TWO_MINUTES]).start()
        assert isinstance(source.read(), Notice)
        queries = [one.query for one in service.asked]
    assert queries[0] == {}
    assert (queries[1]["wait_for_change"], queries[1]["timeout_sec"]) == ("true", "20")


def test_nebius_tells_events_and_never_makes_a_notice_of_them() -> None:
    """One line for each change; what is not understood is neither none nor a line."""
    service, lines = FakeNebiusMetadata(), list[str]()
    with service.listening():
        source = NebiusNotice(Metadata(service.url), lines.append)
        assert source.read() is None
        service.events = [{"type": "Preemption", "at": "2026-12-01T12:02:00Z\n"}]
        assert [source.read(), source.read()] == [None, None]
        assert [line.split()[0] for line in lines] == ["event=instance-events"]
        for bad in BAD:
            service.goes_wrong(bad)
            assert not isinstance(source.read(), Notice)
        service.goes_wrong(Reply(503))
        assert isinstance(source.read(), Unreadable)
        service.recovers()
        service.events = []
        assert source.read() is None


def test_a_source_is_asked_at_its_own_pace() -> None:
    """Also after a question that took long."""
    clock, waited, asked = [0.0], list[float](), list[float]()

    class Slow:
        def read(self) -> Reading[Notice | None]:
            asked.append(clock[0])
            clock[0] += 0.5
            return None

    def pause(seconds: float) -> None:
        waited.append(seconds)
        clock[0] += seconds

    source = Paced(Slow(), 2.0, lambda: clock[0], pause)
    for _ in range(3):
        source.read()
    assert asked == [0.0, 2.0, 4.0]
    assert waited == [1.5, 1.5]


@pytest.mark.parametrize("name", sorted(FACES))
def test_cloud_notice_24_h_of_a_flapping_service(name: str) -> None:
    """Every second question fails in another way: no notice ever, and after each failure it is read again."""
    make, face_of = FACES[name]
    with make().listening() as service:
        face = face_of(service)
        found = {"none": 0, "unknown": 0}
        for second in range(0, 24 * 3600, 150):
            service.recovers()
            if second % 300:
                service.goes_wrong(BAD[second // 150 % len(BAD)])
            read = face.source.read()
            assert not isinstance(read, Notice)
            found["none" if read is None else "unknown"] += 1
        assert found == {"none": 288, "unknown": 288}


@pytest.mark.runs("a process of its own shows what is loaded")
def test_sources_load_no_client_of_an_api() -> None:
    """Neither do nodes elsewhere load a cloud's source: each byte is there six times on a guest."""
    clouds = ("aws", "gcp", "azure", "nebius")
    sources = ", ".join(f"spoteval.notice.{name}" for name in clouds)
    for modules, heavy in (
        (sources, "requests boto3 botocore urllib3 grpc nebius"),
        ("spoteval.config.guest", "http.client ssl email requests boto3 botocore urllib3"),
    ):
        code = f"import sys, {modules}; print(set({heavy!r}.split()) & set(sys.modules))"
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=PATHS
        )
        assert done.stdout.strip() == "set()"
