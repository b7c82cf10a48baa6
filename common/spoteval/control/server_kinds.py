"""What each kind of model server is asked before it counts as ready: a table, since they differ in nothing else.

The reasons are the early answers of each: see docs/servers.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass

MODELS = "/v1/models"


@dataclass(frozen=True, slots=True)
class ServerKind:
    """Paths of one kind of server.

    `health` must answer 200, None where there is no such route; with `health_optional` a missing route is no verdict.
    `generates`: the health route runs the model, so it may take as long as a completion. `loaded`: the list of models
    that are in memory, for servers that load at the first request. `version` is a path and the key in its answer.
    """

    health: str | None = "/health"
    health_optional: bool = False
    generates: bool = False
    models: str = MODELS
    loaded: str | None = None
    version: tuple[str, str] | None = None
    watch: str = "/health"
    """What is asked while the run works: it costs the model nothing."""


SERVER_KINDS: Mapping[str, ServerKind] = {
    # The port opens after load and capture; afterwards /health says only that the engine's process lives.
    "vllm": ServerKind(version=("/version", "version")),
    # /v1/models and an open port come before the warm-up; this one route really generates.
    "sglang": ServerKind(
        health="/health_generate", generates=True, version=("/server_info", "version")
    ),
    # /v1/models may list the model while it loads: /health is 503 until then.
    "llama.cpp": ServerKind(version=("/props", "build_info")),
    # No health route at all: 404 for ever.
    "llama-cpp-python": ServerKind(health=None, watch=MODELS),
    # The first question makes the router run a prefill of one token.
    "tgi": ServerKind(generates=True, version=("/info", "version")),
    # Every list is 200 with no model in memory; it is loaded by the first request and dropped after five minutes.
    "ollama": ServerKind(
        health="/api/version",
        loaded="/api/ps",
        version=("/api/version", "version"),
        watch="/api/version",
    ),
    # Anything else that speaks the protocol.
    "openai": ServerKind(health_optional=True),
}
