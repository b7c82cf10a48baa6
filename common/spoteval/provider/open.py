"""From an instance's configuration to its provider."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from spoteval.provider.command import CommandSettings, command_provider
from spoteval.provider.contract import Provider
from spoteval.provider.local import LocalSettings, local_provider
from spoteval.shape import Table


@dataclass(frozen=True, slots=True)
class ProviderKind:
    """One kind: what its table [instance.NAME] may say besides what all may, and how it is made of that."""

    settings: type
    open: Callable[[Table], Provider]


PROVIDERS: Mapping[str, ProviderKind] = {
    "local": ProviderKind(LocalSettings, local_provider),
    "command": ProviderKind(CommandSettings, command_provider),
}


def open_provider(kind: str, table: Table) -> Provider:
    """The provider of this kind, with the settings of its table; raises ShapeError where one is wrong."""
    return PROVIDERS[kind].open(table)
