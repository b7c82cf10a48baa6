"""The bar of a pull: on a terminal alone, and never more often than anybody sees."""

import io

from spoteval.cli.progress import Bar, bar
from spoteval.publication.pull import Progress

HALF = Progress(5_000_000, 10_000_000, 400, 1_000)


class Terminal(io.StringIO):
    """Somebody looks."""

    def isatty(self) -> bool:
        """Yes."""
        return True


def test_the_bar_says_how_far_and_how_fast() -> None:
    """Bytes decide how full it is; nothing to pull is a full one."""
    line = bar("pull", HALF, 2.0)
    assert line.endswith(f"{'█' * 12}{'░' * 12}  400/1,000  5.0 of 10.0 MB  2.5 MB/s")
    assert "░" not in bar("pull", Progress(0, 0, 0, 0), 0.0)


def test_it_is_drawn_now_and_then_and_taken_away() -> None:
    """At 0.2 s and not before; a pipe gets nothing."""
    for out, drawn in ((Terminal(), 1), (io.StringIO(), 0)):
        moments = iter([0.0, 0.19, 0.2])
        with Bar(out, "pull", lambda moments=moments: next(moments)) as shown:  # type: ignore[misc]
            shown.show(HALF)
            shown.show(HALF)
        assert out.getvalue().count("█" * 12) == drawn
        assert out.getvalue().endswith("\r\x1b[K" if drawn else "")
