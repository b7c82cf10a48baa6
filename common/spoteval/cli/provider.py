"""The provider of an instance, for verbs that speak to it."""

from spoteval.config.restarter import InstanceSettings, RestarterConfig
from spoteval.config.shared import ConfigError
from spoteval.control.providers import shared_of
from spoteval.paths import HostPaths
from spoteval.provider.contract import Provider
from spoteval.provider.open import open_provider
from spoteval.shape import ShapeError


def provider_of(config: RestarterConfig, settings: InstanceSettings, paths: HostPaths) -> Provider:
    """The instance's provider; raises ConfigError where its table is wrong."""
    try:
        return open_provider(settings.provider, settings.table, shared_of(paths.credentials))
    except ShapeError as error:
        raise ConfigError(f"{config.path}: {error}") from error
