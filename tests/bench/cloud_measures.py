"""What tests/bench/clouds prints."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from bench.cloud_marker import COUNT, markers
from bench.cloud_polls import INSTANCES, polled_clouds
from bench.cloud_s3 import over_s3

MEASURES: dict[str, Callable[[int], dict[str, Any]]] = {
    "poll": lambda size: polled_clouds(size or INSTANCES),
    "poll-s3": lambda size: polled_clouds(size or INSTANCES, over_s3),
    "marker": lambda size: markers(size or COUNT),
}


def main(argv: Sequence[str]) -> int:
    """Measure and print; 2 where nothing of that name is measured."""
    sizes = [int(word) for word in argv if word.isdecimal()]
    names = [word for word in argv if word in MEASURES]
    if len(names) != 1:
        print(f"tests/bench/clouds: one of {' | '.join(MEASURES)}")
        return 2
    found = MEASURES[names[0]](sizes[0] if sizes else 0)
    if "--json" in argv:
        print(json.dumps(found))
    else:
        for name, value in found.items():
            print(f"{name:<16}{value}")
    return 0
