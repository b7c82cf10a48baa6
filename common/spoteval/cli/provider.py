"""The provider of an instance, for verbs that speak to it."""

from spoteval.config.restarter import InstanceSettings, RestarterConfig
from spoteval.config.shared import ConfigError
from spoteval.provider.contract import Provider
from spoteval.provider.open import open_provider
from spoteval.shape import ShapeError


def provider_of(config: RestarterConfig, settings: InstanceSettings) -> Provider:
    """The instance's provider; raises ConfigError where its table is wrong."""
    try:
        return open_provider(settings.provider, settings.table)
    except ShapeError as error:
        raise ConfigError(f"{config.path}: {error}") from error
