"""What a store in a bucket keeps: its key, its connections, and for what is rare a client of botocore."""

import encodings.idna  # noqa: F401 - the first look-up of a name would load it, after the service is ready
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Any

import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError

from spoteval import __version__
from spoteval.clock import Now
from spoteval.store.contract import StoreError
from spoteval.store.http_exchange import READ_S
from spoteval.store.http_route import CONNECT_S
from spoteval.store.http_wire import Pool
from spoteval.store.place import S3Place
from spoteval.store.s3_address import endpoint_of, needs_path, region_of
from spoteval.store.s3_errors import unmade
from spoteval.store.s3_signer import Signer
from spoteval.store.url import bucket_and_prefix

Client = Any  # botocore makes its methods from a model at run time

REMADE_AFTER_S = 30.0
_CONNECTIONS = 32  # a lane of the restarter has 16 threads


class Kept:
    """A store's key and clients. They are made anew, with the key as it then is, after the key was refused.

    `conditional`: puts are create-only; false once the service has shown that it knows no condition. `ahead_s`: by
    how much the service's clock is ahead of this host's, where it refused a signature for that.
    """

    def __init__(self, place: S3Place, url: str, clock: Callable[[], float]) -> None:
        """Raises ValueError where no key can be read."""
        self._place, self._url, self._clock = place, url, clock
        self.conditional = True
        self.ahead_s = 0.0
        self._client: Client | None = None
        self._making = Lock()
        self._signer: Signer | None = None
        self._made_s = 0.0
        self._wall = (-1e9, datetime.min.replace(tzinfo=UTC))
        self.pool = Pool(self._sign().route, clock)

    def client(self) -> Client:
        """The client for what is rare, made when it is first wanted; raises StoreError.

        One for all threads that want it at once: each takes 0.2 s of processor time and 5 MB.
        """
        try:
            with self._making:
                self._client = self._client or make_client(self._place, self._url)
                return self._client
        except ValueError as error:
            raise StoreError(str(error)) from error

    def signer(self) -> Signer:
        """Of the hot path; raises StoreError."""
        try:
            return self._signer or self._sign()
        except ValueError as error:
            raise StoreError(str(error)) from error

    def moment(self, clock: Callable[[], Now]) -> datetime:
        """The service's time to a second: the host's clock, which is asked once a second, and what it is off."""
        now_s = self._clock()
        at_s, wall = self._wall
        if not 0.0 <= now_s - at_s < 1.0:
            at_s, wall = self._wall = now_s, clock().wall
        return wall + timedelta(seconds=self.ahead_s)

    def drop(self) -> None:
        """The key was refused; to find another may take a second, hence now and then."""
        if self._clock() - self._made_s >= REMADE_AFTER_S:
            self._client = self._signer = None

    def _sign(self) -> Signer:
        self._made_s = self._clock()
        self._signer = Signer(self._place, self._url, bucket_and_prefix(self._url)[0])
        return self._signer


def make_client(place: S3Place, url: str) -> Client:
    """A client for one store; sends nothing. Raises ValueError with one line that holds no secret."""
    keys = place.keys()
    endpoint = endpoint_of(place)
    try:
        session = botocore.session.get_session()
        return session.create_client(
            "s3",
            region_name=region_of(place, session),
            endpoint_url=endpoint,
            aws_access_key_id=keys.access_key_id if keys else None,
            aws_secret_access_key=keys.secret_access_key if keys else None,
            aws_session_token=keys.session_token if keys else None,
            config=_config(endpoint),
        )
    except (BotoCoreError, ValueError, OSError) as error:
        raise unmade(url, endpoint, error) from None


def _config(endpoint: str | None) -> Config:
    options: dict[str, Any] = {
        "connect_timeout": CONNECT_S,
        "read_timeout": READ_S,
        "retries": {"total_max_attempts": 1},
        "signature_version": "s3v4",
        "max_pool_connections": _CONNECTIONS,
        "user_agent_extra": f"spoteval/{__version__}",
    }
    if endpoint is not None and needs_path(endpoint):
        options["s3"] = {"addressing_style": "path"}
    # Since 1.36 botocore adds a checksum of its own, over TLS as a trailer that many stores refuse or store.
    for option in ("request_checksum_calculation", "response_checksum_validation"):
        if option in Config.OPTION_DEFAULTS:
            options[option] = "when_required"
    return Config(**options)
