"""Access keys for EC2: the host's role through its metadata service, its environment, or a credential file."""

from collections.abc import Callable
from typing import Any

import botocore.session
from botocore.credentials import (
    CredentialProvider,
    CredentialResolver,
    Credentials,
    ReadOnlyCredentials,
    create_credential_resolver,
)
from botocore.exceptions import BotoCoreError, CredentialRetrievalError

from spoteval.clock import Now, parse_stamp
from spoteval.machine.metadata import Metadata
from spoteval.provider.token import Bearer, Token
from spoteval.settings.access_keys import AccessKeys
from spoteval.shape import Reading, Unreadable

FETCH_S = 5.0
_LONG_S = 3600.0
_TTL = {"X-aws-ec2-metadata-token-ttl-seconds": "300"}
_ROLES = "/latest/meta-data/iam/security-credentials/"
Keys = Bearer[ReadOnlyCredentials]


def role_keys(metadata: Metadata, clock: Callable[[], Now]) -> Keys:
    """Of this host: what botocore finds in environment and files, else the instance's role.

    botocore would ask for the role through a proxy of the environment; here nothing stands between.
    """

    def fetch(deadline_s: float) -> Reading[Token[ReadOnlyCredentials]]:
        found = _of_environment()
        if found is not None:
            return Token(found, _LONG_S)
        return _of_role(metadata, min(FETCH_S, deadline_s), clock())

    return Bearer(fetch, clock)


def file_keys(read: Callable[[], AccessKeys], clock: Callable[[], Now]) -> Keys:
    """Of a credential file, read again after they were refused: who replaces it need not restart anything."""

    def fetch(deadline_s: float) -> Reading[Token[ReadOnlyCredentials]]:  # noqa: ARG001
        try:
            keys = read()
        except Exception as error:  # noqa: BLE001 - whatever the owner of the secrets raises
            return Unreadable(f"access keys: {type(error).__name__}")
        found = ReadOnlyCredentials(keys.access_key_id, keys.secret_access_key, keys.session_token)
        return Token(found, _LONG_S)

    return Bearer(fetch, clock)


def session_with(keys: Keys) -> botocore.session.Session:
    """A session whose every request is signed with the keys as they are then."""
    session = botocore.session.get_session()
    session.register_component("credential_provider", CredentialResolver([_Only(keys)]))
    return session


class _Signs(Credentials):
    """What a signer asks for the keys, for each request anew."""

    def __init__(self, keys: Keys) -> None:
        super().__init__("", "", None, "spoteval")
        self._keys = keys

    def get_frozen_credentials(self) -> ReadOnlyCredentials:
        """Raises CredentialRetrievalError where there are none."""
        found = self._keys.value(FETCH_S)
        if isinstance(found, Unreadable):
            raise CredentialRetrievalError(provider=self.method, error_msg=found.why)
        return found


class _Only(CredentialProvider):
    METHOD = "spoteval"

    def __init__(self, keys: Keys) -> None:
        super().__init__()
        self._keys = keys

    def load(self) -> Any:
        return _Signs(self._keys)


def _of_environment() -> ReadOnlyCredentials | None:
    session = botocore.session.get_session()
    resolver = create_credential_resolver(session)
    resolver.remove("iam-role")
    try:
        found = resolver.load_credentials()
        return found.get_frozen_credentials() if found is not None else None
    except BotoCoreError:
        return None


def _of_role(
    metadata: Metadata, deadline_s: float, now: Now
) -> Reading[Token[ReadOnlyCredentials]]:
    """IMDSv2: a token, the role's name, its keys."""
    token = metadata.ask("PUT", "/latest/api/token", _TTL, deadline_s)
    if isinstance(token, Unreadable):
        return token
    shown = {"X-aws-ec2-metadata-token": token.text}
    role = metadata.get(_ROLES, shown, deadline_s)
    if isinstance(role, Unreadable) or role.status != 200:
        return Unreadable("metadata: this host has no role (or its hop limit is 1)")
    told = metadata.get(_ROLES + role.text.split("\n")[0].strip(), shown, deadline_s)
    if isinstance(told, Unreadable):
        return told
    table: Any = told.table()
    try:
        found = ReadOnlyCredentials(table["AccessKeyId"], table["SecretAccessKey"], table["Token"])
        lasts_s = (parse_stamp(table["Expiration"]) - now.wall).total_seconds()
    except (KeyError, TypeError, ValueError):
        return Unreadable("metadata: the role's keys are not understood")
    return Token(found, max(0.0, lasts_s))
