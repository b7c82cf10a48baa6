"""Many small puts, side by side: the first try of each; what is not simply taken goes on with all its patience."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from spoteval.store.contract import Later, Put, StoreError
from spoteval.store.deadline import Deadline
from spoteval.store.http_exchange import Answer
from spoteval.store.http_many import Call, side_by_side
from spoteval.store.http_wire import Pool
from spoteval.store.s3_answer import error_of
from spoteval.store.s3_body import Body
from spoteval.store.s3_errors import TROUBLES, Damaged, NotS3

STOP_AFTER = 3
"""So many in a row that were not taken: the service wants to be asked more slowly, or is away."""
_EXISTS = (304, 412)


class Wanted(NamedTuple):
    """One put that was begun: its bytes, and whether it was asked that the key be free."""

    key: str
    body: Body
    is_conditional: bool
    deadline: Deadline

    def taken(self, answer: Answer) -> Put:
        """What an answer of success says; raises Damaged, NotS3 and StoreError."""
        self.body.confirm(answer.headers)
        return Put.CREATED if self.is_conditional else self.body.acknowledged(answer.headers)


@dataclass(slots=True)
class S3Many:
    """Puts of one store. `call_of`: a signed put, raises StoreError and any of TROUBLES; `gone_on`: the put after an
    error of its first try, with all its patience."""

    pool: Pool
    call_of: Callable[[str, bytes], Call[Wanted]]
    gone_on: Callable[[Wanted, Exception], Put]
    _in_row: int = 0

    def each(
        self, wanted: Iterable[tuple[str, bytes] | None], most: int, patient: Deadline
    ) -> Iterator[tuple[str, Put | Later]]:
        """As `ManyPuts.put_each`; connections are made within `patient`."""
        for one, found in side_by_side(self.pool, self._calls(wanted), most, patient):
            answer = self._judged(one, found)
            self._in_row = 0 if isinstance(answer, Put) else self._in_row + 1
            yield one.key, answer

    def _calls(self, wanted: Iterable[tuple[str, bytes] | None]) -> Iterator[Call[Wanted] | None]:
        for one in wanted:
            call = None
            if one is not None:
                try:
                    call = self.call_of(*one)
                except (StoreError, *TROUBLES):
                    self._in_row += 1  # whoever asks for this one alone is told
            if call is not None or one is None:
                yield call
            if self._in_row >= STOP_AFTER:
                return

    def _judged(self, one: Wanted, found: Answer | Exception) -> Put | Later:
        if isinstance(found, Exception):
            return partial(self.gone_on, one, found)
        if found.status in _EXISTS and one.is_conditional:
            return Put.EXISTS
        if found.status >= 300:
            return partial(self.gone_on, one, error_of(found, "PUT"))
        try:
            return one.taken(found)
        except (Damaged, NotS3, StoreError) as error:
            return partial(self.gone_on, one, error)
