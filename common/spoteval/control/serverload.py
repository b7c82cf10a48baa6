"""Requests that a model server works on or keeps waiting, from its own metrics."""

import re
from collections.abc import Mapping

import requests

from spoteval.config.server import ServerSettings
from spoteval.control.asking import session_with
from spoteval.shape import Reading, Unreadable

CONNECT_S, ANSWER_S = 2.0, 5.0
# The gauges of running and of waiting requests, from the servers' own documentation of /metrics.
GAUGES: Mapping[str, tuple[str, ...]] = {
    "vllm": ("vllm:num_requests_running", "vllm:num_requests_waiting"),
    "sglang": ("sglang:num_running_reqs", "sglang:num_queue_reqs"),
    "llama.cpp": ("llamacpp:requests_processing", "llamacpp:requests_deferred"),
    "tgi": ("tgi_batch_current_size", "tgi_queue_size"),
}
_NOT_OFFERED = (404, 405, 501)  # SGLang and llama.cpp serve metrics only when told to
_SAMPLE = re.compile(r"^([A-Za-z_:][\w:]*)(?:\{.*\})?\s+([0-9.eE+-]+)")


def in_flight(server: ServerSettings, key: str | None) -> Reading[int | None]:
    """Requests in flight now; None where this server does not tell, or nothing listens at its port.

    Blocks up to CONNECT_S + ANSWER_S. No text of the server or of the HTTP library is passed on: it could hold a key.
    """
    if server.kind not in GAUGES:
        return None
    try:
        with session_with(key) as session:
            answer = session.get(
                f"{server.url}/metrics", timeout=(CONNECT_S, ANSWER_S), allow_redirects=False
            )
    except requests.Timeout:
        return Unreadable("metrics: no answer in time")
    except requests.ConnectionError as error:
        return None if "refused" in str(error) else Unreadable("metrics: connection broken off")
    except requests.RequestException as error:
        return Unreadable(f"metrics: {type(error).__name__}")
    if answer.status_code in _NOT_OFFERED:
        return None
    if answer.status_code != 200:
        return Unreadable(f"metrics: {answer.status_code}")
    return counted(answer.text, server.kind)


def counted(text: str, kind: str) -> Reading[int | None]:
    """The sum of the kind's gauges over all their labels; Unreadable where none of them is there."""
    found = [sample for line in text.splitlines() if (sample := _SAMPLE.match(line))]
    values = [sample[2] for sample in found if sample[1] in GAUGES[kind]]
    if not values:
        return Unreadable(f"metrics: none of {' '.join(GAUGES[kind])}")
    try:
        return round(sum(float(value) for value in values))
    except ValueError:
        return Unreadable("metrics: a gauge that is no number")
