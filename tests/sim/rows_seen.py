"""Which row of the table decided: the rows themselves are watched, so that new ones are seen without being named."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from spoteval.decision import Decision
from spoteval_agents.restarter import decide as table
from spoteval_agents.restarter.case import Case

START_ROW = 18
Row = Callable[[Case], Decision | None]


@dataclass
class RowsSeen:
    """`last` is the row of the last decision; 18 where none of the others matched."""

    last: int = START_ROW

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch the table inside the block."""
        rows = table.ROWS
        table.ROWS = tuple((number, self._watched(number, row)) for number, row in rows)
        try:
            yield
        finally:
            table.ROWS = rows

    def _watched(self, number: int, row: Row) -> Row:
        def watched(case: Case) -> Decision | None:
            decision = row(case)
            self.last = START_ROW if decision is None else number
            return decision

        return watched


def rows_there() -> tuple[int, ...]:
    """The numbers of the rows that the table has."""
    return tuple(sorted({number for number, _ in table.ROWS} | {START_ROW}))
