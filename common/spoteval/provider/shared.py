"""What the providers of one process have in common: a client, a token and a look for each account and place."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from spoteval.clock import Now, read_now

T = TypeVar("T")


def no_secrets(name: str) -> str:
    """Where nobody said where files of credentials are."""
    raise LookupError(name)


@dataclass(slots=True)
class Shared:
    """`secret` gives the text of a credential file, and raises as its owner likes."""

    secret: Callable[[str], str] = field(default=no_secrets, repr=False)
    clock: Callable[[], Now] = read_now
    _made: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    def one(self, name: Hashable, make: Callable[[], T]) -> T:
        """The one thing of this name, made when it is first asked for."""
        if name not in self._made:
            self._made[name] = make()
        found: T = self._made[name]
        return found
