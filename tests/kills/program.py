"""The run that is killed: a program whose episodes are directories, two at a time.

One of them goes on until the machine has been cut once, so that every life meets the same episodes.
"""

import json
import os
import sys
import time
from pathlib import Path
from threading import Thread

from spoteval.local import witness

KEYS = ("one", "two", "three", "four")
LONG = "two"


def main() -> None:
    """Run what has no `episode.json`."""
    work, cut_once = Path(os.environ["SPOTEVAL_WORK"]), Path(sys.argv[1])
    intended = work / "intended.json"
    if not intended.exists():
        beside = work / ".intended.tmp"
        beside.write_text(json.dumps(KEYS))
        beside.rename(intended)
    left = [key for key in KEYS if not (work / "episodes" / key / "episode.json").exists()]
    long = [key for key in left if key == LONG]
    short = [key for key in left if key != LONG]
    lanes = [long, short] if cut_once.exists() else [long, short[:1]]
    threads = [Thread(target=lane, args=(work, keys, cut_once)) for keys in lanes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def lane(work: Path, keys: list[str], cut_once: Path) -> None:
    """One slot: its episodes one after the other."""
    for key in keys:
        folder = work / "episodes" / key
        folder.mkdir(parents=True)
        witness.write("begin", key, 1)
        (folder / "log.txt").write_text(f"{key} begins\n")
        time.sleep(0.3)
        while key == LONG and not cut_once.exists():
            time.sleep(0.05)
        beside = folder / ".episode.tmp"
        beside.write_text(json.dumps({"verdict": "C" if key < "p" else "I", "output_tokens": 7}))
        beside.rename(folder / "episode.json")
        witness.write("end", key, 1)


if __name__ == "__main__":
    main()
