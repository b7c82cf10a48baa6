"""What `[instance.NAME]` says of a Runpod pod."""

from dataclasses import dataclass, field

from spoteval.provider.configured import DATED_RATE
from spoteval.settings.keys import key
from spoteval.settings.kinds import NAME, RATE_PER_HOUR, TEXT, whole
from spoteval.settings.money import Money


@dataclass(frozen=True, slots=True)
class RunpodSettings:
    """The pod, what it must have to be of use, who asks, and what is bid for it."""

    id: str = field(metadata=key(NAME, "the pod's id"))
    gpus: int = field(
        metadata=key(whole(1), "so many it must have: Runpod also starts a pod with none")
    )
    identity: str = field(metadata=key(TEXT, "the name of a file that holds an API key"))
    bid: Money | None = field(
        default=None,
        metadata=key(RATE_PER_HOUR, "for each GPU, of an interruptible pod; else it is on demand"),
    )
    price: Money | None = field(
        default=None, metadata=key(DATED_RATE, "in the place of what Runpod asks for such GPUs")
    )
    endpoint_url: str = field(
        default="https://api.runpod.io", metadata=key(TEXT, "of its API, for tests")
    )
