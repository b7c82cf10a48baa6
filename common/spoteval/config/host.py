"""Read the host file: TOML to tables, variables above it, role and instance."""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Never

from spoteval.config.shared import ConfigError, HostFile
from spoteval.config.variables import NotByVariable, overlaid, set_by
from spoteval.instance import instance_error
from spoteval.shape import ShapeError, Table

ROLES = ("guest", "restarter")


def read_host(
    path: Path, role: str | None = None, environment: Mapping[str, str] | None = None
) -> HostFile:
    """The host file at `path`, with what `SPOTEVAL_TABLE__KEY` variables set instead.

    Raises ConfigError where it is absent, torn, or of another role than asked.
    """
    return host_of(path, _tables(path), role, environment)


def host_of(
    path: Path,
    tables: dict[str, object],
    role: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> HostFile:
    """The same of tables that are not in a file yet; `path` is where they will be. Raises ConfigError."""
    variables = set_by(os.environ if environment is None else environment)
    try:
        tables = overlaid(tables, variables)
        host = Table(tables, "").table("host")
        found = host.choice("role", ROLES)
        instance = _instance(host, found)
    except NotByVariable as error:
        raise ConfigError(str(error)) from error
    except ShapeError as error:
        fail(path, str(error))
    if role is not None and found != role:
        fail(path, f'[host] role "{found}": this is for role "{role}"')
    return HostFile(path, found, instance, tables, {item.place: item.name for item in variables})


def fail(path: Path, text: str) -> Never:
    """Raise the one-line error of a host file."""
    raise ConfigError(error_line(path, text))


def error_line(path: Path, text: str) -> str:
    """The error with its file; a key that stands in no table has no table in its line."""
    return f"{path}: {text.removeprefix('[] ')}"


def _tables(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text())
    except FileNotFoundError:
        fail(path, "no such file (spoteval setup writes one; SPOTEVAL_CONFIG names another)")
    except OSError as error:
        fail(path, str(error.strerror))
    except ValueError as error:  # also of bytes that are no text, and of numbers beyond all bounds
        fail(path, f"not TOML: {error}")
    except RecursionError:
        fail(path, "not TOML: nested too deeply")


def _instance(host: Table, role: str) -> str | None:
    if role == "restarter":
        return None
    name = host.text("instance")
    if (why := instance_error(name)) is not None:
        raise ShapeError(f"[host] instance {why}")
    return name
