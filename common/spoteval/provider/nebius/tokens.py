"""Tokens for Nebius: the host's service account through its metadata service, or a service account's key.

Source: docs.nebius.com/iam/service-accounts/authorized-keys and github.com/nebius/api (README, authentication).
"""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from spoteval.clock import Now
from spoteval.machine.metadata import Metadata
from spoteval.provider.http import Api, Request
from spoteval.provider.token import Bearer, Token
from spoteval.shape import Reading, ShapeError, Unreadable

FETCH_S = 5.0
_PATH = "/v1/iam/sa/token"
_EXCHANGE = "/oauth2/token/exchange"
_TYPES = "urn:ietf:params:oauth:token-type"
_SIGNED_FOR = timedelta(minutes=5)
_NEEDED = '{"subject-credentials": {"alg": "RS256", "private-key": "…", "kid": "…", "iss": "…", "sub": "…"}}'


def host_tokens(metadata: Metadata, clock: Callable[[], Now]) -> Bearer[str]:
    """Of the service account that is attached to this VM."""

    def fetch(deadline_s: float) -> Reading[Token[str]]:
        told = metadata.get(_PATH, {"Metadata": "true"}, min(FETCH_S, deadline_s))
        if isinstance(told, Unreadable):
            return told
        table = told.table()
        found = None if isinstance(table, Unreadable) else _token(table)
        return found or Unreadable(
            f"metadata: no token of a service account (status {told.status})"
        )

    return Bearer(fetch, clock)


def file_tokens(name: str, text: str, login_url: str, clock: Callable[[], Now]) -> Bearer[str]:
    """Of a service account's key, as `nebius iam auth-public-key generate` writes it; raises ShapeError."""
    signed = _signer(name, text)
    api = Api(login_url)

    def fetch(deadline_s: float) -> Reading[Token[str]]:
        form = {
            "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
            "requested_token_type": f"{_TYPES}:access_token",
            "subject_token": signed(clock()),
            "subject_token_type": f"{_TYPES}:jwt",
        }
        answer = api.ask(Request("POST", _EXCHANGE, form=form), deadline_s)
        if isinstance(answer, Unreadable):
            return answer
        found = _token(answer.body)
        return found or Unreadable(f"login: no token for the key (status {answer.status})")

    return Bearer(fetch, clock)


def _signer(name: str, text: str) -> Callable[[Now], str]:
    """Nothing of the file is quoted. PyJWT and its keys come with the vendor's client."""
    import jwt

    try:
        key: Any = json.loads(text)["subject-credentials"]
        own = {"iss": str(key["iss"]), "sub": str(key["sub"])}
        private, kid = str(key["private-key"]), str(key["kid"])
        jwt.encode(own, private, "RS256")
    except (ValueError, TypeError, KeyError, jwt.PyJWTError) as error:
        raise ShapeError(f'identity "{name}": the file must hold {_NEEDED}') from error

    def signed(now: Now) -> str:
        times = {"iat": now.wall, "exp": now.wall + _SIGNED_FOR}
        return str(jwt.encode(own | times, private, "RS256", headers={"kid": kid}))

    return signed


def _token(table: Any) -> Token[str] | None:
    try:
        return Token(str(table["access_token"]), float(table["expires_in"]))
    except (KeyError, TypeError, ValueError):
        return None
