"""Provider and notice source `local`: what the files say, and what their absence says."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from provider_contract import SECRET, ProviderContract
from spoteval.clock import Now, stamp
from spoteval.files import held, remove, write_record
from spoteval.local.cloud import CloudFiles
from spoteval.notice.contract import Notice
from spoteval.notice.file import FileNotice
from spoteval.provider.contract import ErrorKind, Observation, Price, Reply, ReplyKind, State
from spoteval.provider.local import LocalProvider, local_provider
from spoteval.shape import ShapeError, Table, Unreadable

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
STATE = {
    "state": "STOPPED",
    "billed": False,
    "last_start": stamp(NOON),
    "stop_reason": "preempted",
    "since": stamp(NOON),
    "price": {"amount": 3.21, "currency": "USD", "per": "hour"},
}


class Clock:
    """Moves by the pauses; `at_pause` is what the world does meanwhile."""

    def __init__(self) -> None:
        self.passed_s = 0.0
        self.at_pause: Callable[[], None] = lambda: None

    def __call__(self) -> Now:
        return Now(NOON + timedelta(seconds=self.passed_s), self.passed_s, "boot")

    def pause(self, seconds: float) -> None:
        self.passed_s += seconds
        self.at_pause()


@pytest.fixture
def clock() -> Clock:
    """A clock that a test moves."""
    return Clock()


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[CloudFiles]:
    """A cloud whose driver lives."""
    files = CloudFiles(tmp_path)
    write_record(files.state, STATE)
    with held(files.lock):
        yield files


def provider(cloud: CloudFiles, clock: Clock) -> LocalProvider:
    """The provider of that cloud."""
    return LocalProvider(cloud.root, clock, clock.pause)


STATUS: dict[ReplyKind, int] = {
    "accepted": 200,
    "auth": 403,
    "gone": 404,
    "conflict": 409,
    "rate": 429,
    "capacity": 503,
    "unknown": 500,
}


@dataclass
class LocalFace:
    """A cloud whose driver answers at each pause of the clock, or does not."""

    files: CloudFiles
    clock: Clock
    arrived: list[str] = field(default_factory=list)
    status: int | None = 200

    def __post_init__(self) -> None:
        self.clock.at_pause = self.drive

    def drive(self) -> None:
        """The driver's turn: a call that it sees is counted, and answered unless it is to be silent."""
        request = self.files.oldest_request()
        if request is None:
            return
        self.arrived.append(request.verb)
        if self.status is not None:
            self.files.answer(request.id, self.status, None)
        else:
            remove(self.files.requests / f"{request.id}.json")

    @property
    def provider(self) -> LocalProvider:
        """The provider of that cloud."""
        return LocalProvider(self.files.root, self.clock, self.clock.pause)

    @property
    def kinds(self) -> Sequence[ReplyKind]:
        """Those that a status stands for."""
        return tuple(STATUS)

    @property
    def errors(self) -> Sequence[ErrorKind]:
        """Files refuse nothing."""
        return ()

    cancels = True
    advises = False

    def refuses(self, kind: ErrorKind) -> None:
        """It never does."""
        raise AssertionError(kind)

    def hints(self, advice: str) -> None:
        """It has none."""
        raise AssertionError(advice)

    @property
    def damages(self) -> Sequence[Callable[[], None]]:
        """A state and replies that are torn, zero-filled, or of another kind."""
        bodies = (
            b"\0\0\0",
            b'{"format": 1, "sta' + SECRET.encode(),
            b'{"format": 2}',
            b'{"format": 1, "status": "x", "price": {"amount": NaN, "currency": "USD"}}',
        )
        return [partial(self.damaged, body) for body in bodies]

    def damaged(self, body: bytes) -> None:
        """The state and every answer, from now on."""
        self.files.state.write_bytes(body)

        def answer() -> None:
            request = self.files.oldest_request()
            if request is not None:
                self.files.replies.mkdir(exist_ok=True)
                (self.files.replies / f"{request.id}.json").write_bytes(body)
                remove(self.files.requests / f"{request.id}.json")

        self.clock.at_pause = answer

    def writes(self, **changes: object) -> None:
        """The driver's state, but for these."""
        write_record(self.files.state, STATE | changes)

    def is_now(
        self,
        state: State,
        billed: bool | None = None,
        last_start: datetime | None = None,
        cause: str | None = None,
    ) -> None:
        """The instance, from now on."""
        at = stamp(last_start) if last_start else None
        self.writes(state=state.value, billed=bool(billed), last_start=at, stop_reason=cause)

    def says_another_word(self) -> None:
        """A word of its own."""
        self.writes(state="HIBERNATED")

    def costs(self, amount: float, currency: str, per: str) -> None:
        """The price, from now on."""
        self.writes(price={"amount": amount, "currency": currency, "per": per})

    def replies(self, kind: ReplyKind) -> None:
        """To each call, from now on."""
        self.status = STATUS[kind]

    def never_answers(self) -> None:
        """Calls arrive and are not answered."""
        self.status = None

    def is_away(self) -> None:
        """The driver is gone; what it wrote is still there."""
        self.files.lock.unlink()

    def calls(self) -> list[str]:
        """What the driver saw."""
        return self.arrived


@pytest.fixture
def face(cloud: CloudFiles, clock: Clock) -> LocalFace:
    """A driver that obeys."""
    return LocalFace(cloud, clock)


class TestLocalContract(ProviderContract):
    """The local cloud keeps the contract of every provider."""


def test_what_the_driver_wrote_is_observed(cloud: CloudFiles, clock: Clock) -> None:
    """State, bill, last start and the reason of the stop."""
    assert provider(cloud, clock).observe(1) == Observation(
        State.STOPPED,
        billed=False,
        last_start=NOON,
        cause="preempted",
        evidence="provider-reason",
    )


def test_without_a_reason_nothing_is_evidence(cloud: CloudFiles, clock: Clock) -> None:
    """A cause is never made up."""
    write_record(cloud.state, STATE | {"stop_reason": None, "last_start": None, "state": "RUNNING"})
    assert provider(cloud, clock).observe(1) == Observation(State.RUNNING, billed=False)


def test_a_state_in_words_of_its_own_is_unknown(cloud: CloudFiles, clock: Clock) -> None:
    """An answer that nobody understands is not STOPPED."""
    write_record(cloud.state, STATE | {"state": "HIBERNATED"})
    seen = provider(cloud, clock).observe(1)
    assert isinstance(seen, Observation)
    assert seen.state is State.UNKNOWN


@pytest.mark.parametrize("damage", [b"", b"\0\0\0", b'{"format": 1}', b'{"format": 1, "sta'])
def test_a_damaged_state_is_unreadable(cloud: CloudFiles, clock: Clock, damage: bytes) -> None:
    """Torn, zero-filled or half a record."""
    cloud.state.write_bytes(damage)
    assert isinstance(provider(cloud, clock).observe(1), Unreadable)
    assert isinstance(provider(cloud, clock).price(1), Unreadable)


def test_a_state_that_is_not_there_yet_is_unreadable(cloud: CloudFiles, clock: Clock) -> None:
    """The driver lives and has written nothing."""
    cloud.state.unlink()
    assert isinstance(provider(cloud, clock).observe(1), Unreadable)


def test_without_a_driver_the_file_is_not_believed(tmp_path: Path, clock: Clock) -> None:
    """A state left by a dead driver says nothing, and a call is not put where nobody reads."""
    files = CloudFiles(tmp_path)
    for there in (False, True):
        seen = provider(files, clock).observe(1)
        assert isinstance(seen, Unreadable)
        assert "no local node is running" in seen.why
        if not there:
            write_record(files.state, STATE)
            files.lock.touch()
    assert provider(files, clock).start(1) == Reply(
        ok=False, kind="unknown", detail="no local node is running"
    )
    assert files.oldest_request() is None


def test_a_cloud_that_we_may_not_ask_is_unreadable(
    cloud: CloudFiles, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lock of another user: nothing is raised, nothing is believed, and the line names the file."""

    def refuse(self: CloudFiles) -> bool:
        raise PermissionError(13, "Permission denied", str(self.lock))

    monkeypatch.setattr(CloudFiles, "has_driver", refuse)
    provider = LocalProvider(cloud.root, clock, clock.pause)
    for found in (provider.observe(1.0), provider.price(1.0)):
        assert isinstance(found, Unreadable)
        assert found.why == f"{cloud.lock}: Permission denied"
    assert provider.start(1.0) == Reply(ok=False, kind="unknown", detail="Permission denied")


def test_two_who_ask_do_not_take_each_other_for_a_driver(tmp_path: Path) -> None:
    """The question leaves no trace that a second one could see."""
    files = CloudFiles(tmp_path)
    files.lock.touch()
    assert not files.has_driver()
    with held(files.lock):
        assert files.has_driver()
    assert not files.has_driver()


@pytest.mark.parametrize(
    ("status", "error", "reply"),
    [
        (200, None, Reply(ok=True, kind="accepted", detail="")),
        (503, "no capacity", Reply(ok=False, kind="capacity", detail="no capacity")),
        (500, "internal", Reply(ok=False, kind="unknown", detail="internal")),
        (409, "is RUNNING", Reply(ok=False, kind="conflict", detail="is RUNNING")),
        (429, "slow down", Reply(ok=False, kind="rate", detail="slow down")),
    ],
)
def test_an_answer_becomes_a_kind(
    cloud: CloudFiles, clock: Clock, status: int, error: str | None, reply: Reply
) -> None:
    """The call waits under its name until the driver answers, and is struck off by the answer."""
    asked: list[str] = []

    def driver() -> None:
        request = cloud.oldest_request()
        assert request is not None
        asked.append(request.verb)
        cloud.answer(request.id, status, error)

    clock.at_pause = driver
    assert provider(cloud, clock).start(5) == reply
    assert provider(cloud, clock).stop(5) == reply
    assert asked == ["start", "stop"]
    assert cloud.oldest_request() is None


def test_no_answer_within_the_deadline_is_unknown(cloud: CloudFiles, clock: Clock) -> None:
    """The call may still be obeyed: it stays."""
    assert provider(cloud, clock).start(2) == Reply(ok=False, kind="unknown", detail="timeout:2s")
    assert 2 <= clock.passed_s < 2.1
    assert cloud.oldest_request() is not None


def test_a_damaged_answer_is_unknown(cloud: CloudFiles, clock: Clock) -> None:
    """Neither yes nor no."""

    def driver() -> None:
        request = cloud.oldest_request()
        assert request is not None
        cloud.replies.mkdir(exist_ok=True)
        (cloud.replies / f"{request.id}.json").write_text('{"format": 1}')

    clock.at_pause = driver
    assert provider(cloud, clock).start(2).kind == "unknown"


def test_calls_are_read_in_order_and_damage_has_no_verb(cloud: CloudFiles, clock: Clock) -> None:
    """A call that cannot be read is still answered, not skipped."""
    first = cloud.ask("stop", clock())
    clock.pause(1)
    second = cloud.ask("start", clock())
    (cloud.requests / f"{first}.json").write_text("{")
    request = cloud.oldest_request()
    assert request is not None
    assert (request.id, request.verb) == (first, "")
    cloud.answer(first, 400, "damaged")
    request = cloud.oldest_request()
    assert request is not None
    assert (request.id, request.verb) == (second, "start")


def test_the_price_is_the_markets_as_of_now(cloud: CloudFiles, clock: Clock) -> None:
    """Read from the state, dated when it was read."""
    assert provider(cloud, clock).price(1) == Price(3.21, "USD", "hour", "spot", NOON)
    assert Price(3.21, "USD", "hour", "spot", NOON).record()["as_of"] == stamp(NOON)


def test_the_configuration_names_the_cloud_absolutely() -> None:
    """Units have another working directory than the person who typed it."""
    local_provider(Table({"cloud": "/c"}, "provider"))
    with pytest.raises(ShapeError, match="absolute path"):
        local_provider(Table({"cloud": "c"}, "provider"))


def test_no_file_is_no_notice_and_damage_is_no_notice_either(tmp_path: Path) -> None:
    """Absent is None; damaged is unreadable; whole is the notice."""
    source = FileNotice(CloudFiles(tmp_path).notice, "local")
    assert source.read() is None
    write_record(
        CloudFiles(tmp_path).notice, {"kind": "preemption", "deadline": stamp(NOON), "id": "n-1"}
    )
    assert source.read() == Notice("n-1", "preemption", NOON, "local")
    for damage in ("", "{", '{"format": 1, "kind": "preemption"}'):
        CloudFiles(tmp_path).notice.write_text(damage)
        assert isinstance(source.read(), Unreadable)
