"""How an agent ends its machine: by the root helper's file; first by the provider, where power off costs on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from spoteval.control import children
from spoteval.files import touch
from spoteval.machine.process import Child
from spoteval.provider.own import BEFORE_POWER
from spoteval.shape import Reading, Unreadable


@dataclass
class PowerOff:
    """`request` is the file that the root helper watches. Asked again at each look, until the machine is off."""

    provider: str
    request: Path
    begin: Callable[[Sequence[str]], Reading[Child]] = children.begin
    _child: Child | None = None

    def ask(self, reason: str) -> None:
        """Begin it, or go on with it; does not block. Raises OSError where the request cannot be written.

        The child that asks the provider powers off when it has an answer, or none in time; where it could not be
        begun, or has ended without, that is done here.
        """
        if self.provider not in BEFORE_POWER:
            touch(self.request, reason)
        elif self._child is None:
            begun = self.begin(["stop-self", reason])
            if isinstance(begun, Unreadable):
                touch(self.request, reason)
            else:
                self._child = begun
        elif self._child.poll() is not None:
            touch(self.request, reason)
