"""Where a bucket answers: scheme, host and the beginning of each path, as botocore's client has them."""

import ipaddress
import os
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from botocore import UNSIGNED
from botocore.config import Config

from spoteval.store.place import S3Place

_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")  # botocore reads them since 1.31


@dataclass(frozen=True, slots=True)
class Address:
    """`base` is scheme and host, `path` what each key comes after."""

    base: str
    path: str
    region: str


def endpoint_of(place: S3Place) -> str | None:
    """The endpoint that is configured, in the host file or the environment."""
    return place.endpoint_url or next(filter(None, map(os.environ.get, _ENDPOINTS)), None)


def region_of(place: S3Place, session: Any) -> str:
    """The region to sign for."""
    named = place.region or os.environ.get("AWS_REGION")
    return named or session.get_config_variable("region") or "us-east-1"


def address_of(session: Any, place: S3Place, bucket: str) -> Address:
    """Of a configured endpoint by its name alone; of AWS itself as a client of botocore says, which takes 15 MB."""
    endpoint, region = endpoint_of(place), region_of(place, session)
    if endpoint is None:
        return _of_aws(session, region, bucket)
    parts = urlsplit(endpoint)
    path = parts.path.rstrip("/")
    if needs_path(endpoint) or "." in bucket:
        return Address(f"{parts.scheme}://{parts.netloc}", f"{path}/{bucket}/", region)
    return Address(f"{parts.scheme}://{bucket}.{parts.netloc}", f"{path}/", region)


def _of_aws(session: Any, region: str, bucket: str) -> Address:
    plain = Config(signature_version=UNSIGNED)
    client = session.create_client("s3", region_name=region, config=plain)
    signed = client.generate_presigned_url("put_object", Params={"Bucket": bucket, "Key": "k"})
    parts = urlsplit(signed)
    return Address(f"{parts.scheme}://{parts.netloc}", parts.path.removesuffix("k"), region)


def needs_path(endpoint: str) -> bool:
    """Whether no name of a bucket can stand before this host: an address, loopback, a name without a dot."""
    host = urlsplit(endpoint).hostname or ""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host.endswith(".localhost")
    return True
