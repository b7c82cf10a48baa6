"""Each kind of model server, against a small real one on loopback: early answers, key, model, silence."""

import json

import pytest

from fake_model_server import (
    CHAT,
    CHOICE,
    KEY,
    LIES,
    MODELS,
    PLAIN,
    READY,
    Answer,
    of_kind,
    serving,
    settings,
)
from spoteval.config.server import KINDS
from spoteval.control.asking import Patience
from spoteval.control.readiness import Look, look_at, sickness
from spoteval.control.server_kinds import SERVER_KINDS
from spoteval.control.serverlook import patience_for

SOON = Patience(connect_s=2.0, answer_s=0.2, completion_s=0.2)
EARLY = {
    "vllm": "completion 500",
    "sglang": "health 503",
    "llama.cpp": "health 503",
    "llama-cpp-python": "completion 500",
    "tgi": "health 503",
    "ollama": "not in memory after a chat",
    "openai": 'serves no model, not "qwen3"',
}
VERSIONS = {
    "vllm": "0.12.1",
    "sglang": "0.5.9",
    "llama.cpp": "b7000-abcdef",
    "tgi": "3.3.6",
    "ollama": "0.14.0",
}


def test_server_kinds_are_those_of_the_configuration() -> None:
    """A kind that can be written is a kind that is known how to ask."""
    assert set(SERVER_KINDS) == set(KINDS) == set(READY) == set(LIES)


@pytest.mark.parametrize("kind", KINDS)
def test_server_ready_is_ready_by_its_own_routes(kind: str) -> None:
    """Health by the kind's route, the model listed, one token by the run's key; its version is known then."""
    fake = of_kind(kind, key=KEY)
    with serving(fake, kind) as server:
        look = look_at(server, KEY)
    assert (look.ready, look.refused, look.version) == (True, False, VERSIONS.get(kind))
    assert "qwen3 served, one completion in " in look.saw
    body = next(body for path, _, body in fake.asked if path == CHAT)
    assert isinstance(body, dict)
    assert (body["model"], body["max_tokens"]) == ("qwen3", 1)
    assert {key for _, key, _ in fake.asked} == {f"Bearer {KEY}"}


@pytest.mark.parametrize("kind", KINDS)
def test_server_answers_too_early_and_is_waited_for(kind: str) -> None:
    """The kind's own lie, while everything around it is green: starting, and nobody is called."""
    with serving(of_kind(kind, LIES[kind]), kind) as server:
        look = look_at(server, KEY)
    assert look == Look(ready=False, refused=False, saw=EARLY[kind])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("key", [None, "sk-another"])
def test_server_needs_a_key_and_says_so(kind: str, key: str | None) -> None:
    """None, or a wrong one: a person is called, and no word of the server's is repeated."""
    with serving(of_kind(kind, key=KEY), kind) as server:
        look = look_at(server, key)
    assert (look.ready, look.refused) == (False, True)
    assert look.saw.endswith(" 401: the key is refused")
    assert KEY not in look.saw


@pytest.mark.parametrize("kind", KINDS)
def test_server_serves_another_model_and_says_which(kind: str) -> None:
    """The list of a server that is up does not change: waiting does not mend it."""
    other: Answer = (200, {"data": [{"id": "llama"}, {"id": "phi"}]})
    with serving(of_kind(kind, {MODELS: other}), kind) as server:
        look = look_at(server, KEY)
    assert look == Look(ready=False, refused=True, saw='serves llama, phi, not "qwen3"')


@pytest.mark.parametrize("kind", KINDS)
def test_server_hangs_and_costs_its_time_alone(kind: str) -> None:
    """Green health, a completion that never comes: requests stall."""
    fake = of_kind(kind)
    fake.hangs = CHAT
    with serving(fake, kind) as server:
        look = look_at(server, KEY, SOON)
    assert look == Look(ready=False, refused=False, saw="completions: no answer within 0.2 s")


@pytest.mark.parametrize("kind", KINDS)
def test_server_never_comes_and_is_refused(kind: str) -> None:
    """Nobody listens: starting, as long as its unit lives."""
    with serving(of_kind(kind), kind) as server:
        pass
    assert look_at(server, KEY) == Look(ready=False, refused=False, saw="connection refused")


@pytest.mark.parametrize("kind", ["vllm", "sglang", "llama.cpp", "tgi", "ollama"])
def test_server_of_another_kind_is_named(kind: str) -> None:
    """A probe that is fixed on a route which is not there never becomes ready, and says why."""
    with serving(of_kind("llama-cpp-python"), kind) as server:
        look = look_at(server, KEY)
    assert look == Look(ready=False, refused=True, saw=f"health 404: no {kind} server answers here")


def test_server_of_a_base_model_is_asked_without_chat() -> None:
    """No chat template is 400 for ever; the run asks it by the other path."""
    changes: dict[str, Answer] = {CHAT: (400, {"error": "no chat template"}), PLAIN: (200, CHOICE)}
    with serving(of_kind("vllm", changes), "vllm") as server:
        look = look_at(server, KEY)
    assert look.ready
    assert "one completion without chat in " in look.saw


def test_server_of_neither_path_is_not_ready() -> None:
    """The answer of the chat is the one that is shown."""
    with serving(of_kind("vllm", {CHAT: (400, {})}), "vllm") as server:
        assert look_at(server, KEY).saw == "completion 400"


def test_server_ollama_is_made_to_load_and_keep() -> None:
    """A chat of one token with keep_alive -1; hanging up would end the load, so the look waits as long as allowed."""
    fake = of_kind("ollama")
    with serving(fake, "ollama") as server:
        assert look_at(server, None).ready
    chat = next(body for path, _, body in fake.asked if path == "/api/chat")
    assert isinstance(chat, dict)
    assert (chat["keep_alive"], chat["options"]) == (-1, {"num_predict": 1})
    assert patience_for(settings(1, "ollama")).completion_s == 60.0
    assert patience_for(settings(1, "vllm")).completion_s == 30.0


@pytest.mark.parametrize("said", [(500, {}), (200, b"<html>"), (200, {"version": 3}), (401, {})])
def test_server_without_a_version_is_ready_all_the_same(said: Answer) -> None:
    """It is an ornament of the look."""
    with serving(of_kind("vllm", {"/version": said}), "vllm") as server:
        look = look_at(server, KEY)
    assert (look.ready, look.version) == (True, None)


@pytest.mark.parametrize("kind", KINDS)
def test_server_health_under_the_run_asks_no_model(kind: str) -> None:
    """One light question; well where it is ready, and where its key is refused: that is no death."""
    fake = of_kind(kind, key=KEY)
    with serving(fake, kind) as server:
        assert sickness(server, KEY) is None
        assert sickness(server, None) is None
    assert {path for path, _, _ in fake.asked} == {SERVER_KINDS[kind].watch}


@pytest.mark.parametrize("kind", KINDS)
def test_server_dies_behind_its_port_and_is_sick(kind: str) -> None:
    """It says so itself, or nobody listens; one that hangs is busy, for all that anybody can tell."""
    watch = SERVER_KINDS[kind].watch
    fake = of_kind(kind, {watch: (503, {})})
    with serving(fake, kind) as server:
        assert sickness(server, KEY) == "health 503"
        fake.hangs = watch
        assert sickness(server, KEY, SOON) is None
    assert sickness(server, KEY) == "connection refused"


def test_server_key_stands_in_no_look() -> None:
    """Nor in what is printed of one."""
    with serving(of_kind("tgi", key=KEY), "tgi") as server:
        good, bad = look_at(server, KEY), look_at(server, "sk-other-secret")
    assert KEY not in json.dumps([good.saw, bad.saw])
    assert "sk-other-secret" not in bad.saw
