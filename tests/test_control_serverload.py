"""Requests in flight, from the metrics of each kind of server."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from cli_hosts import typed
from guest_world import guest
from spoteval.config.server import KINDS, ServerSettings
from spoteval.control.serverload import GAUGES, counted, in_flight
from spoteval.shape import Unreadable

SERVER = ServerSettings(unit="vllm.service", model="m")
VLLM = (
    "# HELP vllm:num_requests_running Number of requests\n"
    'vllm:num_requests_running{engine="0",model_name="a b"} 3.0\n'
    'vllm:num_requests_running{engine="1",model_name="a b"} 4.0\n'
    'vllm:num_requests_waiting{engine="0",model_name="a b"} 1e1\n'
    'vllm:request_success_total{finished_reason="stop"} 900.0\n'
)


@contextmanager
def answering(code: int, text: str, seen: list[str]) -> Iterator[str]:
    """A server on loopback that answers /metrics so, and keeps the key that it was shown."""

    class Handler(BaseHTTPRequestHandler):
        """One answer."""

        def do_GET(self) -> None:
            """Whatever is asked."""
            seen.append(f"{self.path} {self.headers.get('Authorization')}")
            self.send_response(code)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *args: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def test_running_and_waiting_requests_of_all_engines_are_added() -> None:
    """A counter with a similar name is none of them."""
    assert counted(VLLM, "vllm") == 17
    assert (
        counted("llamacpp:requests_processing 2\nllamacpp:requests_deferred 0\n", "llama.cpp") == 2
    )
    assert counted('sglang:num_running_reqs{tp_rank="0"} 5\n', "sglang") == 5
    assert counted("tgi_batch_current_size 1\ntgi_queue_size 2\n", "tgi") == 3
    assert set(GAUGES) < set(KINDS)


@pytest.mark.parametrize(
    "text", ["", "vllm:other 1\n", "vllm:num_requests_running NaN\n", "<html>"]
)
def test_metrics_without_the_gauges_are_unreadable(text: str) -> None:
    """Another version, another kind: nobody knows, which is no zero."""
    assert isinstance(counted(text, "vllm"), Unreadable)


@pytest.mark.parametrize(
    ("code", "text", "expected"),
    [
        (200, VLLM, 17),
        (404, "", None),
        (501, "", None),
        (500, "sk-secret", Unreadable("metrics: 500")),
        (401, "", Unreadable("metrics: 401")),
        (302, "", Unreadable("metrics: 302")),
    ],
)
def test_a_server_that_does_not_offer_them_tells_nothing(
    code: int, text: str, expected: object
) -> None:
    """An error is no zero, and no text of the server is passed on."""
    seen: list[str] = []
    with answering(code, text, seen) as url:
        assert in_flight(replace(SERVER, url=url), "model-key-1") == expected
    assert seen == ["/metrics Bearer model-key-1"]


def test_a_dead_port_and_a_kind_without_metrics_are_idle() -> None:
    """Nothing is asked of the second."""
    assert in_flight(replace(SERVER, url="http://127.0.0.1:9"), None) is None
    assert in_flight(replace(SERVER, url="http://127.0.0.1:9", kind="ollama"), None) is None


@pytest.mark.runs("the command line as idle-guard asks it")
def test_the_command_says_it_of_each_server(tmp_path: Path) -> None:
    """As one object, and as lines for people."""
    seen: list[str] = []
    with answering(200, VLLM, seen) as url:
        servers = (
            f'[[server]]\nname = "policy"\nunit = "v.service"\nmodel = "m"\nurl = "{url}"\n'
            '[[server]]\nname = "judge"\nunit = "j.service"\nmodel = "j"\n'
            'url = "http://127.0.0.1:9"\n'
        )
        made = guest(tmp_path, servers)
        found = typed(("server", "load", "--json"), made.environment)
        assert found.record == {
            "servers": {"policy": {"in_flight": 17}, "judge": {"in_flight": None}}
        }
        said = typed(("server", "load"), made.environment)
    assert said.out == "policy: 17 requests in flight\njudge: does not tell\n"
