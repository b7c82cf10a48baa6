"""The final pass of the real agent over a slow link: asked as the shutdown-hook asks, ended as systemd ends it."""

import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.publication_bench import Bench, Row, median, said, settle
from bench.publication_data import lay, move_in, name_of
from bench.publication_guest import prepare
from bench.publication_place import Place
from slow_link import Link, link_to
from spoteval.clock import read_now
from spoteval.control import requests
from spoteval.files import append_line, write_new_record
from spoteval.publication.keys import interruption_key, manifest_key

HALF_DONE, FINISHED, TOTAL, MBIT_S, WINDOW_S = 16, 40, 8_000_000, 20.0, 10.0
KEPT_OF_IT_S = 1.0
"""What the hook keeps of the window for its own end."""
CUT = "20261201T025811Z-b7"
LIMIT_S = 120.0


def final(bench: Bench) -> Row:
    """As often as all others; the figure is the median, and the goal is for every one."""
    plays = [_played(bench, number) for number in range(bench.rounds)]
    took_s = median(took for took, _ in plays)
    missing = sorted({name for _, names in plays for name in names})
    ours = f"{took_s:.1f} s to exit, missing: {', '.join(missing[:3]) or 'nothing'}"
    good = not missing and all(took <= WINDOW_S for took, _ in plays)
    work = f"final pass, {HALF_DONE} half-done and {FINISHED} finished"
    goal = f"all durable, exit ≤ {WINDOW_S:g} s"
    return Row(work, ours, goal, good, counts=not missing)


def _played(bench: Bench, number: int) -> tuple[float, list[str]]:
    """Seconds from the request to the exit, and what is not in the store then."""
    place = Place(bench.scratch / f"final-{number}", f"final-{number}")
    with link_to(bench.service.endpoint, None) as link:
        prepare(place, bench.service, link.endpoint)
        lay(place.root / "staged", range(FINISHED), time.time() - 60)
        with _agent(place) as agent:
            _wait_for_pass(place)
            took_s = _asked(place, link, agent)
    said(f"final pass: {took_s:.1f} s, {link.sent / 1e6:.1f} MB towards the service")
    shutil.rmtree(place.root)
    return took_s, _missing(bench, place.run)


def _asked(place: Place, link: Link, agent: "subprocess.Popen[bytes]") -> float:
    """What the hook leaves, its request, the end of the unit once it was answered."""
    salvaged = TOTAL - sum(file.stat().st_size for file in place.root.glob("staged/*/*"))
    move_in(place.root / "staged", place.episodes)
    _interrupt(place.paths.interruptions / CUT, salvaged // HALF_DONE)
    settle(place.root)
    link.bytes_s = MBIT_S * 1e6 / 8
    began = time.monotonic()
    asked = requests.ask(place.disk, requests.FINAL, "bench", WINDOW_S - KEPT_OF_IT_S, read_now())
    while requests.answer(place.disk, asked) is None and time.monotonic() - began < LIMIT_S:
        time.sleep(0.01)
    agent.terminate()
    agent.wait(LIMIT_S)
    return time.monotonic() - began


def _interrupt(folder: Path, size: int) -> None:
    """Marker, steps, and the logs of episodes that were cut."""
    dice = random.Random(size)
    write_new_record(folder / "opened.json", {"id": CUT, "source": "shutdown"})
    append_line(folder / "steps.jsonl", {"step": "marker", "did": "done"})
    for number in range(HALF_DONE):
        log = folder / "salvage" / name_of(number) / "trajectory.jsonl"
        log.parent.mkdir(parents=True)
        log.write_bytes(dice.randbytes(size))


def _missing(bench: Bench, run: str) -> list[str]:
    """What must be in the store by now."""
    there = {item.key for item in bench.service.store("reader").list(f"runs/{run}/")}
    wanted = [manifest_key(run, name_of(number), 1) for number in range(FINISHED)]
    wanted += [interruption_key(run, CUT, name) for name in ("opened.json", "steps.jsonl")]
    wanted += [f"runs/{run}/record/000001.json"]
    return [key for key in wanted if key not in there]


@contextmanager
def _agent(place: Place) -> Iterator["subprocess.Popen[bytes]"]:
    """The follower as its unit starts it, with directories of its own."""
    host = place.host
    env = {
        "PATH": os.environ["PATH"],
        "SPOTEVAL_CONFIG": str(host.config),
        "SPOTEVAL_RUN_DIRECTORY": str(host.run),
        "SPOTEVAL_STATE_DIRECTORY": str(host.state),
        "SPOTEVAL_CREDENTIALS_DIRECTORY": str(host.credentials),
    }
    program = str(Path(sys.executable).parent / "spoteval-publication-follower")
    log = place.root / "agent.log"
    with (
        log.open("wb") as out,
        subprocess.Popen([program], env=env, stdout=out, stderr=out) as agent,
    ):
        try:
            yield agent
        finally:
            agent.kill()


def _wait_for_pass(place: Place) -> None:
    """Until the first line of a pass: then everything but the staged episodes is in the store."""
    until_s = time.monotonic() + LIMIT_S
    log = place.root / "agent.log"
    while b"decision=" not in log.read_bytes():
        if time.monotonic() > until_s:
            raise RuntimeError("the follower made no pass")
        time.sleep(0.05)
