"""The driver of a local node in a cloud that obeys at once: every start is accepted and runs in a tenth of a second."""

import sys

from spoteval.local import node
from spoteval.local.market import StartAnswer
from spoteval.local.weather import Calm


class Prompt(Calm):
    """Nothing is ever taken by the market: who drills pulls the plug."""

    def start(self, seed: int, attempt: int) -> StartAnswer:
        """Accepted."""
        return StartAnswer(200, None, begins=True, runs=True, after_s=0.1)


if __name__ == "__main__":
    node.weather = lambda profile: Prompt()  # type: ignore[attr-defined]
    sys.exit(node.main())
