"""Secrets from credential files: checked, read when needed, and never put where a process list or a log shows them."""

from collections.abc import Mapping
from pathlib import Path

from spoteval.config.shared import ConfigError

_OTHERS = 0o077
# systemd hands credentials out read-only in a directory of the unit's own; their group bits are the mask of an ACL.
_BY_SYSTEMD = Path("/run/credentials")


def read_secret(directory: Path, name: str) -> str:
    """The one line in a credential file.

    Raises ConfigError (exit 2) for a file that is absent, open to others, empty, or not one printable line. The text
    names the file, never what is in it.
    """
    return _one_line(_checked(directory, name, "one line with the key"))


def read_credential(directory: Path, name: str) -> str:
    """The text of a credential file of any form. Raises ConfigError as `read_secret` does, but for its lines."""
    path = _checked(directory, name, "a file with id and secret")
    try:
        return path.read_bytes().decode()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}{_owner(error)}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: is no text") from None


def secret_environment(directory: Path, names: Mapping[str, str]) -> dict[str, str]:
    """The variables of `[run.secret_env]`: variable = name of a credential file. Raises ConfigError."""
    return {variable: read_secret(directory, name) for variable, name in names.items()}


def _checked(directory: Path, name: str, holds: str) -> Path:
    """The file, when it is closed to others."""
    if not name or "/" in name or name.startswith("."):
        raise ConfigError(f'credential "{name}": must be the name of a file in {directory}')
    _refuse_open(directory / name, holds)
    return directory / name


def _refuse_open(path: Path, holds: str) -> None:
    try:
        mode = path.stat().st_mode & 0o777
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror} ({holds}, mode 0600)") from None
    if mode & _OTHERS and not path.is_relative_to(_BY_SYSTEMD):
        raise ConfigError(f"{path}: mode {mode:04o}, must be 0600 (chmod 600 {path})")


def _one_line(path: Path) -> str:
    try:
        text = path.read_bytes().decode("ascii").rstrip("\r\n")
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}{_owner(error)}") from None
    except UnicodeDecodeError:
        text = ""
    if not text or not text.isprintable() or text != text.strip():
        raise ConfigError(f"{path}: must hold one line of printable characters, and nothing else")
    return text


def _owner(error: OSError) -> str:
    return " (chown it to the user of the agents)" if isinstance(error, PermissionError) else ""
