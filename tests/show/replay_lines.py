"""Lines that stand on the replay of a recorded disk."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from replay.recorder import NotRecorded, program
from show.lines import Line, Missing, judged, needs_full, skipped
from show.stage import Stage, run_to_file

STATES, FEW, MUTANT_STATES = 10_000, 500, 500
LIMIT_S = 3600.0


def replay(stage: Stage) -> Iterator[Line]:
    """By tests/replay/run: all states with --full, else few; the mutant that leaves out every fsync is found."""
    if not (stage.root / "tests" / "replay" / "run").exists():
        raise Missing("tests/replay/run does not exist")
    if stage.ci:
        yield needs_full("replay: states of a recorded disk")
        return
    try:
        program()
    except NotRecorded as error:
        yield skipped("replay: states of a recorded disk", error)
        return
    states = STATES if stage.full else FEW
    found = _played(stage, "replay", ["--states", str(states)])
    yield line_of(f"replay: {states} states of a recorded disk", found, states)
    if not stage.full:
        yield needs_full("replay: every fsync left out is found")
        return
    found = _played(stage, "mutant", ["--states", str(MUTANT_STATES), "--mutant"])
    figure = f"{found['bad']} of {found['states']} states denied something"
    yield judged(found["bad"] > 0, "replay: every fsync left out is found", figure)


def line_of(what: str, found: Mapping[str, Any], wanted: int) -> Line:
    """ok where all were read and none denies anything."""
    figure = (
        f"{found['states']} states, {found['bad']} unreadable or denying what the store had (before"
        f" {found['held']} of them it had something); {found['flushes']} flushes,"
        f" {found['took_s']:.0f} s; the store alone had a finished episode {found['stored_alone']} times"
    )
    good = found["bad"] == 0 and found["held"] > 0 and found["states"] >= wanted
    return judged(good, what, figure)


def _played(stage: Stage, name: str, words: list[str]) -> Mapping[str, Any]:
    record: Path = stage.scratch / f"{name}.json"
    log = stage.scratch / f"{name}.log"
    argv = [str(stage.root / "tests" / "replay" / "run"), *words, "--record", str(record)]
    run_to_file(argv, log, LIMIT_S)
    if not record.exists():
        raise Missing((log.read_text().strip().splitlines() or ["no output"])[-1])
    found: Mapping[str, Any] = json.loads(record.read_text())
    return found
