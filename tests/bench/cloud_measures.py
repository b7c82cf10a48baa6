"""What tests/bench/clouds prints."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from bench.cloud_marker import markers
from bench.cloud_polls import polled_clouds

MEASURES: dict[str, Callable[[], dict[str, Any]]] = {"poll": polled_clouds, "marker": markers}


def main(argv: Sequence[str]) -> int:
    """Measure and print; 2 where nothing of that name is measured."""
    names = [word for word in argv if word != "--json"]
    if len(names) != 1 or names[0] not in MEASURES:
        print(f"tests/bench/clouds: one of {' | '.join(MEASURES)}")
        return 2
    found = MEASURES[names[0]]()
    if "--json" in argv:
        print(json.dumps(found))
    else:
        for name, value in found.items():
            print(f"{name:<16}{value}")
    return 0
