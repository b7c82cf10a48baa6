"""The hosts of tests/cli_hosts.py with an S3 service for a store, each with its own key in a file."""

import json
from collections.abc import Mapping
from pathlib import Path

from cli_hosts import Hosts, guest_file, made_hosts, restarter_file
from s3_server import REGION, Service


def s3_hosts(base: Path, service: Service, endpoint: str | None = None) -> Hosts:
    """Guest with `publisher`, restarter with `control`."""
    hosts = made_hosts(base)
    for host, text, role in (
        ("node", guest_file(base), "publisher"),
        ("restarter", restarter_file(base), "control"),
    ):
        table = store_table(service, role, endpoint)
        hosts.configure(host, text.replace(f'url = "file://{base / "store"}"', table))
        write_key(base / host / "credentials", role, service)
    return hosts


def store_table(service: Service, role: str, endpoint: str | None = None) -> str:
    """The keys of `[store]`."""
    values = {
        "url": service.url(),
        "endpoint_url": endpoint or service.endpoint,
        "region": REGION,
        "credential": role,
    }
    return "\n".join(f"{name} = {json.dumps(value)}" for name, value in values.items())


def write_key(directory: Path, role: str, service: Service) -> None:
    """As a person installs it."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / role).write_text(service.ini(role))
    (directory / role).chmod(0o600)


def laptop(service: Service, base: Path, role: str) -> Mapping[str, str]:
    """The variables of a laptop: the key in the user's own files, no host file."""
    write_key(base, role, service)
    return {
        "SPOTEVAL_STORE": service.url(),
        "SPOTEVAL_STORE__ENDPOINT_URL": service.endpoint,
        "AWS_SHARED_CREDENTIALS_FILE": str(base / role),
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
