"""Tokens for Resource Manager: the host's managed identity through its metadata service, or a client's secret."""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from spoteval.clock import Now
from spoteval.machine.metadata import Metadata
from spoteval.provider.http import Api, Request
from spoteval.provider.token import Bearer, Token
from spoteval.shape import Reading, ShapeError, Unreadable

FETCH_S = 5.0
_PATH = "/metadata/identity/oauth2/token"
_NEEDED = '{"tenant": "…", "client_id": "…", "client_secret": "…"}'


def host_tokens(
    metadata: Metadata, resource: str, client_id: str | None, clock: Callable[[], Now]
) -> Bearer[str]:
    """Of the managed identity of this VM; `client_id` names one that the user assigned."""
    query = {"api-version": "2018-02-01", "resource": f"{resource}/"}
    if client_id is not None:
        query["client_id"] = client_id

    def fetch(deadline_s: float) -> Reading[Token[str]]:
        path = f"{_PATH}?{urlencode(query)}"
        told = metadata.get(path, {"Metadata": "true"}, min(FETCH_S, deadline_s))
        if isinstance(told, Unreadable):
            return told
        table = told.table()
        found = None if isinstance(table, Unreadable) else _token(table)
        return found or Unreadable(f"metadata: no token of an identity (status {told.status})")

    return Bearer(fetch, clock)


def client_tokens(
    name: str, text: str, login_url: str, resource: str, clock: Callable[[], Now]
) -> Bearer[str]:
    """Of an application's client; raises ShapeError where the file has not what it needs. Nothing of it is quoted."""
    try:
        secret: Any = json.loads(text)
        tenant, form = (
            str(secret["tenant"]),
            {
                "grant_type": "client_credentials",
                "client_id": str(secret["client_id"]),
                "client_secret": str(secret["client_secret"]),
                "scope": f"{resource}/.default",
            },
        )
    except (ValueError, TypeError, KeyError) as error:
        raise ShapeError(f'identity "{name}": the file must hold {_NEEDED}') from error
    api = Api(login_url)

    def fetch(deadline_s: float) -> Reading[Token[str]]:
        asked = Request("POST", f"/{tenant}/oauth2/v2.0/token", form=form)
        answer = api.ask(asked, deadline_s)
        if isinstance(answer, Unreadable):
            return answer
        found = _token(answer.body)
        return found or Unreadable(f"login: no token of the client (status {answer.status})")

    return Bearer(fetch, clock)


def _token(table: Any) -> Token[str] | None:
    """`expires_in` is a number at one place and its text at the other."""
    try:
        return Token(str(table["access_token"]), float(table["expires_in"]))
    except (KeyError, TypeError, ValueError):
        return None
