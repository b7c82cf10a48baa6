"""What `[instance.NAME]` says of a VM of Compute Engine."""

from dataclasses import dataclass, field

from spoteval.provider.configured import DATED_RATE
from spoteval.settings.keys import key
from spoteval.settings.kinds import NAME, TEXT
from spoteval.settings.money import Money


@dataclass(frozen=True, slots=True)
class GcpSettings:
    """Where it is, who asks, and its price, where it is not that of Google's catalogue."""

    id: str = field(metadata=key(NAME, "the VM's name in its zone"))
    project: str = field(metadata=key(TEXT, "its project"))
    zone: str = field(metadata=key(NAME, "such as `europe-west4-b`"))
    identity: str = field(
        default="instance",
        metadata=key(
            TEXT, "`instance` (this host's service account), or a file with its key (extra `gcp`)"
        ),
    )
    price: Money | None = field(
        default=None, metadata=key(DATED_RATE, "of the whole VM, in the place of the catalogue's")
    )
    endpoint_url: str = field(
        default="https://compute.googleapis.com",
        metadata=key(TEXT, "of Compute Engine, where it is not Google's own"),
    )
    catalog_url: str = field(
        default="https://cloudbilling.googleapis.com", metadata=key(TEXT, "of the prices")
    )
    metadata_url: str | None = field(
        default=None, metadata=key(TEXT, "of the host's metadata service, for tests")
    )
