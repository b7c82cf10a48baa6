"""From an instance's configuration to its provider."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from spoteval.provider.aws.settings import AwsSettings
from spoteval.provider.azure.settings import AzureSettings
from spoteval.provider.command import CommandSettings, command_provider
from spoteval.provider.contract import Finding, Provider
from spoteval.provider.gcp.settings import GcpSettings
from spoteval.provider.local import LocalSettings, local_provider
from spoteval.provider.nebius.settings import NebiusSettings
from spoteval.provider.runpod.settings import RunpodSettings
from spoteval.provider.shared import Shared
from spoteval.shape import Table

Opened = Callable[[Table, Shared], Provider]
Checked = Callable[[Table, Shared], Iterable[Finding]]


def _nothing(table: Table, shared: Shared) -> Iterable[Finding]:  # noqa: ARG001 - one signature
    """Files and programs of this host: no rights are asked for anywhere."""
    return ()


def _aws(table: Table, shared: Shared) -> Provider:
    from spoteval.provider.aws.provider import aws_provider

    return aws_provider(table, shared)


def _check_aws(table: Table, shared: Shared) -> Iterable[Finding]:
    from spoteval.provider.aws.check import aws_findings

    return aws_findings(table, shared)


def _gcp(table: Table, shared: Shared) -> Provider:
    from spoteval.provider.gcp.provider import gcp_provider

    return gcp_provider(table, shared)


def _check_gcp(table: Table, shared: Shared) -> Iterable[Finding]:
    from spoteval.provider.gcp.check import gcp_findings

    return gcp_findings(table, shared)


def _azure(table: Table, shared: Shared) -> Provider:
    from spoteval.provider.azure.provider import azure_provider

    return azure_provider(table, shared)


def _check_azure(table: Table, shared: Shared) -> Iterable[Finding]:
    from spoteval.provider.azure.check import azure_findings

    return azure_findings(table, shared)


def _nebius(table: Table, shared: Shared) -> Provider:
    from spoteval.provider.nebius.provider import nebius_provider

    return nebius_provider(table, shared)


def _check_nebius(table: Table, shared: Shared) -> Iterable[Finding]:
    from spoteval.provider.nebius.check import nebius_findings

    return nebius_findings(table, shared)


def _runpod(table: Table, shared: Shared) -> Provider:
    from spoteval.provider.runpod.provider import runpod_provider

    return runpod_provider(table, shared)


def _check_runpod(table: Table, shared: Shared) -> Iterable[Finding]:
    from spoteval.provider.runpod.check import runpod_findings

    return runpod_findings(table, shared)


@dataclass(frozen=True, slots=True)
class ProviderKind:
    """One kind: what its table [instance.NAME] may say besides what all may, and how it is made of that.

    `check` asks for what an identity may and for settings that make trouble later; it starts and changes nothing.
    Both load the kind's client when they are called: a command that asks no cloud waits for none.
    """

    settings: type
    open: Opened
    check: Checked = _nothing


PROVIDERS: Mapping[str, ProviderKind] = {
    "aws": ProviderKind(AwsSettings, _aws, _check_aws),
    "gcp": ProviderKind(GcpSettings, _gcp, _check_gcp),
    "azure": ProviderKind(AzureSettings, _azure, _check_azure),
    "nebius": ProviderKind(NebiusSettings, _nebius, _check_nebius),
    "runpod": ProviderKind(RunpodSettings, _runpod, _check_runpod),
    "local": ProviderKind(LocalSettings, lambda table, _: local_provider(table)),
    "command": ProviderKind(CommandSettings, lambda table, _: command_provider(table)),
}


def open_provider(kind: str, table: Table, shared: Shared | None = None) -> Provider:
    """The provider of this kind, with the settings of its table; raises ShapeError where one is wrong.

    Instances that are opened with the same `shared` are looked at together, where their cloud can do that.
    """
    return PROVIDERS[kind].open(table, shared if shared is not None else Shared())


def check_provider(kind: str, table: Table, shared: Shared | None = None) -> Iterable[Finding]:
    """What stands in the way of operating this instance; raises ShapeError as `open_provider` does."""
    return PROVIDERS[kind].check(table, shared if shared is not None else Shared())
