"""The table of policies, on the terminal and as JSON."""

from collections.abc import Iterator, Mapping

from spoteval.placement.simulation.table import Row

HEAD = (
    "POLICY",
    "COST/BOUND",
    "OF WINDOWS",
    "LEAST",
    "MOST",
    "MISSED",
    "COST/ON-DEMAND",
    "CUT/EPISODE",
)


def cells(known: Mapping[str, Row]) -> Iterator[tuple[str, ...]]:
    """One row a policy."""
    for name, row in known.items():
        yield (
            name,
            f"{row.sums:.3f}",
            f"{row.mean:.3f}",
            f"{row.least:.2f}",
            f"{row.most:.2f}",
            f"{100 * row.missed:.1f} %",
            f"{row.over_on_demand:.3f}",
            f"{row.cut_per_episode:.2f}",
        )


def record(known: Mapping[str, Row], clairvoyant: float, samples: int) -> dict[str, object]:
    """The same as one JSON object."""
    policies = {
        name: {
            "cost_over_bound": {"mean": row.mean, "min": row.least, "max": row.most},
            "sum_of_costs_over_sum_of_bounds": row.sums,
            "deadline_missed": row.missed,
            "cost_over_on_demand": row.over_on_demand,
            "cut_per_episode": row.cut_per_episode,
        }
        for name, row in known.items()
    }
    return {"samples": samples, "clairvoyant_over_bound": clairvoyant, "policies": policies}
