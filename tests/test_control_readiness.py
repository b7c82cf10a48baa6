"""control.readiness: ready is what the run will do, working now; against a server on loopback."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from spoteval.config.server import ServerSettings
from spoteval.control.readiness import Look, Patience, look_at

KEY = "sk-very-secret-3"
SOON = Patience(connect_s=2.0, answer_s=0.2, completion_s=0.2)
CHOICE = {"choices": [{"message": {"content": "1"}}]}
MODELS = {"data": [{"id": "qwen3"}]}


@dataclass
class Fake:
    """What a server answers: status and body by path; `hangs` names the path that never answers."""

    answers: Mapping[str, tuple[int, object]]
    hangs: str = ""
    asked: list[tuple[str, str | None, object]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)


def ready_one(**changes: tuple[int, object]) -> Fake:
    """A server that is ready, but for the changes: health, models, completion."""
    answers = {"health": (200, {}), "models": (200, MODELS), "completion": (200, CHOICE), **changes}
    return Fake(
        {
            "/health": answers["health"],
            "/v1/models": answers["models"],
            "/v1/chat/completions": answers["completion"],
        }
    )


@contextmanager
def serving(fake: Fake) -> Iterator[ServerSettings]:
    """The fake on a free port of loopback."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer(None)

        def do_POST(self) -> None:
            self.answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def answer(self, body: object) -> None:
            fake.asked.append((self.path, self.headers["Authorization"], body))
            if self.path == fake.hangs:
                fake.released.wait(30)
            status, value = fake.answers[self.path]
            data = value if isinstance(value, bytes) else json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            with suppress(BrokenPipeError):  # the one that was kept waiting is gone
                self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            """Silence."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield settings(server.server_address[1])
    finally:
        fake.released.set()
        server.shutdown()
        server.server_close()
        thread.join()


def settings(port: int) -> ServerSettings:
    """One [[server]] table."""
    return ServerSettings(
        name="policy",
        unit="vllm.service",
        url=f"http://127.0.0.1:{port}",
        kind="openai",
        model="qwen3",
        credential="model-key",
        ready_within_s=60.0,
        restarts=3,
    )


def test_ready_is_health_model_and_one_completion_by_the_runs_key() -> None:
    """One token, by the path that the run uses; the key goes into the header and nowhere else."""
    fake = ready_one()
    with serving(fake) as server:
        look = look_at(server, KEY)
    assert (look.ready, look.refused) == (True, False)
    assert look.saw.startswith("health 200, qwen3 served, one completion in ")
    assert [path for path, _, _ in fake.asked] == ["/health", "/v1/models", "/v1/chat/completions"]
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
        (ready_one(models=(200, {"data": [{"id": "llama"}]})), 'serves llama, not "qwen3"'),
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
