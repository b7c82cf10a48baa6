"""Published lifetimes of machines, where they lie beside the checkout, and the figures that they are known to give."""

import csv
import itertools
import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from spoteval.placement.lifetime import HOUR_S, Exposure, Life, exposure, life
from spoteval.placement.weibull import fit

ROOT = Path(__file__).resolve().parent.parent
LIVES = "dime2020_lifetimes.csv"
COUNTS, NODES = "bamboo2021_gcp_counts.csv", "bamboo2021_node_events.csv"


def traces() -> Path | None:
    """$SPOTEVAL_SHARED/traces, by default beside the checkout; None where there are none."""
    shared = Path(os.environ.get("SPOTEVAL_SHARED", str(ROOT.parent / "shared")))
    return shared / "traces" if (shared / "traces" / LIVES).is_file() else None


@dataclass(frozen=True, slots=True)
class Row:
    """One pool, its known tau in hours and Weibull shape (None: not known), and how to read it."""

    name: str
    tau_h: float
    shape: float | None
    read: Callable[[Path], "Sequence[Life] | Exposure"]

    def figures(self, traces: Path) -> tuple[float, float | None]:
        """Ours: tau, and the shape where one is known."""
        found = self.read(traces)
        if isinstance(found, Exposure):
            return found.tau_h, None
        law = fit(found) if self.shape is not None else None
        return exposure(found).tau_h, law.shape if law is not None else None

    def good(self, traces: Path) -> bool:
        """Tau within 1 %, shape within 0.02."""
        tau_h, shape = self.figures(traces)
        if abs(tau_h / self.tau_h - 1) > 0.01:
            return False
        return self.shape is None or (shape is not None and abs(shape - self.shape) <= 0.02)


def looked_at(log: str) -> Callable[[Path], Sequence[Life]]:
    """Lives that were looked at every 10 to 15 min."""

    def read(traces: Path) -> Sequence[Life]:
        rows = [row for row in _rows(traces / LIVES) if row["log"].startswith(log)]
        return [_life(row) for row in rows]

    return read


def counted(trace: str) -> Callable[[Path], Exposure]:
    """Node-hours by the number of running machines, losses by its falls: a lower bound. Samples are put in order."""

    def read(traces: Path) -> Exposure:
        rows = [row for row in _rows(traces / COUNTS) if row["trace_id"] == trace]
        samples = sorted(
            (datetime.fromisoformat(row["time_utc"]), int(row["count"])) for row in rows
        )
        hours, losses = 0.0, 0
        for (at, count), (later, after) in itertools.pairwise(samples):
            hours += count * (later - at).total_seconds() / HOUR_S
            losses += max(0, count - after)
        return Exposure(hours, losses)

    return read


def added(trace: str) -> Callable[[Path], Sequence[Life]]:
    """Lives from add to remove; those that are still up are censored at the last event."""

    def read(traces: Path) -> Sequence[Life]:
        rows = [row for row in _rows(traces / NODES) if row["trace_id"] == trace]
        since: dict[str, list[float]] = defaultdict(list)
        found = []
        for row in rows:
            at_h = float(row["t_s"]) / HOUR_S
            if row["event"] == "add":
                since[row["node"]].append(at_h)
            else:
                found.append(life(at_h - since[row["node"]].pop(), preempted=True))
        end_h = float(rows[-1]["t_s"]) / HOUR_S
        up = [life(end_h - at_h, preempted=False) for times in since.values() for at_h in times]
        return [*found, *up]

    return read


ROWS = (
    Row("GCP GPU lives 2020", 1.48, 0.40, looked_at("gcp")),
    Row("AWS GPU lives 2020", 11.6, 0.38, looked_at("aws")),
    Row("GCP A100x1 2021, counts", 10.1, None, counted("a100x1-us-east1-b")),
    Row("GCP V100x1 2021, counts", 3.1, None, counted("v100x1-us-east1-c")),
    Row("AWS p3 2021", 1.64, None, added("aws-p3")),
    Row("AWS g4dn 2021", 1.83, None, added("aws-g4dn")),
)


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _life(row: dict[str, str]) -> Life:
    low = float(row["lived_at_least_s"]) / HOUR_S
    if row["end"] == "censored":
        return life(low, preempted=False)
    return Life(low, float(row["gone_by_s"]) / HOUR_S, preempted=True)
