"""Whether a model server is ready: what the run will do must work now, with the run's own path and key."""

from dataclasses import dataclass

import requests

from spoteval.clock import read_now
from spoteval.config.server import ServerSettings
from spoteval.control.asking import Asking, NotReady, Patience, record_of, session_with
from spoteval.control.server_kinds import SERVER_KINDS, ServerKind

PATIENCE = Patience()
_NO_SUCH_ROUTE = (404, 405)
_BROKEN = 500
_NO_CHAT = (400, 404, 405, 422, 501)  # a base model has no chat template: the run asks it otherwise
_LATEST = ":latest"  # what Ollama adds to a name without a tag


@dataclass(frozen=True, slots=True)
class Look:
    """One look at a server. `refused` = waiting changes nothing, a person must; `saw` says what was seen."""

    ready: bool
    refused: bool
    saw: str
    version: str | None = None


def look_at(server: ServerSettings, key: str | None, patience: Patience = PATIENCE) -> Look:
    """Ready = healthy by the kind's own route, AND the model is served, AND it completes one token.

    By the same path and key as the run. An open port says nothing: servers answer before their weights are there.
    Never raises for what a server does.
    """
    kind = SERVER_KINDS[server.kind]
    with session_with(key) as session:
        asking = Asking(session, server.url, patience)
        try:
            saw = _saw(asking, server, kind)
            return Look(ready=True, refused=False, saw=saw, version=_version(asking, kind))
        except NotReady as error:
            return Look(ready=False, refused=error.refused, saw=str(error))


def sickness(server: ServerSettings, key: str | None, patience: Patience = PATIENCE) -> str | None:
    """What shows that a server which was ready is no server any more: nobody listens, or it says so itself.

    None where it is well and where nobody can tell: one that is busy may be slow to answer, and that is no death.
    """
    with session_with(key) as session:
        asking = Asking(session, server.url, patience)
        try:
            status = asking.get(SERVER_KINDS[server.kind].watch).status_code
        except NotReady as error:
            return str(error) if error.absent else None
    return f"health {status}" if status >= _BROKEN else None


def _saw(asking: Asking, server: ServerSettings, kind: ServerKind) -> str:
    health = _health(asking, server, kind)
    _must_serve(asking, server.model, kind)
    if kind.loaded is not None:
        _load(asking, server.model, kind.loaded)
    path, took_s = _completed(asking, server.model)
    return f"{health}{server.model} served, one {path} in {took_s:.1f} s"


def _health(asking: Asking, server: ServerSettings, kind: ServerKind) -> str:
    """The first words of what was seen. A route that this kind has and this server has not: another kind serves."""
    if kind.health is None:
        return ""
    status = asking.get(kind.health, generates=kind.generates).status_code
    if status in _NO_SUCH_ROUTE and kind.health_optional:
        return ""
    if status in _NO_SUCH_ROUTE:
        raise NotReady(f"health {status}: no {server.kind} server answers here", refused=True)
    if status != 200:
        raise NotReady(f"health {status}")
    return "health 200, "


def _must_serve(asking: Asking, model: str, kind: ServerKind) -> None:
    """A list is fixed when a server starts: one without the model will not have it later. An empty one may."""
    answer = asking.get(kind.models)
    if answer.status_code != 200:
        raise NotReady(f"models {answer.status_code}")
    served = _names(answer, "data", "id")
    if not _among(model, served):
        names = ", ".join(served) or "no model"
        raise NotReady(f'serves {names}, not "{model}"', refused=bool(served))


def _load(asking: Asking, model: str, loaded: str) -> None:
    """Have it loaded and kept, by a chat of one token: an empty prompt loads too, and tries nothing."""
    question = {
        "model": model,
        "messages": [{"role": "user", "content": "1"}],
        "stream": False,
        "keep_alive": -1,
        "options": {"num_predict": 1},
    }
    answer = asking.post("/api/chat", question)
    if answer.status_code != 200:
        raise NotReady(f"chat {answer.status_code}")
    if not _among(model, _names(asking.get(loaded), "models", "name")):
        raise NotReady("not in memory after a chat")


def _completed(asking: Asking, model: str) -> tuple[str, float]:
    """Which path answered, and its seconds for one token."""
    limits = {"model": model, "max_tokens": 1, "temperature": 0}
    began = read_now()
    chat = [{"role": "user", "content": "1"}]
    answer = asking.post("/v1/chat/completions", {**limits, "messages": chat})
    path = "completion"
    if answer.status_code in _NO_CHAT:
        plain = asking.post("/v1/completions", {**limits, "prompt": "1"})
        if plain.status_code == 200:
            answer, path = plain, "completion without chat"
    if answer.status_code != 200:
        raise NotReady(f"completion {answer.status_code}")
    if not record_of(answer).get("choices"):
        raise NotReady("completion 200 without a choice")
    return path, read_now().mono_s - began.mono_s


def _version(asking: Asking, kind: ServerKind) -> str | None:
    """What the server says of itself; None where it says nothing, which is no reason to wait."""
    if kind.version is None:
        return None
    path, name = kind.version
    try:
        answer = asking.get(path)
    except NotReady:
        return None
    found = record_of(answer).get(name) if answer.status_code == 200 else None
    return found[:80] if isinstance(found, str) and found.isprintable() else None


def _names(answer: requests.Response, listed: str, name: str) -> list[str]:
    entries = record_of(answer).get(listed)
    found = entries if isinstance(entries, list) else []
    return [str(entry.get(name)) for entry in found if isinstance(entry, dict)]


def _among(model: str, names: list[str]) -> bool:
    return model in names or f"{model}{_LATEST}" in names
