"""What `[instance.NAME]` says of a Nebius VM."""

from dataclasses import dataclass, field

from spoteval.provider.configured import DATED_RATE
from spoteval.settings.keys import key
from spoteval.settings.kinds import NAME, TEXT
from spoteval.settings.money import Money


@dataclass(frozen=True, slots=True)
class NebiusSettings:
    """The VM, who asks, what it costs, and whose advice is read."""

    id: str = field(metadata=key(NAME, "such as `computeinstance-e00example`"))
    identity: str = field(
        default="instance",
        metadata=key(
            TEXT,
            "`instance` (this host's service account), or a file with a service account's key",
        ),
    )
    price: Money | None = field(
        default=None,
        metadata=key(
            DATED_RATE, "of the whole VM, as you looked it up; else by Nebius' calculator"
        ),
    )
    tenant: str | None = field(
        default=None,
        metadata=key(TEXT, "whose advice about capacity is shown while the VM is off"),
    )
    region: str | None = field(
        default=None, metadata=key(TEXT, "of the VM, for that advice; held against [grant] too")
    )
    endpoint_url: str | None = field(
        default=None, metadata=key(TEXT, "of the API, in the clear, for tests")
    )
    login_url: str = field(
        default="https://auth.eu.nebius.com",
        metadata=key(TEXT, "where a service account's key is exchanged for a token"),
    )
    metadata_url: str | None = field(
        default=None, metadata=key(TEXT, "of the host's metadata service, for tests")
    )
