"""Read the host file: TOML to tables, role and instance."""

import tomllib
from pathlib import Path
from typing import Never

from spoteval.config.shared import ConfigError, HostFile
from spoteval.instance import instance_error
from spoteval.shape import ShapeError, Table

ROLES = ("guest", "restarter")


def read_host(path: Path, role: str | None = None) -> HostFile:
    """The host file at `path`; raises ConfigError where it is absent, torn, or of another role than asked."""
    tables = _tables(path)
    try:
        host = Table(tables, "").table("host")
        found = host.choice("role", ROLES)
        instance = _instance(host, found)
    except ShapeError as error:
        fail(path, str(error))
    if role is not None and found != role:
        fail(path, f'[host] role "{found}": this is for role "{role}"')
    return HostFile(path, found, instance, tables)


def fail(path: Path, text: str) -> Never:
    """Raise the one-line error of a host file."""
    raise ConfigError(f"{path}: {text.removeprefix('[] ')}")


def _tables(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text())
    except FileNotFoundError:
        fail(path, "no such file (spoteval setup writes one; SPOTEVAL_CONFIG names another)")
    except OSError as error:
        fail(path, str(error.strerror))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        fail(path, f"not TOML: {error}")


def _instance(host: Table, role: str) -> str | None:
    if role == "restarter":
        return None
    name = host.text("instance")
    if (why := instance_error(name)) is not None:
        raise ShapeError(f"[host] instance {why}")
    return name
