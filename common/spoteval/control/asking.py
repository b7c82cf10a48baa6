"""Questions to a model server over HTTP: each with its deadline, no redirect, and no text of the server's repeated."""

from collections.abc import Mapping
from dataclasses import dataclass

import requests

_REFUSALS = (401, 403)


@dataclass(frozen=True, slots=True)
class Patience:
    """How long each step may take, in seconds. The first completion after a load compiles kernels."""

    connect_s: float = 2.0
    answer_s: float = 5.0
    completion_s: float = 30.0


def session_with(key: str | None) -> requests.Session:
    """A session with one model server; a proxy or a .netrc of the host has no part in loopback."""
    session = requests.Session()
    session.trust_env = False
    if key is not None:
        session.headers["Authorization"] = f"Bearer {key}"
    return session


class NotReady(Exception):
    """What stood in the way; `refused`: waiting does not mend it; `absent`: nobody listens.

    The text never comes from the server or from the HTTP library: it could hold a key.
    """

    def __init__(self, saw: str, refused: bool = False, absent: bool = False) -> None:
        super().__init__(saw)
        self.refused, self.absent = refused, absent


@dataclass(frozen=True)
class Asking:
    """One HTTP session with one server, and the patience for it. Raises NotReady for no answer and a refused key."""

    session: requests.Session
    url: str
    patience: Patience

    def get(self, path: str, generates: bool = False) -> requests.Response:
        """GET; with `generates` it may take as long as a completion."""
        within_s = self.patience.completion_s if generates else self.patience.answer_s
        return self._ask("GET", path, within_s, None)

    def post(self, path: str, body: Mapping[str, object]) -> requests.Response:
        """POST a question to the model."""
        return self._ask("POST", path, self.patience.completion_s, body)

    def _ask(
        self, verb: str, path: str, within_s: float, body: Mapping[str, object] | None
    ) -> requests.Response:
        name = path.rpartition("/")[2]
        timeout = (self.patience.connect_s, within_s)
        try:
            answer = self.session.request(
                verb, self.url + path, timeout=timeout, json=body, allow_redirects=False
            )
        except requests.ConnectTimeout:
            raise NotReady(f"no connection within {self.patience.connect_s:g} s") from None
        except requests.Timeout:
            raise NotReady(f"{name}: no answer within {within_s:g} s") from None
        except requests.ConnectionError as error:
            absent = "refused" in str(error)
            saw = "connection refused" if absent else "connection broken off"
            raise NotReady(saw, absent=absent) from None
        except requests.RequestException as error:
            raise NotReady(f"{name}: {type(error).__name__}") from None
        if answer.status_code in _REFUSALS:
            raise NotReady(f"{name} {answer.status_code}: the key is refused", refused=True)
        return answer


def record_of(answer: requests.Response) -> dict[str, object]:
    """The JSON object of an answer; empty where it is none."""
    try:
        value = answer.json()
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
