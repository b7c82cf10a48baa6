"""`[[server]]`: the user's own model servers."""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from spoteval.settings.keys import Kind, key, read
from spoteval.settings.kinds import ABSOLUTE_TEXT, DURATION, NAME, TEXT, choice, same, whole
from spoteval.shape import ShapeError, Table

KINDS = ("vllm", "sglang", "llama.cpp", "llama-cpp-python", "tgi", "ollama", "openai")
"""What readiness knows: docs/servers.md says what each is asked."""
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def _loopback(table: Table, name: str) -> str:
    url = table.text(name).rstrip("/")
    if _host(url) not in _LOOPBACK:
        raise table.error(name, "a loopback address (model servers are never public; use a tunnel)")
    return url


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


LOOPBACK = Kind(_loopback, same, {"type": "string", "format": "uri"}, "URL")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """One model server; all must be ready before the run resumes."""

    name: str = field(default="policy", metadata=key(NAME, "in lines and events"))
    unit: str = field(metadata=key(TEXT, "your own unit; spoteval never edits it"))
    url: str = field(default="http://127.0.0.1:8000", metadata=key(LOOPBACK, "a loopback address"))
    kind: str = field(default="vllm", metadata=key(choice(*KINDS), "what serves the model"))
    model: str = field(metadata=key(TEXT, "the served name that must answer"))
    credential: str | None = field(
        default=None,
        metadata=key(TEXT, "file of the API key, the same that the run uses"),
    )
    ready_within_s: float = field(
        default=4500.0, metadata=key(DURATION, "then boot-resume reports")
    )
    restarts: int = field(
        default=3, metadata=key(whole(0), "failed starts in one boot, then hold and report")
    )
    compile_cache: str | None = field(
        default=None,
        metadata=key(ABSOLUTE_TEXT, "moved aside once before the last of these starts"),
    )
    weights: str | None = field(
        default=None, metadata=key(ABSOLUTE_TEXT, "held against SHA256SUMS there, if present")
    )


def servers(root: Table) -> tuple[ServerSettings, ...]:
    """All `[[server]]` tables; raises ShapeError, also for two of one name."""
    found = tuple(read(ServerSettings, table) for table in root.tables("server"))
    names = [server.name for server in found]
    if len(set(names)) != len(names):
        raise ShapeError(f"[[server]] name: {names} are not different (give each its own)")
    return found
