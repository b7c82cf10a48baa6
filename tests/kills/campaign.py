"""Every agent, killed at every number: the stories are played once undisturbed, then once for each point."""

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from drills.box import Never
from kills.end import End
from kills.story import STORIES, Injected, Played

AGENTS = (
    *("shutdown-hook", "boot-resume", "publication-follower", "idle-guard", "end-handler"),
    "run",
)
"""The last is `spoteval run exec`, before it becomes the harness."""


@dataclass(frozen=True, slots=True)
class Kill:
    """One replay: who is killed at which point of which story."""

    story: str
    agent: str
    number: int

    def __str__(self) -> str:
        """As a person types it."""
        return f"{self.story}:{self.agent}:{self.number}"


@dataclass(frozen=True, slots=True)
class Fate:
    """What came of one: whether the point was reached, and where the end differs."""

    kill: Kill
    reached: bool
    wrong: tuple[str, ...] = ()


@dataclass(slots=True)
class Campaign:
    """Where it plays, and the undisturbed ends."""

    root: Path
    what: Literal["writes", "points"]
    ends: dict[str, End]

    def fate(self, kill: Kill) -> Fate:
        """Play it; what went well is cleared away."""
        folder = self.root / str(kill).replace(":", "-")
        shutil.rmtree(folder, ignore_errors=True)
        try:
            played = STORIES[kill.story](folder, Injected(self.what, kill.agent, kill.number))
        except Never as never:
            return Fate(kill, reached=True, wrong=(str(never),))
        wrong = played.end.unlike(self.ends[kill.story])
        if not wrong:
            shutil.rmtree(folder, ignore_errors=True)
        return Fate(kill, played.was_killed, wrong)


def main(argv: Sequence[str] | None = None) -> int:
    """0 when every point was reached and every end is the undisturbed one."""
    options = _parser().parse_args(argv)
    root = Path(options.keep or tempfile.mkdtemp(prefix="kills-")).resolve()
    began_s = time.monotonic()
    what: Literal["writes", "points"] = "points" if options.full else "writes"
    whole = {name: _undisturbed(root, name, what) for name in STORIES}
    campaign = Campaign(root, what, {name: played.end for name, played in whole.items()})
    agents = options.agent or AGENTS
    chosen = [_kill(text) for text in options.kill] or list(kills(whole, agents))
    print(f"{len(chosen)} kills", flush=True)
    fates = list(_fates(campaign, chosen, options.at_once))
    took_s = time.monotonic() - began_s
    found = table(fates, agents, took_s)
    if options.json:
        Path(options.json).write_text(json.dumps(found, indent=1))
    good = all(fate.reached and not fate.wrong for fate in fates)
    if good and not options.keep:
        shutil.rmtree(root, ignore_errors=True)
    print(f"{took_s:.0f} s" + ("" if good else f"; kept: {root}"))
    return 0 if good else 1


def kills(whole: Mapping[str, Played], agents: Sequence[str]) -> Iterator[Kill]:
    """All numbers that the undisturbed stories have."""
    for story, played in whole.items():
        for agent in agents:
            for number in range(1, played.points.get(agent, 0) + 1):
                yield Kill(story, agent, number)


def table(fates: Sequence[Fate], agents: Sequence[str], took_s: float) -> dict[str, object]:
    """For each agent: numbers, kills, and what went wrong; printed as it is made."""
    rows: dict[str, object] = {}
    for agent in agents:
        own = [fate for fate in fates if fate.kill.agent == agent]
        wrong = [f"{fate.kill}: {'; '.join(fate.wrong)}" for fate in own if fate.wrong]
        killed = sum(fate.reached for fate in own)
        rows[agent] = {"points": len(own), "killed": killed, "wrong": wrong}
        print(f"{agent:<22} {killed:>4} of {len(own):>4} writes  {len(wrong)} other ends")
        for text in wrong:
            print(f"    {text}")
    return {"agents": rows, "took_s": round(took_s, 1)}


def _undisturbed(root: Path, name: str, what: Literal["writes", "points"]) -> Played:
    folder = root / f"{name}-undisturbed"
    shutil.rmtree(folder, ignore_errors=True)
    return STORIES[name](folder, Injected(what))


def _fates(campaign: Campaign, chosen: Sequence[Kill], at_once: int) -> Iterator[Fate]:
    """Several at a time: they mostly wait. A point that was not passed this time is tried once more."""
    with ThreadPoolExecutor(at_once) as pool:
        for number, fate in enumerate(pool.map(campaign.fate, chosen), 1):
            again = fate if fate.reached else campaign.fate(fate.kill)
            if again.wrong or not again.reached:
                print(f"{again.kill}: {'; '.join(again.wrong) or 'not reached'}", file=sys.stderr)
            if number % 50 == 0:
                print(f"{number} of {len(chosen)}", file=sys.stderr, flush=True)
            yield again


def _kill(text: str) -> Kill:
    story, agent, number = text.split(":")
    return Kill(story, agent, int(number))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("tests/kills/run", description=__doc__)
    parser.add_argument("--agent", action="append", choices=AGENTS, help="only this one")
    parser.add_argument("--kill", action="append", default=[], help="only STORY:AGENT:NUMBER")
    parser.add_argument("--full", action="store_true", help="also in and after each write")
    parser.add_argument("--at-once", type=int, default=4, help="replays at a time (4)")
    parser.add_argument("--json", help="write the figures here")
    parser.add_argument("--keep", help="play here, and keep what went wrong")
    return parser
