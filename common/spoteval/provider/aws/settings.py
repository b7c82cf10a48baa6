"""What `[instance.NAME]` says of an EC2 instance."""

from dataclasses import dataclass, field

from spoteval.provider.configured import DATED_RATE
from spoteval.settings.keys import key
from spoteval.settings.kinds import TEXT
from spoteval.settings.money import Money


@dataclass(frozen=True, slots=True)
class AwsSettings:
    """Region, identity, and what differs from the service's own ways."""

    id: str = field(metadata=key(TEXT, "such as `i-0123456789abcdef0`"))
    region: str = field(metadata=key(TEXT, "such as `eu-west-1`; held against [grant] too"))
    identity: str = field(
        default="instance",
        metadata=key(TEXT, "`instance` (this host's own role), or a file of access keys"),
    )
    price: Money | None = field(
        default=None,
        metadata=key(DATED_RATE, "in the place of the spot price; for on-demand instances"),
    )
    endpoint_url: str | None = field(
        default=None, metadata=key(TEXT, "of EC2, where it is not the region's own")
    )
    metadata_url: str | None = field(
        default=None, metadata=key(TEXT, "of the host's metadata service, for tests")
    )
