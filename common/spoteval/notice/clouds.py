"""What `[provider]` says of a node at a cloud. Apart from its source, which loads a client that no other node needs."""

from dataclasses import dataclass, field

from spoteval.settings.keys import key
from spoteval.settings.kinds import TEXT

_URL = key(TEXT, "of the metadata service, for tests")


@dataclass(frozen=True, slots=True)
class AwsNoticeSettings:
    """What `[provider]` says of an EC2 instance."""

    metadata_url: str | None = field(default=None, metadata=_URL)


@dataclass(frozen=True, slots=True)
class GcpNoticeSettings:
    """What `[provider]` says of a VM of Compute Engine."""

    metadata_url: str | None = field(default=None, metadata=_URL)


@dataclass(frozen=True, slots=True)
class AzureNoticeSettings:
    """What `[provider]` says of an Azure VM."""

    metadata_url: str | None = field(default=None, metadata=_URL)
    endpoint_url: str = field(
        default="https://management.azure.com",
        metadata=key(TEXT, "of Resource Manager, by which the VM deallocates itself"),
    )
    client_id: str | None = field(
        default=None,
        metadata=key(TEXT, "of the VM's own identity, where you assigned more than one"),
    )


@dataclass(frozen=True, slots=True)
class NebiusNoticeSettings:
    """What `[provider]` says of a Nebius VM."""

    metadata_url: str | None = field(default=None, metadata=_URL)


@dataclass(frozen=True, slots=True)
class RunpodNoticeSettings:
    """What `[provider]` says of a pod. It is told nothing but by the signal to its first process."""

    endpoint_url: str = field(
        default="https://api.runpod.io",
        metadata=key(TEXT, "of the API by which it stops itself, for tests"),
    )
