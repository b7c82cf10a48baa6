"""From an instance's configuration to its provider."""

from collections.abc import Callable, Mapping

from spoteval.provider.contract import Provider
from spoteval.provider.local import local_provider
from spoteval.shape import Table

_KINDS: Mapping[str, Callable[[Table], Provider]] = {"local": local_provider}


def open_provider(kind: str, table: Table) -> Provider:
    """The provider of this kind, with the settings of its table; raises ShapeError where one is wrong."""
    return _KINDS[kind](table)
