"""What every cloud's calls rest on: one deadline, one request, no secret in what is said, many instances in a look."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fakes.server import Asked, FakeServer, Reply
from restarter_story import now
from spoteval.clock import Now
from spoteval.machine.metadata import Metadata, Told
from spoteval.provider.batch import REST_S, SHARED_S, Batch
from spoteval.provider.contract import Unanswered, unanswered
from spoteval.provider.http import Answer, Api, Request
from spoteval.provider.token import AHEAD_S, Bearer, Token
from spoteval.provider.within import MOST_HANGING, Patience
from spoteval.shape import Reading, Unreadable

SECRET = "hunter2-in-the-token"
HASTE_S = 0.3


class Echo(FakeServer):
    """Answers each request with its own path."""

    def handle(self, asked: Asked) -> Reply:
        return Reply(200, {"path": asked.path})


@pytest.fixture
def echo() -> Iterator[Echo]:
    """A server that lives as long as the test."""
    server = Echo()
    with server.listening():
        yield server


def asked(server: FakeServer, **more: Any) -> Reading[Answer]:
    """One GET with a token, in haste."""
    return Api(server.url).ask(Request("GET", "/v1/x", token=SECRET, **more), HASTE_S)


def kind_of(answer: object) -> str:
    """What kind of refusal it is; no word of it may be the secret."""
    assert isinstance(answer, Unanswered), answer
    assert SECRET not in answer.why
    assert answer.why.isprintable()
    return answer.kind


def test_an_answer_is_status_headers_and_json(echo: Echo) -> None:
    """The token goes out in its header, and is in nothing that could be printed."""
    answer = asked(echo, params={"a": "b"})
    assert isinstance(answer, Answer)
    assert (answer.status, answer.body, answer.ok) == (200, {"path": "/v1/x"}, True)
    assert echo.asked[0].headers["authorization"] == f"Bearer {SECRET}"
    assert SECRET not in repr(Request("GET", "/", token=SECRET, form={"client_secret": SECRET}))


@pytest.mark.parametrize(
    ("then", "kind"),
    [("hang", "timeout"), ("drip", "timeout"), ("half", "unknown"), ("reset", "unknown")],
)
def test_a_bad_answer_is_none(echo: Echo, then: str, kind: str) -> None:
    """Within the deadline, after exactly one request."""
    echo.goes_wrong(Reply(200, '{"a": "' + "b" * 100 + '"}', then=then))
    assert kind_of(asked(echo)) == kind
    assert len(echo.asked) == 1


def test_nobody_there_is_none() -> None:
    """A refused connection says whose."""
    answer = Api("http://127.0.0.1:9").ask(Request("GET", "/", token=SECRET), HASTE_S)
    assert kind_of(answer) == "unknown"


def test_no_redirect_and_no_other_host_gets_the_token(echo: Echo) -> None:
    """Neither by a 302 nor by the address of a next page."""
    echo.goes_wrong(Reply(302, "", {"Location": f"{echo.url}/elsewhere"}))
    answer = asked(echo)
    assert isinstance(answer, Answer)
    assert answer.status == 302
    elsewhere = Request("GET", "http://127.0.0.1:9/page2", token=SECRET)
    assert kind_of(Api(echo.url).ask(elsewhere, HASTE_S)) == "unknown"
    own = Api(echo.url).ask(Request("GET", f"{echo.url}/page2"), HASTE_S)
    assert isinstance(own, Answer)
    assert [one.path for one in echo.asked] == ["/v1/x", "/page2"]


def test_a_body_that_is_no_json_is_said_without_quoting_it(echo: Echo) -> None:
    """It may hold anything."""
    echo.goes_wrong(Reply(200, SECRET))
    answer = asked(echo)
    assert isinstance(answer, Answer)
    assert isinstance(answer.body, Unreadable)
    assert SECRET not in answer.body.why


@pytest.mark.parametrize(
    ("text", "seconds"), [("17", 17.0), ("0", 0.0), ("soon", None), ("", None)]
)
def test_retry_after_in_seconds(echo: Echo, text: str, seconds: float | None) -> None:
    """A date or a word is none."""
    echo.goes_wrong(Reply(429, "", {"Retry-After": text}))
    answer = asked(echo)
    assert isinstance(answer, Answer)
    assert answer.retry_after_s == seconds


def test_calls_that_hang_do_not_pile_up() -> None:
    """So many threads and no more; they are free again when the calls end after all."""
    over, patience = threading.Event(), Patience()

    def hangs() -> Reading[int]:
        over.wait(20)
        return 1

    for _ in range(MOST_HANGING):
        assert kind_of(patience.within(0.01, hangs)) == "timeout"
    refused = patience.within(5, lambda: 2)
    assert isinstance(refused, Unanswered)
    assert "still hang" in refused.why
    over.set()
    for _ in range(1000):
        if patience.within(1, lambda: 2) == 2:
            return
        threading.Event().wait(0.01)
    pytest.fail("never free again")


def test_what_a_call_raises_is_raised() -> None:
    """An error of ours is not a timeout of theirs."""

    def wrong() -> Reading[int]:
        raise KeyError("x")

    with pytest.raises(KeyError):
        Patience().within(1, wrong)


class Clock:
    """Moved by hand."""

    seconds = 0.0

    def __call__(self) -> Now:
        return now(self.seconds)


def counted(batches: list[tuple[str, ...]], found: Callable[[], Any]) -> Any:
    """An ask that writes down what it was asked for."""

    def ask(ids: tuple[str, ...], deadline_s: float) -> Any:
        batches.append(ids)
        return found()

    return ask


def test_who_asks_within_five_seconds_shares_the_look() -> None:
    """At equal and one past; an id that the answer lacks is gone."""
    clock, batches = Clock(), list[tuple[str, ...]]()
    batch: Batch[int] = Batch(counted(batches, lambda: {"a": 1, "b": 2}), clock)
    for name in ("a", "b", "c"):
        batch.add(name)
    assert (batch.look("a", 5), batch.look("b", 5)) == (1, 2)
    assert kind_of(batch.look("c", 5)) == "gone"
    clock.seconds = SHARED_S
    assert batch.look("a", 5) == 1
    assert batches == [("a", "b", "c")]
    clock.seconds = SHARED_S + 0.001
    assert batch.look("a", 5) == 1
    assert len(batches) == 2
    batch.forget()
    batch.look("a", 5)
    assert len(batches) == 3


def test_a_look_is_as_old_as_its_begin() -> None:
    """However long it took: at equal and one past."""
    clock, began = Clock(), list[float]()

    def ask(ids: tuple[str, ...], deadline_s: float) -> Any:
        began.append(clock.seconds)
        clock.seconds += 2.0
        return {"a": 1}

    batch: Batch[int] = Batch(ask, clock)
    batch.look("a", 20)
    for seconds in (SHARED_S, SHARED_S + 0.001):
        clock.seconds = seconds
        batch.look("a", 20)
    assert began == [0.0, SHARED_S + 0.001]


@pytest.mark.parametrize(("says", "rests_s"), [(None, REST_S), (7.0, 7.0), (9999.0, 300.0)])
def test_a_provider_that_wants_fewer_requests_is_left_alone(
    says: float | None, rests_s: float
) -> None:
    """As long as it says, within bounds, also after something was asked of an instance."""
    clock, batches = Clock(), list[tuple[str, ...]]()
    batch: Batch[int] = Batch(counted(batches, lambda: unanswered("rate", "429", says)), clock)
    batch.add("a")
    for seconds in (0.0, rests_s - 0.1):
        clock.seconds = seconds
        assert kind_of(batch.look("a", 5)) == "rate"
        batch.forget()
    assert len(batches) == 1
    clock.seconds = rests_s
    batch.look("a", 5)
    assert len(batches) == 2


def test_a_token_is_fetched_again_before_it_runs_out() -> None:
    """And at once after it was refused; one that is good for a minute more outlives a fetch that fails."""
    clock, answers = Clock(), list[Reading[Token[str]]]()
    bearer = Bearer(lambda _: answers.pop(0), clock)
    answers += [Token("one", 3600), Token("two", 3600), Token("three", 3600), Unreadable("away")]
    assert bearer.value(5) == "one"
    clock.seconds = 3600 - AHEAD_S - 1
    assert bearer.value(5) == "one"
    clock.seconds += 1
    assert bearer.value(5) == "two"
    bearer.refused("one")
    assert bearer.value(5) == "two"
    bearer.refused("two")
    assert bearer.value(5) == "three"
    clock.seconds += 3600 - AHEAD_S
    assert bearer.value(5) == "three"
    answers.append(Unreadable("away"))
    clock.seconds += AHEAD_S
    assert bearer.value(5) == Unreadable("away")
    assert "one" not in repr(Token("one", 1))


def test_metadata_goes_past_every_proxy(echo: Echo, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be handed a token."""
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    told = Metadata(echo.url).get("/computeMetadata/v1/x?y=1", {"Metadata-Flavor": "Google"}, 5)
    assert isinstance(told, Told)
    assert (told.status, told.table()) == (200, {"path": "/computeMetadata/v1/x"})
    assert echo.asked[0].headers["metadata-flavor"] == "Google"
    assert SECRET not in repr(Told(200, SECRET, {"x": SECRET}))


@pytest.mark.parametrize("then", ["hang", "half", "reset", "drip"])
def test_metadata_that_answers_badly_is_unreadable(echo: Echo, then: str) -> None:
    """Within its deadline."""
    echo.goes_wrong(Reply(200, "TRUE" * 20, then=then))
    told = Metadata(echo.url).get("/x", {}, HASTE_S)
    assert isinstance(told, Unreadable)
    assert told.why.startswith("metadata: ")


def test_no_metadata_is_unreadable() -> None:
    """Neither a notice nor none."""
    assert isinstance(Metadata("http://127.0.0.1:9").get("/x", {}, HASTE_S), Unreadable)
