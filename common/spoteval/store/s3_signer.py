"""Requests of the hot path: where they go, and botocore's own signature on them, by a clock that may be corrected."""

import base64
import hmac
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast
from urllib.parse import quote, unquote, urlsplit

import botocore.session
from botocore.auth import S3SigV4Auth
from botocore.exceptions import BotoCoreError, NoCredentialsError
from botocore.httpsession import get_cert_path
from botocore.utils import get_environ_proxies

from spoteval import __version__
from spoteval.store.http_route import Route
from spoteval.store.place import S3Place
from spoteval.store.s3_address import address_of
from spoteval.store.s3_errors import unmade

_AGENT = f"spoteval/{__version__}"
_DATE = "%Y%m%dT%H%M%SZ"


@dataclass(slots=True)
class _Request:
    """What the signer asks of a request. botocore's own headers are messages of `email`, half a signature's cost."""

    method: str
    url: str
    headers: dict[str, str]
    context: dict[str, str]
    params: None = None
    body: None = None
    lower: dict[str, str] | None = None
    """The headers that are signed, once they are asked for."""


class _Auth(S3SigV4Auth):  # type: ignore[misc, unused-ignore]
    """The signer, told the digest of the body (it is known already) and the time (the host's clock may be off)."""

    _day_key: tuple[str, bytes] = ("", b"")

    def _sign(self, key: bytes, msg: str, hex: bool = False) -> Any:  # noqa: A002 - as inherited
        """As the inherited method, in one call of OpenSSL."""
        signed = hmac.digest(key, msg.encode(), "sha256")
        return signed.hex() if hex else signed

    def signature(self, string_to_sign: str, request: Any) -> str:
        """As the inherited method; the key of a day is derived once."""
        signer: Any = self
        day, day_key = request.context["timestamp"][:8], self._day_key  # which threads share
        if day_key[0] != day:
            key = self._sign(f"AWS4{self.credentials.secret_key}".encode(), day)
            for word in (signer._region_name, signer._service_name, "aws4_request"):
                key = self._sign(key, word)
            day_key = self._day_key = day, key
        return str(self._sign(day_key[1], string_to_sign, hex=True))

    def payload(self, request: Any) -> str:
        """The digest, as the caller took it."""
        return str(request.context["sha256"])

    def headers_to_sign(self, request: Any) -> Any:
        """All of them, and the host, in their order; asked for twice a signature."""
        if request.lower is None:
            lower = {name.lower(): value for name, value in request.headers.items()}
            lower["host"] = request.context["host"]
            request.lower = dict(sorted(lower.items()))
        return request.lower

    def canonical_headers(self, headers_to_sign: Any) -> str:
        """As the inherited method, of headers that are there once, in lower case and in order."""
        return "\n".join(
            [
                f"{name}:{' '.join(value.split()) if ' ' in value else value}"
                for name, value in headers_to_sign.items()
            ]
        )

    def signed_headers(self, headers_to_sign: Any) -> str:
        """The same of the names."""
        return ";".join(headers_to_sign)

    def canonical_request(self, request: Any) -> str:
        """As the inherited method, which would take the address apart that was put together for it."""
        path, _, query = request.context["target"].partition("?")
        headers, signer = self.headers_to_sign(request), cast("Any", self)
        lines = [
            request.method,
            path,
            signer.canonical_query_string(request) if query else "",
            self.canonical_headers(headers),
            "",
            self.signed_headers(headers),
            self.payload(request),
        ]
        return "\n".join(lines)

    def add_auth(self, request: Any) -> None:
        """As the inherited method, which would ask the host's clock."""
        signer: Any = self  # the stubs leave out what subclasses of botocore's own use
        signer._modify_request_before_signing(request)
        to_sign = signer.string_to_sign(request, signer.canonical_request(request))
        signer._inject_signature_to_request(request, signer.signature(to_sign, request))


class Signer:
    """Heads of requests for one bucket, with the key as it was when this was made."""

    def __init__(self, place: S3Place, url: str, bucket: str) -> None:
        """Raises ValueError with one line that holds no secret."""
        keys = place.keys()
        try:
            session = botocore.session.get_session()
            if keys is not None:
                session.set_credentials(
                    keys.access_key_id, keys.secret_access_key, keys.session_token
                )
            self._credentials = session.get_credentials()
            self._auth: _Auth | None = None
            self._address = address_of(session, place, bucket)
            self.route = _route(self._address.base, session)
            self._host, self._second = self.route.netloc, (datetime.min.replace(tzinfo=UTC), "")
        except (BotoCoreError, ValueError, OSError) as error:
            raise unmade(url, place.endpoint_url, error) from None

    def head(
        self,
        method: str,
        key: str,
        query: str,
        headers: Mapping[str, str],
        sha256: str,
        at: datetime,
    ) -> bytes:
        """Request line and headers, signed. Raises NoCredentialsError and what reading a role's key raises."""
        if self._credentials is None:
            raise NoCredentialsError
        target = self._address.path + quote(key, safe="-._~/") + query
        second = self._second  # threads share it
        if second[0] != at:
            second = self._second = at, at.strftime(_DATE)
        context = {
            "timestamp": second[1],
            "sha256": sha256,
            "host": self._host,
            "target": target,
        }
        request = _Request(method, self._address.base + target, dict(headers), context)
        frozen = self._credentials.get_frozen_credentials()
        auth = self._auth
        if auth is None or auth.credentials != frozen:
            auth = self._auth = _Auth(frozen, "s3", self._address.region)
        auth.add_auth(request)
        shown = target if self.route.proxy is None or self.route.tls else request.url
        lines = [
            f"{method} {shown} HTTP/1.1",
            f"Host: {self._host}",
            f"User-Agent: {_AGENT}",
        ]
        lines += [f"{name}: {value}" for name, value in request.headers.items()]
        if self.route.proxy is not None and self.route.proxy[2] and not self.route.tls:
            lines.append(f"Proxy-Authorization: {self.route.proxy[2]}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode()


def _route(base: str, session: Any) -> Route:
    """TLS by AWS_CA_BUNDLE (or the profile's ca_bundle, else botocore's own), the proxy as botocore finds it."""
    parts = urlsplit(base)
    tls = None
    if parts.scheme == "https":
        bundle = session.get_config_variable("ca_bundle")
        tls = ssl.create_default_context(cafile=bundle or get_cert_path(verify=True))
    elif parts.scheme != "http":
        raise ValueError("neither http nor https")
    port = parts.port or (443 if tls else 80)
    return Route(parts.hostname or "", port, tls, _proxy(base, parts.scheme))


def _proxy(base: str, scheme: str) -> tuple[str, int, str | None] | None:
    """Host, port and authorisation of HTTPS_PROXY or HTTP_PROXY, unless NO_PROXY names the host."""
    text = get_environ_proxies(base).get(scheme)
    if not text:
        return None
    parts = urlsplit(text if "://" in text else f"http://{text}")
    secret = None
    if parts.username:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        secret = "Basic " + base64.b64encode(pair.encode()).decode()
    return parts.hostname or "", parts.port or 80, secret
