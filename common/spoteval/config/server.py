"""`[[server]]`: the user's own model servers."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from spoteval.config.shared import refuse_unknown
from spoteval.shape import ShapeError, Table

KINDS = ("openai",)
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """One model server that must be ready before the run resumes."""

    name: str
    unit: str
    url: str
    kind: str
    model: str
    credential: str | None
    ready_within_s: float
    restarts: int


def servers(root: Table) -> tuple[ServerSettings, ...]:
    """All `[[server]]` tables; raises ShapeError, also for two of one name."""
    found = tuple(_server(table) for table in root.tables("server"))
    names = [server.name for server in found]
    if len(set(names)) != len(names):
        raise ShapeError(f"[[server]] name: {names} are not different (give each its own)")
    return found


def _server(table: Table) -> ServerSettings:
    url = table.text("url", "http://127.0.0.1:8000").rstrip("/")
    if urlsplit(url).hostname not in _LOOPBACK:
        raise table.error(
            "url", "a loopback address (model servers are never public; use a tunnel)"
        )
    settings = ServerSettings(
        name=table.text("name", "policy"),
        unit=table.text("unit"),
        url=url,
        kind=table.choice("kind", KINDS, "openai"),
        model=table.text("model"),
        credential=table.maybe_text("credential"),
        ready_within_s=table.duration_s("ready_within", "75min"),
        restarts=table.whole("restarts", 3),
    )
    for later in ("compile_cache", "weights"):
        table.has(later)
    refuse_unknown(table)
    return settings
