"""The client of an S3 service: one attempt a call, plain bodies with their digests, conditions by any version."""

import encodings.idna  # noqa: F401 - the first look-up of a name would load it, after the service is ready
import ipaddress
import os
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError

from spoteval import __version__
from spoteval.store.contract import StoreError
from spoteval.store.place import S3Place

Client = Any  # botocore makes its methods from a model at run time

CONNECT_S, READ_S = 4.0, 8.0
"""Longest silence of a socket: so short that one more try fits into a call's 20 s."""
REMADE_AFTER_S = 30.0
_SMALL_BYTES = 1 << 20
CONDITION = "If-None-Match"
_CONNECTIONS = 32  # a lane of the restarter has 16 threads
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")  # botocore reads them since 1.31


class Kept:
    """A store's one client. It is made anew, with the key as it then is, after the key was refused.

    `conditional`: puts are create-only; false once the service has shown that it knows no condition.
    """

    def __init__(self, place: S3Place, url: str, clock: Callable[[], float]) -> None:
        """Raises ValueError where no client can be made."""
        self._place, self._url, self._clock = place, url, clock
        self.conditional = True
        self._parameter: Mapping[str, str] = {}
        self._client: Client | None = None
        self._made_s = 0.0
        self._make()

    @property
    def condition(self) -> Mapping[str, str]:
        """What to pass to `put_object` at the moment."""
        return self._parameter if self.conditional else {}

    def client(self) -> Client:
        """The client; raises StoreError."""
        try:
            return self._client or self._make()
        except ValueError as error:
            raise StoreError(str(error)) from error

    def drop(self) -> None:
        """The key was refused; making a client takes 0.2 s, hence now and then."""
        if self._clock() - self._made_s >= REMADE_AFTER_S:
            self._client = None

    def use_header(self) -> None:
        """Add the condition before a put is signed: for a botocore without a parameter for it (before 1.35.2)."""

        def add(request: Any, **_: object) -> None:
            if self.conditional and CONDITION not in request.headers:  # assigning adds a second
                request.headers[CONDITION] = "*"

        self._parameter = {}
        self.client().meta.events.register("before-sign.s3.PutObject", add)

    def _make(self) -> Client:
        self._made_s = self._clock()
        client = self._client = make_client(self._place, self._url)
        client.meta.events.register("before-sign.s3.PutObject", _send_at_once)
        shape = client.meta.service_model.operation_model("PutObject").input_shape
        if "IfNoneMatch" in shape.members:
            self._parameter = {"IfNoneMatch": "*"}
        else:
            self.use_header()
        return client


def make_client(place: S3Place, url: str) -> Client:
    """A client for one store; sends nothing. Raises ValueError with one line that holds no secret."""
    keys = place.keys()
    endpoint = place.endpoint_url or next(filter(None, map(os.environ.get, _ENDPOINTS)), None)
    region = place.region or os.environ.get("AWS_REGION")
    try:
        session = botocore.session.get_session()
        return session.create_client(
            "s3",
            region_name=region or session.get_config_variable("region") or "us-east-1",
            endpoint_url=endpoint,
            aws_access_key_id=keys.access_key_id if keys else None,
            aws_secret_access_key=keys.secret_access_key if keys else None,
            aws_session_token=keys.session_token if keys else None,
            config=_config(endpoint),
        )
    except (BotoCoreError, ValueError) as error:
        # Its text may quote what it found in a file of keys: the kind alone says enough.
        raise ValueError(
            f'"{url}": no client can be made: {type(error).__name__}'
            f" (endpoint_url {endpoint or 'of AWS'}; is AWS_PROFILE right?)"
        ) from None


def _send_at_once(request: Any, **_: object) -> None:
    """Small bodies go with their headers: to be asked for them costs a round trip, or a second where nobody asks."""
    if int(request.headers.get("Content-Length") or 0) <= _SMALL_BYTES:
        del request.headers["Expect"]


def _config(endpoint: str | None) -> Config:
    options: dict[str, Any] = {
        "connect_timeout": CONNECT_S,
        "read_timeout": READ_S,
        "retries": {"total_max_attempts": 1},
        "signature_version": "s3v4",
        "max_pool_connections": _CONNECTIONS,
        "user_agent_extra": f"spoteval/{__version__}",
    }
    if endpoint is not None and _needs_path(endpoint):
        options["s3"] = {"addressing_style": "path"}
    # Since 1.36 botocore adds a checksum of its own, over TLS as a trailer that many stores refuse or store.
    for option in ("request_checksum_calculation", "response_checksum_validation"):
        if option in Config.OPTION_DEFAULTS:
            options[option] = "when_required"
    return Config(**options)


def _needs_path(endpoint: str) -> bool:
    """Whether no name of a bucket can stand before this host: an address, loopback, a name without a dot."""
    host = urlsplit(endpoint).hostname or ""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host.endswith(".localhost")
    return True
