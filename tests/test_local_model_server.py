"""The stand-in for a model server: slow, keyed, and the same in every run."""

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from spoteval.local import model_server
from spoteval.local.model_server import WORDS, Server, Service, answer

pytestmark = pytest.mark.runs("serves on loopback, and pauses as it is told to")


@contextmanager
def serving(loaded: bool = True, key: str = "", delay_s: float = 0.0) -> Iterator[Server]:
    """A server in a thread."""
    service = Service("stand-in", delay_s, key)
    if loaded:
        service.loaded.set()
    with Server(0, service) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def ask(
    server: Server, method: str, path: str, body: object = None, key: str = ""
) -> tuple[int, Any]:
    """One request; the answer's status and its JSON, or its text."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=10)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection.request(method, path, data if method == "POST" else None, headers)
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    is_json = response.headers["Content-Type"] == "application/json"
    return response.status, json.loads(text) if is_json else text


def chat(*messages: object, model: str = "stand-in") -> dict[str, object]:
    """A chat request."""
    listed = [{"role": "user", "content": content} for content in messages]
    return {"model": model, "messages": listed}


def test_a_completion() -> None:
    """The last message's word, with the tokens of all of them."""
    with serving() as server:
        status, found = ask(server, "POST", "/v1/chat/completions", chat("one", "two"))
    assert (status, found["object"], found["model"]) == (200, "chat.completion", "stand-in")
    assert found["choices"][0]["message"] == {"role": "assistant", "content": answer("two")}
    assert found["choices"][0]["finish_reason"] == "stop"
    assert found["usage"] == {"prompt_tokens": 2, "completion_tokens": 1, "total_tokens": 3}


def test_answers_are_the_same_in_every_run() -> None:
    """By hash of the prompt, not by Python's, which differs in every process."""
    assert [answer(prompt) for prompt in ("", "a", "b")] == ["delta", "cedar", "grove"]
    assert len({answer(str(i)) for i in range(200)}) == len(WORDS)


def test_content_in_parts_is_text_too() -> None:
    """As clients send it that can also send images."""
    parts = [{"type": "text", "text": "two"}, {"type": "image_url"}]
    with serving() as server:
        _, found = ask(server, "POST", "/v1/chat/completions", chat(parts))
    assert found["choices"][0]["message"]["content"] == answer("two")


def test_while_it_loads() -> None:
    """503 on health, models and completions, but the key is checked before."""
    with serving(loaded=False, key="k") as server:
        assert ask(server, "GET", "/health")[0] == 503
        assert ask(server, "GET", "/v1/models", key="k")[0] == 503
        assert ask(server, "POST", "/v1/chat/completions", chat("a"), key="k")[0] == 503
        assert ask(server, "POST", "/v1/chat/completions", chat("a"))[0] == 401
        server.service.loaded.set()
        assert ask(server, "GET", "/health")[0] == 200


@pytest.mark.parametrize(("key", "status"), [("k", 200), ("", 401), ("x", 401), ("kk", 401)])
def test_the_key(key: str, status: int) -> None:
    """Needed for everything below /v1, never for /health."""
    with serving(key="k") as server:
        assert ask(server, "POST", "/v1/chat/completions", chat("a"), key=key)[0] == status
        assert ask(server, "GET", "/v1/models", key=key)[0] == status
        assert ask(server, "GET", "/health", key=key)[0] == 200


def test_the_model_by_its_name() -> None:
    """It says which one it serves and knows no other."""
    with serving() as server:
        _, models = ask(server, "GET", "/v1/models")
        assert [model["id"] for model in models["data"]] == ["stand-in"]
        status, found = ask(server, "POST", "/v1/chat/completions", chat("a", model="gpt"))
    assert status == 404
    assert found["error"]["message"] == "no model 'gpt' here, only 'stand-in'"


def test_what_it_does_not_know() -> None:
    """Other paths and other bodies are refused in words."""
    with serving() as server:
        assert ask(server, "GET", "/")[0] == 404
        assert ask(server, "POST", "/v1/completions", chat("a"))[0] == 404
        assert ask(server, "POST", "/v1/chat/completions", b"{")[0] == 400
        assert ask(server, "POST", "/v1/chat/completions", [])[0] == 400


def test_requests_in_flight_are_counted() -> None:
    """As an idle check reads them: one while it answers, none after."""
    with serving(delay_s=0.5) as server:
        url = "/v1/chat/completions"
        thread = threading.Thread(target=ask, args=(server, "POST", url, chat("a")))
        thread.start()
        during = ""
        while "running{" not in during or " 0" in during.splitlines()[0]:
            during = ask(server, "GET", "/metrics")[1]
        thread.join()
        _, after = ask(server, "GET", "/metrics")
    assert 'vllm:num_requests_running{model_name="stand-in"} 1\n' in during
    assert 'vllm:num_requests_running{model_name="stand-in"} 0\n' in after
    assert 'vllm:request_success_total{model_name="stand-in"} 1\n' in after


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_as_a_process(tmp_path: Path, signum: signal.Signals) -> None:
    """Says that it is a stand-in, takes the key from a credential, exits 0 when asked to leave."""
    (tmp_path / "model-key").write_text("s3cret\n")
    argv = [sys.executable, "-m", "spoteval.local.model_server", "--port", "0"]
    argv += ["--key-file", "model-key"]
    env = {"PYTHONPATH": os.pathsep.join(sys.path), "CREDENTIALS_DIRECTORY": str(tmp_path)}
    with subprocess.Popen(argv, env=env, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        process.send_signal(signum)
        assert process.wait(timeout=30) == 0
        assert process.stderr.read() == ""
    assert said.startswith('model_server: STAND-IN, no model: "stand-in" on 127.0.0.1:')
    assert "s3cret" not in said


def test_a_key_that_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line, exit 2, and no server without the key it was to have."""
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)
    missing = tmp_path / "none"
    assert model_server.main(["--port", "0", "--key-file", str(missing)]) == 2
    assert capsys.readouterr().err == f"model_server: {missing}: No such file or directory\n"
