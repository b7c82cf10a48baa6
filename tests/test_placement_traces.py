"""What published traces are known to give, from the traces themselves."""

import pytest

from trace_rows import ROWS, Row, traces

HERE = traces()


@pytest.mark.skipif(HERE is None, reason="no traces at $SPOTEVAL_SHARED: tests/show says short")
@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_known_rows(row: Row) -> None:
    """Tau within 1 % (middles of intervals), shape within 0.02 (fitted to the intervals)."""
    assert HERE is not None
    assert row.good(HERE), row.figures(HERE)
