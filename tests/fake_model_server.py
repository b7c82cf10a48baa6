"""Model servers on loopback for tests: what each kind answers while it loads and when it is ready, and its lies."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from spoteval.config.server import ServerSettings

KEY = "sk-very-secret-3"
CHOICE = {"choices": [{"message": {"content": "1"}}]}
CHAT, PLAIN, MODELS = "/v1/chat/completions", "/v1/completions", "/v1/models"
LISTED = (200, {"object": "list", "data": [{"id": "qwen3"}]})
BUSY = (503, {"error": {"message": "Loading model", "type": "unavailable_error"}})
EARLY = (200, {"models": [{"name": "qwen3:latest"}]})

Answer = tuple[int, object]
READY: Mapping[str, Mapping[str, Answer]] = {
    "vllm": {
        "/health": (200, b""),
        "/version": (200, {"version": "0.12.1"}),
        MODELS: LISTED,
        CHAT: (200, CHOICE),
    },
    "sglang": {
        "/health": (200, b""),
        "/health_generate": (200, b""),
        "/server_info": (200, {"version": "0.5.9"}),
        MODELS: LISTED,
        CHAT: (200, CHOICE),
    },
    "llama.cpp": {
        "/health": (200, {"status": "ok"}),
        "/props": (200, {"build_info": "b7000-abcdef"}),
        MODELS: LISTED,
        CHAT: (200, CHOICE),
    },
    "llama-cpp-python": {MODELS: LISTED, CHAT: (200, CHOICE)},
    "tgi": {
        "/health": (200, b""),
        "/info": (200, {"version": "3.3.6", "model_id": "qwen3"}),
        MODELS: LISTED,
        CHAT: (200, CHOICE),
    },
    "ollama": {
        "/": (200, b"Ollama is running"),
        "/api/version": (200, {"version": "0.14.0"}),
        "/api/tags": EARLY,
        "/api/ps": EARLY,
        "/api/chat": (200, {"message": {"content": "1"}, "done": True}),
        MODELS: (200, {"data": [{"id": "qwen3:latest"}]}),
        CHAT: (200, CHOICE),
    },
    "openai": {MODELS: LISTED, CHAT: (200, CHOICE)},
}
"""By kind, what a server that is ready answers; every other path is 404."""

LIES: Mapping[str, Mapping[str, Answer]] = {
    # The engine is dead, its HTTP process lives: health is green, requests fail.
    "vllm": {CHAT: (500, {"error": "EngineDeadError"})},
    # "Uvicorn running", the list is there and health too: it has not warmed up.
    "sglang": {"/health_generate": (503, b""), CHAT: BUSY},
    # The list has an entry without meta while the model loads.
    "llama.cpp": {"/health": BUSY, CHAT: BUSY},
    # Neither health nor load phase: it is the completion that is not there yet.
    "llama-cpp-python": {CHAT: (500, {"detail": "busy"})},
    # The router is up, a shard is not.
    "tgi": {"/health": (503, {"error": "unhealthy"}), CHAT: BUSY},
    # Every list is green and nothing is in memory, not even after a chat.
    "ollama": {"/api/ps": (200, {"models": []})},
    "openai": {MODELS: (200, {"data": []})},
}
"""By kind, what differs while it must not count as ready."""


@dataclass
class Fake:
    """One server: answers by path, a key that all but health wants, and the path that never answers."""

    answers: Mapping[str, Answer]
    key: str = ""
    hangs: str = ""
    asked: list[tuple[str, str | None, object]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    def answer(self, path: str, authorization: str | None) -> Answer:
        """The answer to one request."""
        if self.key and not path.startswith("/health") and authorization != f"Bearer {self.key}":
            return 401, {"error": f"wrong key, not {self.key}"}
        return self.answers.get(path, (404, {"error": "no such path"}))


def of_kind(kind: str, changes: Mapping[str, Answer] | None = None, key: str = "") -> Fake:
    """A ready server of a kind, but for the changes."""
    return Fake({**READY[kind], **(changes or {})}, key)


@contextmanager
def serving(fake: Fake, kind: str = "openai", **changes: object) -> Iterator[ServerSettings]:
    """The fake on a free port of loopback."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.reply(None)

        def do_POST(self) -> None:
            self.reply(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def reply(self, body: object) -> None:
            fake.asked.append((self.path, self.headers["Authorization"], body))
            if self.path == fake.hangs:
                fake.released.wait(30)
            status, value = fake.answer(self.path, self.headers["Authorization"])
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
        yield settings(server.server_address[1], kind, **changes)
    finally:
        fake.released.set()
        server.shutdown()
        server.server_close()
        thread.join()


def settings(port: int, kind: str = "openai", **changes: object) -> ServerSettings:
    """One [[server]] table."""
    fields: dict[str, object] = {
        "name": "policy",
        "unit": "vllm.service",
        "url": f"http://127.0.0.1:{port}",
        "kind": kind,
        "model": "qwen3",
        "credential": "model-key",
        "ready_within_s": 60.0,
    }
    return ServerSettings(**{**fields, **changes})  # type: ignore[arg-type]
