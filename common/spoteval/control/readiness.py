"""Whether a model server is ready: what the run will do must work now, with the run's own path and key."""

from collections.abc import Mapping
from dataclasses import dataclass

import requests

from spoteval.clock import read_now
from spoteval.config.server import ServerSettings

_REFUSALS = (401, 403)
_NO_SUCH_ROUTE = (404, 405)  # llama-cpp-python has no /health: there the other two looks decide


@dataclass(frozen=True, slots=True)
class Patience:
    """How long each step may take, in seconds. The first completion after a load compiles kernels."""

    connect_s: float = 2.0
    answer_s: float = 5.0
    completion_s: float = 30.0


@dataclass(frozen=True, slots=True)
class Look:
    """One look at a server. `refused` = waiting changes nothing, a person must; `saw` says what was seen."""

    ready: bool
    refused: bool
    saw: str


class _NotReady(Exception):
    """What stood in the way. The text never comes from the server or from the HTTP library: it could hold a key."""

    def __init__(self, saw: str, refused: bool = False) -> None:
        super().__init__(saw)
        self.refused = refused


@dataclass(frozen=True)
class _Asking:
    """One HTTP session with one server, and the patience for it."""

    session: requests.Session
    server: ServerSettings
    patience: Patience

    def get(self, path: str) -> requests.Response:
        return self._ask("GET", path, self.patience.answer_s, None)

    def post(self, path: str, body: Mapping[str, object]) -> requests.Response:
        return self._ask("POST", path, self.patience.completion_s, body)

    def _ask(
        self, verb: str, path: str, within_s: float, body: Mapping[str, object] | None
    ) -> requests.Response:
        """One request, no redirects. Raises _NotReady for no answer and for a refused key."""
        name = path.rpartition("/")[2]
        timeout = (self.patience.connect_s, within_s)
        try:
            answer = self.session.request(
                verb, self.server.url + path, timeout=timeout, json=body, allow_redirects=False
            )
        except requests.ConnectTimeout:
            raise _NotReady(f"no connection within {self.patience.connect_s:g} s") from None
        except requests.Timeout:
            raise _NotReady(f"{name}: no answer within {within_s:g} s") from None
        except requests.ConnectionError as error:
            raise _NotReady(_connection(error)) from None
        except requests.RequestException as error:
            raise _NotReady(f"{name}: {type(error).__name__}") from None
        if answer.status_code in _REFUSALS:
            raise _NotReady(f"{name} {answer.status_code}: the key is refused", refused=True)
        return answer


def look_at(server: ServerSettings, key: str | None, patience: Patience = Patience()) -> Look:
    """Ready = healthy, AND the model is served, AND it completes one token, by the same path and key as the run.

    An open port says nothing: servers answer before their weights are there. Never raises for what a server does.
    """
    with requests.Session() as session:
        session.trust_env = False  # a proxy or a .netrc of the host has no part in loopback
        if key is not None:
            session.headers["Authorization"] = f"Bearer {key}"
        try:
            saw = _saw(_Asking(session, server, patience))
            return Look(ready=True, refused=False, saw=saw)
        except _NotReady as error:
            return Look(ready=False, refused=error.refused, saw=str(error))


def _saw(asking: _Asking) -> str:
    health, model = asking.get("/health").status_code, asking.server.model
    if health != 200 and health not in _NO_SUCH_ROUTE:
        raise _NotReady(f"health {health}")
    models = asking.get("/v1/models")
    if models.status_code != 200:
        raise _NotReady(f"models {models.status_code}")
    if model not in (served := _served(models)):
        raise _NotReady(f'serves {", ".join(served) or "no model"}, not "{model}"')
    return f"health {health}, {model} served, one completion in {_complete_s(asking):.1f} s"


def _served(answer: requests.Response) -> list[str]:
    entries = _record(answer).get("data")
    found = entries if isinstance(entries, list) else []
    return [str(entry.get("id")) for entry in found if isinstance(entry, dict)]


def _complete_s(asking: _Asking) -> float:
    """Seconds of one completion of one token."""
    question = {
        "model": asking.server.model,
        "messages": [{"role": "user", "content": "1"}],
        "max_tokens": 1,
        "temperature": 0,
    }
    began = read_now()
    answer = asking.post("/v1/chat/completions", question)
    if answer.status_code != 200:
        raise _NotReady(f"completion {answer.status_code}")
    if not _record(answer).get("choices"):
        raise _NotReady("completion 200 without a choice")
    return read_now().mono_s - began.mono_s


def _connection(error: requests.ConnectionError) -> str:
    return "connection refused" if "refused" in str(error) else "connection broken off"


def _record(answer: requests.Response) -> dict[str, object]:
    try:
        value = answer.json()
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
