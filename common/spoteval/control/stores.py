"""The store that the configuration names, with its key from the credentials directory."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from spoteval.config.shared import ConfigError, StoreSettings
from spoteval.config.variables import Variable, overlaid, set_by
from spoteval.control.secrets import read_credential
from spoteval.settings.keys import read
from spoteval.shape import ShapeError, Table
from spoteval.store.contract import Store
from spoteval.store.keys import AccessKeys, parse_keys
from spoteval.store.open import open_store
from spoteval.store.place import S3Place


def store_from(settings: StoreSettings, credentials: Path) -> Store:
    """Open it; sends nothing. Raises ConfigError: the URL, or the key's file.

    The key is read again after the store has refused it: who replaces the file need not restart anything.
    """

    def keys() -> AccessKeys | None:
        if settings.credential is None:
            return None
        try:
            return parse_keys(read_credential(credentials, settings.credential))
        except ConfigError as error:
            raise ValueError(str(error)) from error
        except ValueError as error:
            raise ValueError(f"{credentials / settings.credential}: {error}") from error

    try:
        return open_store(settings.url, S3Place(settings.endpoint_url, settings.region, keys))
    except ValueError as error:
        raise ConfigError(str(error)) from error


def settings_of_variables(environment: Mapping[str, str]) -> StoreSettings | None:
    """What `SPOTEVAL_STORE` and `SPOTEVAL_STORE__KEY` say, for hosts without a host file. Raises ConfigError."""
    found = [item for item in set_by(environment) if item.table == "store"]
    if not any(item.key == "url" for item in found):
        return None
    try:
        return read(StoreSettings, Table(overlaid({}, found), "").table("store"))
    except ShapeError as error:
        raise ConfigError(_by_variable(str(error), found)) from error


def _by_variable(text: str, variables: Iterable[Variable]) -> str:
    """The error under the name that was typed."""
    for item in variables:
        place = f"[{item.table}] {item.key}"
        if text.startswith(place):
            return item.name + text.removeprefix(place)
    return text
