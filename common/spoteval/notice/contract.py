"""The provider's word that it is about to take the machine."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from spoteval.shape import Reading


@dataclass(frozen=True, slots=True)
class Notice:
    """One announced stop. The same stop has the same id each time it is read."""

    id: str
    kind: str
    deadline: datetime | None
    source: str


class NoticeSource(Protocol):
    """Where notices are read. Not having one is an ordinary answer; an error is never a notice."""

    def read(self) -> Reading[Notice | None]:
        """The notice that stands now, None where there is none. May block as long as its kind's poll does."""
        ...
