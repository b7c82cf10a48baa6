"""The market is a pure function of its seed."""

import importlib
from collections.abc import Iterable, Iterator

from show.lines import Line, Missing, judged


def same_seed_same_market(seeds: Iterable[int]) -> Iterator[Line]:
    """Histories computed twice are equal, and of different seeds different."""
    tried = tuple(seeds)
    first, second = [lived(seed) for seed in tried], [lived(seed) for seed in tried]
    yield judged(first == second, "same seed, same market", f"{len(tried)} seeds computed twice")
    kinds = len(set(first))
    figure = f"{kinds} histories from {len(tried)} seeds"
    yield judged(kinds == len(tried), "other seeds, other histories", figure)


def lived(seed: int) -> str:
    """The history of the demo's market for a node that does the same whatever the seed."""
    try:
        market = importlib.import_module("spoteval.local.market")
    except ImportError as error:
        raise Missing(f"spoteval.local.market: {error}") from error
    raise Missing(f"no demo weather yet beside {market.__name__}")
