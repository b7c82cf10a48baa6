"""Tokens for Google's APIs: the host's service account through its metadata server, or a key file."""

import json
from collections.abc import Callable
from typing import Any

from spoteval.clock import Now
from spoteval.machine.metadata import Metadata
from spoteval.provider.token import Bearer, Token
from spoteval.provider.within import Patience
from spoteval.shape import Reading, ShapeError, Unreadable

FETCH_S = 5.0
_PATH = "/computeMetadata/v1/instance/service-accounts/default/token"
_SCOPES = [
    "https://www.googleapis.com/auth/compute",
    "https://www.googleapis.com/auth/cloud-billing.readonly",
]
_LASTS_S = 3000.0


def host_tokens(metadata: Metadata, clock: Callable[[], Now]) -> Bearer[str]:
    """Of the service account that this VM runs as; it needs the scope `compute` or `cloud-platform`."""

    def fetch(deadline_s: float) -> Reading[Token[str]]:
        told = metadata.get(_PATH, {"Metadata-Flavor": "Google"}, min(FETCH_S, deadline_s))
        if isinstance(told, Unreadable):
            return told
        table: Any = told.table()
        try:
            return Token(str(table["access_token"]), float(table["expires_in"]))
        except (KeyError, TypeError, ValueError):
            return Unreadable(f"metadata: no token of a service account (status {told.status})")

    return Bearer(fetch, clock)


def file_tokens(name: str, text: str, clock: Callable[[], Now]) -> Bearer[str]:
    """Of a service account's key; raises ShapeError without the extra `gcp`, or where the file is none."""
    try:
        from google.auth.transport.requests import Request
        from google.oauth2.service_account import Credentials
    except ImportError as error:
        raise ShapeError(
            f'identity "{name}": a key file needs google-auth (pipx inject spoteval google-auth[requests],'
            " or apt install python3-google-auth)"
        ) from error
    try:
        credentials: Any = Credentials.from_service_account_info(json.loads(text), scopes=_SCOPES)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ShapeError(f'identity "{name}": is no key of a service account') from error
    patience = Patience()

    def fetched() -> Reading[Token[str]]:
        try:
            credentials.refresh(Request())
        except Exception as error:  # noqa: BLE001 - its errors may quote what was signed
            return Unreadable(f"key file: {type(error).__name__}")
        return Token(str(credentials.token), _LASTS_S)

    return Bearer(lambda deadline_s: patience.within(deadline_s, fetched), clock)
