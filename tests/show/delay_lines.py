"""Lines about how long a stop waits for its start."""

import contextlib
import io
import tempfile
from collections.abc import Iterator
from pathlib import Path

from restarter_story import POLICY
from show.delay import CALL_S, Delay, delays, share
from show.lines import Line, judged
from show.stage import Stage

HOSTS, FULL, STOPS = 10, 40, 30
SEEN_S, REAL_S, PERCENT = 10.0, 70.0, 99


def delay(stage: Stage) -> Iterator[Line]:
    """In virtual time, over the restarter's real loop, files and store; its journal is not shown."""
    with tempfile.TemporaryDirectory(dir=stage.scratch) as root, journal_to_nowhere():
        seeds = range(FULL if stage.full else HOSTS)
        found = [one for seed in seeds for one in delays(Path(root) / str(seed), STOPS, seed)]
    yield from judged_delays(found)


def judged_delays(found: list[Delay]) -> Iterator[Line]:
    """At the 99th percentile: grace + 10 s from the first look that saw it, grace + 70 s from the stop itself."""
    grace_s = POLICY.poll.grace_s
    for what, values, limit_s in (
        ("first look that saw STOPPED → start", [one.seen_s for one in found], SEEN_S),
        ("stop → start", [one.real_s for one in found], REAL_S),
    ):
        if not found:
            yield judged(False, what, "nothing was measured")  # noqa: FBT003
            continue
        late_s = share(values, PERCENT)
        figure = f"p{PERCENT} {late_s:.1f} s of {grace_s + limit_s:.0f}, longest {max(values):.1f}"
        calls = f"{len(values)} stops, calls of {CALL_S[0]:g} to {CALL_S[1]:g} s"
        yield judged(late_s <= grace_s + limit_s, what, f"{figure} ({calls})")


@contextlib.contextmanager
def journal_to_nowhere() -> Iterator[None]:
    """Decision lines go to stderr."""
    with contextlib.redirect_stderr(io.StringIO()):
        yield
