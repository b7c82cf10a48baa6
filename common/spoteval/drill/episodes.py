"""The program of a drill's run: episodes of some seconds each, which write while they run. No model is asked."""

import json
import os
import time
from pathlib import Path

from spoteval.clock import monotonic_s, read_now, stamp
from spoteval.drill.plan import EPISODES, LENGTH_S, SLOTS
from spoteval.harness.directory import DONE

TICK_S = 0.25


def main() -> None:
    """Run every episode that has no end yet, in the work directory that the run's unit names."""
    play(Path(os.environ["SPOTEVAL_WORK"]) / "episodes")


def play(
    folder: Path, count: int = EPISODES, slots: int = SLOTS, length_s: float = LENGTH_S
) -> None:
    """So many at a time until all have ended. A stop leaves those that ran without an end, as a real one does."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [str(number) for number in range(1, count + 1)]
    left = [name for name in names if not (folder / name / DONE).exists()]
    running: dict[str, float] = {}
    while left or running:
        while left and len(running) < slots:
            running[left[0]] = monotonic_s() + length_s
            _note(folder / left.pop(0), "began")
        time.sleep(TICK_S)
        for name in [name for name, end_s in running.items() if end_s <= monotonic_s()]:
            del running[name]
            _end(folder / name)
        for name in running:
            _note(folder / name, "runs")


def _note(episode: Path, word: str) -> None:
    episode.mkdir(exist_ok=True)
    with (episode / "notes.txt").open("a") as file:
        file.write(f"{stamp(read_now().wall)} {word}\n")


def _end(episode: Path) -> None:
    """The end is written beside its place and moved there: half an end is none."""
    _note(episode, "ended")
    beside = episode / f".{DONE}"
    beside.write_text(json.dumps({"outcome": "completed", "verdict": "drilled"}))
    beside.rename(episode / DONE)


if __name__ == "__main__":
    main()
