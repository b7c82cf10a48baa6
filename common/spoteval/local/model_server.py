"""A stand-in for a model server: speaks the OpenAI wire format on loopback, contains no model.

It is slow on purpose: a load phase, then a pause before each answer. The answer is a hash of the
last message, so every run of the same prompts gets the same words.

    python -m spoteval.local.model_server --port 8199 --model stand-in --load 2.5 --delay 1.2 --key-file F
"""

import argparse
import hashlib
import hmac
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from types import FrameType

WORDS = ("amber", "basil", "cedar", "delta", "ember", "fjord", "grove", "harbor")


@dataclass
class Service:
    """What the handlers share: the pretended model and how far it has loaded."""

    model: str
    delay_s: float = 0.0
    key: str = ""
    loaded: threading.Event = field(default_factory=threading.Event)
    running: int = 0
    answered: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def completion(self, request: Mapping[str, object]) -> dict[str, object]:
        """The answer to a chat request, after the pause; it counts as running meanwhile."""
        with self.lock:
            self.running += 1
        try:
            time.sleep(self.delay_s)
            return _completion(self.model, _messages(request))
        finally:
            with self.lock:
                self.running -= 1
                self.answered += 1

    def metrics(self) -> str:
        """Load in the text format that vLLM uses, so that the same probe reads both."""
        name = f'{{model_name="{self.model}"}}'
        return (
            f"vllm:num_requests_running{name} {self.running}\n"
            f"vllm:num_requests_waiting{name} 0\n"
            f"vllm:request_success_total{name} {self.answered}\n"
        )


class Server(ThreadingHTTPServer):
    """One thread a request; none of them keeps the process alive."""

    daemon_threads = True

    def __init__(self, port: int, service: Service) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.service = service

    def server_bind(self) -> None:
        """Without the base class's question to the resolver for a name of 127.0.0.1, which can take seconds."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that was killed in mid-request is no news."""


class Handler(BaseHTTPRequestHandler):
    """/health needs no key; everything below /v1 does."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        """Health, metrics, and the list of models."""
        service = self.server.service
        if self.path == "/health":
            self._ready({"status": "ok"})
        elif self.path == "/metrics":
            self._text(200, service.metrics(), "text/plain; version=0.0.4")
        elif self.path == "/v1/models":
            entry = {"id": service.model, "object": "model", "owned_by": "stand-in"}
            self._ready({"object": "list", "data": [entry]}, keyed=True)
        else:
            self._error(404, f"no such path: {self.path}")

    def do_POST(self) -> None:
        """Chat completions."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path != "/v1/chat/completions":
            self._error(404, f"no such path: {self.path}")
            return
        request = _object(body)
        if request is None:
            self._error(400, "the body is no JSON object")
        elif self._refused(request):
            return
        else:
            self._json(200, self.server.service.completion(request))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002, the name is the base class's
        """Requests are counted in /metrics; a line for each would be all the journal holds."""

    def _refused(self, request: Mapping[str, object]) -> bool:
        service = self.server.service
        if not self._authorised():
            self._error(401, "wrong or missing API key")
        elif not service.loaded.is_set():
            self._error(503, "the model is loading")
        elif request.get("model") != service.model:
            self._error(404, f"no model {request.get('model')!r} here, only {service.model!r}")
        else:
            return False
        return True

    def _ready(self, answer: Mapping[str, object], *, keyed: bool = False) -> None:
        if keyed and not self._authorised():
            self._error(401, "wrong or missing API key")
        elif not self.server.service.loaded.is_set():
            self._error(503, "the model is loading")
        else:
            self._json(200, answer)

    def _authorised(self) -> bool:
        key = self.server.service.key
        given = self.headers.get("Authorization") or ""
        return not key or hmac.compare_digest(given.encode(), f"Bearer {key}".encode())

    def _error(self, status: int, message: str) -> None:
        self._json(status, {"error": {"message": message, "type": "stand-in", "code": status}})

    def _json(self, status: int, value: Mapping[str, object]) -> None:
        self._text(status, json.dumps(value), "application/json")

    def _text(self, status: int, text: str, kind: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def answer(prompt: str) -> str:
    """The one word the stand-in says to a prompt, the same in every run."""
    return WORDS[hashlib.sha256(prompt.encode()).digest()[0] % len(WORDS)]


def main(argv: list[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT; exit 0 then, 2 for a key that cannot be read."""
    options = _parser().parse_args(argv)
    try:
        key = _key(options.key_file)
    except OSError as error:
        sys.stderr.write(f"model_server: {options.key_file}: {error.strerror}\n")
        return 2
    service = Service(options.model, options.delay, key)
    with Server(options.port, service) as server:
        loading = threading.Timer(options.load, service.loaded.set)
        loading.daemon = True
        loading.start()
        signal.signal(signal.SIGTERM, _leave)
        signal.signal(signal.SIGINT, _leave)
        port = server.server_address[1]
        sys.stderr.write(
            f'model_server: STAND-IN, no model: "{options.model}" on 127.0.0.1:{port}, answers'
            f" are hashes of the prompt, load {options.load:g} s, {options.delay:g} s an answer\n"
        )
        sys.stderr.flush()
        server.serve_forever(poll_interval=0.1)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="model_server", description=__doc__)
    parser.add_argument("--port", type=int, default=8199, help="0: any free one, said in the log")
    parser.add_argument("--model", default="stand-in", help="name under which it serves")
    parser.add_argument("--load", type=float, default=0.0, help="seconds of 503 at the start")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--key-file", type=Path, help="file with the API key; none: no key needed")
    return parser


def _key(path: Path | None) -> str:
    """The key; a relative path is looked for where systemd puts a unit's credentials."""
    if path is None:
        return ""
    return (Path(os.environ.get("CREDENTIALS_DIRECTORY", ".")) / path).read_text().strip()


def _leave(_signum: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)


def _object(body: bytes) -> dict[str, object] | None:
    try:
        value = json.loads(body)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _messages(request: Mapping[str, object]) -> list[str]:
    messages = request.get("messages")
    found = messages if isinstance(messages, list) else []
    return [_content(message) for message in found if isinstance(message, dict)]


def _content(message: Mapping[str, object]) -> str:
    """The text of a message, whose content is a string or a list of parts."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content or "")


def _completion(model: str, messages: list[str]) -> dict[str, object]:
    prompt = messages[-1] if messages else ""
    spent, made = sum(len(text) // 4 + 1 for text in messages), 1
    message = {"role": "assistant", "content": answer(prompt)}
    return {
        "id": "standin-" + hashlib.sha256("\n".join(messages).encode()).hexdigest()[:16],
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {
            "prompt_tokens": spent,
            "completion_tokens": made,
            "total_tokens": spent + made,
        },
    }


if __name__ == "__main__":
    sys.exit(main())
