"""One HTTPS API: a call is one request with one deadline, and its errors hold nothing of what was sent."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter

from spoteval import __version__
from spoteval.clock import monotonic_s
from spoteval.provider.contract import ReplyKind, unanswered
from spoteval.provider.within import Patience
from spoteval.shape import Reading, Unreadable

KIND_OF_STATUS: Mapping[int, ReplyKind] = {
    401: "auth",
    403: "auth",
    404: "gone",
    409: "conflict",
    429: "rate",
}
"""What a status says by itself, at every cloud."""
MOST_BYTES = 32 * 1024 * 1024
"""A list of prices has 10 MB; an answer without end is none."""
CONNECT_S = 8.0
_CONNECTIONS = 16  # a lane of the restarter has so many threads
_CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked. `token` goes into a header that no error, line or representation shows."""

    method: str
    path: str  # below the API's address, or a whole URL that the API itself gave
    params: Mapping[str, str] = field(default_factory=dict)
    body: object = None
    form: Mapping[str, str] | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, headers (any case), and the JSON in the body: None where it is empty."""

    status: int
    headers: Mapping[str, str]
    body: Reading[Any]

    @property
    def ok(self) -> bool:
        """2xx."""
        return 200 <= self.status < 300

    @property
    def retry_after_s(self) -> float | None:
        """How long to leave it alone, where it says so in seconds."""
        text = self.headers.get("Retry-After", "")
        return float(text) if text.isdecimal() and len(text) < 6 else None


class Api:
    """One address. Kept connections, no retries, no redirects, proxies and certificates as the environment has them.

    A `.netrc` is never read: it would put its own word in the place of the token.
    """

    def __init__(
        self,
        address: str,
        patience: Patience | None = None,
        clock: Callable[[], float] = monotonic_s,
    ) -> None:
        self._address = address.rstrip("/")
        self._patience = patience if patience is not None else Patience()
        self._clock = clock
        self._session = requests.Session()
        adapter = HTTPAdapter(pool_maxsize=_CONNECTIONS, max_retries=0)
        for scheme in ("https://", "http://"):
            self._session.mount(scheme, adapter)
        self._session.headers["User-Agent"] = f"spoteval/{__version__}"
        self._session.cookies.set_policy(_NoCookies())

    @property
    def host(self) -> str:
        """Whose errors these are."""
        return urlsplit(self._address).netloc

    def ask(self, request: Request, deadline_s: float) -> Reading[Answer]:
        """Exactly one request, and its answer whatever its status; Unanswered where none came in time."""
        until_s = self._clock() + deadline_s
        return self._patience.within(deadline_s, lambda: self._asked(request, until_s))

    def _asked(self, request: Request, until_s: float) -> Reading[Answer]:
        left_s = max(0.001, until_s - self._clock())
        try:
            with self._session.request(
                request.method,
                self._url(request.path),
                params=dict(request.params),
                json=request.body,
                data=request.form,
                headers=dict(request.headers),
                auth=_Bearer(request.token),
                timeout=(min(CONNECT_S, left_s), left_s),
                allow_redirects=False,
                stream=True,
            ) as response:
                raw = self._body(response, until_s)
                if isinstance(raw, Unreadable):
                    return raw
                return Answer(response.status_code, response.headers, _parsed(raw))
        except requests.Timeout:
            return unanswered("timeout", f"{self.host} did not answer")
        except (requests.RequestException, OSError, ValueError) as error:
            return unanswered("unknown", f"{self.host}: {_said(error)}")

    def _body(self, response: requests.Response, until_s: float) -> Reading[bytes]:
        """A body that drips on is as late as one that never came."""
        found = bytearray()
        for chunk in response.iter_content(_CHUNK):
            found += chunk
            if len(found) > MOST_BYTES:
                return unanswered("unknown", f"{self.host}: more than {MOST_BYTES >> 20} MB")
            if self._clock() > until_s:
                return unanswered("timeout", f"{self.host} did not end its answer")
        return bytes(found)

    def _url(self, path: str) -> str:
        """A token goes to the API's own host alone, whatever an answer names as the next page."""
        if not path.startswith(("http://", "https://")):
            return f"{self._address}{path}"
        own, given = urlsplit(self._address), urlsplit(path)
        if (own.scheme, own.netloc) != (given.scheme, given.netloc):
            raise ValueError("an address of another host")
        return path


class _Bearer(requests.auth.AuthBase):
    """Also without a token it is this that signs, and not a `.netrc`."""

    def __init__(self, token: str | None) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._token is not None:
            request.headers["Authorization"] = f"Bearer {self._token}"
        return request


class _NoCookies(requests.cookies.cookielib.DefaultCookiePolicy):  # type: ignore[misc,name-defined]
    def set_ok(self, cookie: Any, request: Any) -> bool:  # noqa: ARG002
        return False


def _parsed(raw: bytes) -> Reading[Any]:
    if not raw.strip():
        return None
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return Unreadable("the answer is no JSON")


def _said(error: Exception) -> str:
    """The kind of the failure. Its text may quote the URL, and with it a key."""
    if isinstance(error, requests.exceptions.SSLError):
        return "its certificate is not trusted"
    if isinstance(error, requests.exceptions.ProxyError):
        return "the proxy does not let it through"
    if isinstance(error, requests.ConnectionError):
        return "no connection"
    if isinstance(error, requests.RequestException):
        return type(error).__name__
    return "an address of another host" if isinstance(error, ValueError) else type(error).__name__
