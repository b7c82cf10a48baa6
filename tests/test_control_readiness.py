"""control.readiness: ready is what the run will do, working now; against a server on loopback."""

import json

import pytest

from fake_model_server import CHAT, CHOICE, KEY, MODELS, Answer, Fake, serving
from spoteval.control.asking import Patience
from spoteval.control.readiness import Look, look_at

SOON = Patience(connect_s=2.0, answer_s=0.2, completion_s=0.2)
SERVED = (200, {"data": [{"id": "qwen3"}]})


def ready_one(**changes: Answer) -> Fake:
    """A server that is ready, but for the changes: health, models, completion."""
    answers = {"health": (200, {}), "models": SERVED, "completion": (200, CHOICE), **changes}
    return Fake(
        {"/health": answers["health"], MODELS: answers["models"], CHAT: answers["completion"]}
    )


def test_ready_is_health_model_and_one_completion_by_the_runs_key() -> None:
    """One token, by the path that the run uses; the key goes into the header and nowhere else."""
    fake = ready_one()
    with serving(fake) as server:
        look = look_at(server, KEY)
    assert (look.ready, look.refused) == (True, False)
    assert look.saw.startswith("health 200, qwen3 served, one completion in ")
    assert [path for path, _, _ in fake.asked] == ["/health", MODELS, CHAT]
    assert {key for _, key, _ in fake.asked} == {f"Bearer {KEY}"}
    body = fake.asked[-1][2]
    assert isinstance(body, dict)
    assert (body["model"], body["max_tokens"]) == ("qwen3", 1)
    assert KEY not in json.dumps(body) + look.saw


def test_without_a_credential_no_key_is_sent() -> None:
    """And nothing of the host's own proxies or .netrc either."""
    fake = ready_one()
    with serving(fake) as server:
        assert look_at(server, None).ready
    assert {key for _, key, _ in fake.asked} == {None}


def test_a_proxy_of_the_host_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loopback is loopback: nothing listens at the proxy's address, and the server is ready all the same."""
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    with serving(ready_one()) as server:
        assert look_at(server, KEY).ready


@pytest.mark.parametrize(
    ("fake", "saw"),
    [
        (ready_one(health=(503, {})), "health 503"),
        (ready_one(models=(503, {})), "models 503"),
        (ready_one(models=(200, {"data": []})), 'serves no model, not "qwen3"'),
        (ready_one(models=(200, b"<html>")), 'serves no model, not "qwen3"'),
        (ready_one(models=(200, [1])), 'serves no model, not "qwen3"'),
        (ready_one(completion=(503, {"error": KEY})), "completion 503"),
        (ready_one(completion=(200, {"choices": []})), "completion 200 without a choice"),
        (ready_one(completion=(302, {})), "completion 302"),
    ],
)
def test_a_server_that_answers_too_early_is_starting(fake: Fake, saw: str) -> None:
    """An open port, a green health, a list without the model: none of them is ready, none is refused."""
    with serving(fake) as server:
        assert look_at(server, KEY) == Look(ready=False, refused=False, saw=saw)


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize(
    ("step", "route"), [("health", "health"), ("models", "models"), ("completion", "completions")]
)
def test_a_refused_key_is_for_a_person(status: int, step: str, route: str) -> None:
    """Waiting changes nothing; what the server says of the key is not repeated."""
    fake = ready_one(**{step: (status, {"error": f"bad key {KEY}"})})
    with serving(fake) as server:
        look = look_at(server, KEY)
    assert look == Look(ready=False, refused=True, saw=f"{route} {status}: the key is refused")


@pytest.mark.parametrize("status", [404, 405])
def test_a_server_without_a_health_route_is_judged_by_the_rest(status: int) -> None:
    """llama-cpp-python has none."""
    with serving(ready_one(health=(status, {}))) as server:
        assert look_at(server, KEY).ready


@pytest.mark.parametrize(
    ("path", "route"), [("/health", "health"), ("/v1/chat/completions", "completions")]
)
def test_a_server_that_hangs_costs_its_time_and_no_more(path: str, route: str) -> None:
    """Each step has a deadline of its own."""
    fake = ready_one()
    fake.hangs = path
    with serving(fake) as server:
        look = look_at(server, KEY, SOON)
    assert look == Look(ready=False, refused=False, saw=f"{route}: no answer within 0.2 s")


def test_nobody_listens_yet() -> None:
    """Most servers open their port last."""
    with serving(ready_one()) as server:
        pass
    assert look_at(server, KEY) == Look(ready=False, refused=False, saw="connection refused")


def test_a_key_that_no_header_can_carry_is_not_repeated() -> None:
    """The HTTP library would print it in its error."""
    with serving(ready_one()) as server:
        look = look_at(server, f"{KEY}\nX: 1")
    assert not look.ready
    assert KEY not in look.saw
