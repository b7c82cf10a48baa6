"""The program that is run: episodes of seconds as directories, in three threads, as harness `directory` wants them.

    episodes.py COUNT SLOTS

What an episode writes follows from its name, so that each byte of it is known. /etc/lab-pace says what all its times
are multiplied with, and how many seconds it takes to end at SIGTERM: below zero it ignores it. Nothing is synced:
hardly any program does that.
"""

import hashlib
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

LONG = ("5", "9", "14")
LONG_S, STEP_S = 30.0, 0.4
WITNESS = Path("/mnt/durable/evals/witness")


def seconds(key: str) -> float:
    """How long an episode takes: 3 to 9 s, a few half a minute."""
    return LONG_S if key in LONG else 3.0 + hashlib.sha256(key.encode()).digest()[0] % 7


def answer(key: str) -> bytes:
    """What it writes: 8 to 40 kB."""
    block = hashlib.sha256(f"episode {key}".encode()).hexdigest().encode() + b"\n"
    return block * (128 + 32 * (int(key) % 16))


def note(word: str, key: str) -> None:
    """One line of the witness."""
    descriptor = os.open(WITNESS, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(descriptor, f"{word} {key} 1 {os.getpid()} {time.time():.3f}\n".encode())
    os.close(descriptor)


def episode(folder: Path, key: str, pace: float, over: threading.Event) -> None:
    """One episode, a piece at a time; `episode.json` last."""
    folder.mkdir(parents=True, exist_ok=True)
    note("begin", key)
    data, steps = answer(key), max(1, int(seconds(key) / STEP_S))
    piece = -(-len(data) // steps)
    with (folder / "answer").open("wb", buffering=0) as file:
        for number in range(steps):
            if over.wait(STEP_S * pace):
                return
            file.write(data[number * piece : (number + 1) * piece])
    beside = folder / ".episode.json"
    beside.write_text(
        json.dumps({"outcome": "completed", "verdict": "C", "output_tokens": len(data)})
    )
    beside.rename(folder / "episode.json")
    note("end", key)
    print(f"episode {key} ended", flush=True)


def main() -> int:
    """All that have not ended."""
    count, slots = int(sys.argv[1]), int(sys.argv[2])
    pace, stubborn_s = map(float, Path("/etc/lab-pace").read_text().split())
    root = Path(os.environ["SPOTEVAL_WORK"]) / "episodes"
    keys = [str(number) for number in range(1, count + 1)]
    left = iter([key for key in keys if not (root / key / "episode.json").exists()])
    lock, over = threading.Lock(), threading.Event()

    def work() -> None:
        while not over.is_set():
            with lock:
                key = next(left, None)
            if key is None:
                return
            episode(root / key, key, pace, over)

    def end(*_: object) -> None:
        time.sleep(max(0.0, stubborn_s) * pace)
        over.set()

    signal.signal(signal.SIGTERM, signal.SIG_IGN if stubborn_s < 0 else end)
    signal.signal(signal.SIGINT, signal.SIG_IGN if stubborn_s < 0 else end)
    print("episodes begin", flush=True)
    threads = [threading.Thread(target=work) for _ in range(slots)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return 143 if over.is_set() else 0


if __name__ == "__main__":
    sys.exit(main())
