"""What names an S3 service besides its URL: known without loading a client."""

from collections.abc import Callable
from dataclasses import dataclass, field

from spoteval.store.keys import AccessKeys


def _of_the_host() -> AccessKeys | None:
    return None


@dataclass(frozen=True, slots=True)
class S3Place:
    """Endpoint, region and key. None: what the environment, the user's files or the machine's identity say.

    `keys` is asked whenever a client is made, also after a key was refused; it raises ValueError with one line.
    """

    endpoint_url: str | None = None
    region: str | None = None
    keys: Callable[[], AccessKeys | None] = field(default=_of_the_host, repr=False)
