"""Every agent, killed at every number: the stories are played once undisturbed, then once for each point."""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from drills.box import Never
from kills.end import End
from kills.story import STORIES, Injected, Played
from parts import Found, Parts, cancelled, parts

What = Literal["writes", "points"]
OWN = ("tests/kills", "tests/drills/box.py", "tests/drills/machine.py")
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
    what: What
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
    """0 when every end is the undisturbed one."""
    options = _parser().parse_args(argv)
    root = Path(options.keep or tempfile.mkdtemp(prefix="kills-")).resolve()
    what: What = "points" if options.full else "writes"
    kept = parts(Path(options.record).resolve() if options.record else None, OWN, what=what)
    agents = options.agent or AGENTS
    asked = [_kill(text) for text in options.kill]
    if "points" not in kept.more or any(_open(kept, _wanted(kept, asked, agents))):
        _play(root, what, kept, lambda: _wanted(kept, asked, agents), options.at_once)
    chosen = _wanted(kept, asked, agents)
    good = not any(_open(kept, chosen))
    kept.more["agents"] = table(kept, chosen, agents)
    kept.keep()
    if good and not options.keep:
        shutil.rmtree(root, ignore_errors=True)
    print(f"{kept.took_s:.0f} s" + ("" if good else f"; kept: {root}"))
    return 0 if good else 1


def _wanted(kept: Parts, asked: Sequence[Kill], agents: Sequence[str]) -> list[Kill]:
    """The kills that were asked for, or all of these agents."""
    return list(asked or kills(kept.more["points"], agents))


def _play(
    root: Path, what: What, kept: Parts, wanted: Callable[[], list[Kill]], at_once: int
) -> None:
    """The undisturbed stories, then what is not kept as good yet. How many points there are the first part says."""
    whole = {name: _undisturbed(root, name, what) for name in STORIES}
    kept.more.setdefault("points", {name: dict(played.points) for name, played in whole.items()})
    chosen = wanted()
    left = list(_open(kept, chosen))
    print(f"{len(left)} kills of {len(chosen)}", flush=True)
    campaign = Campaign(root, what, {name: played.end for name, played in whole.items()})
    for fate in _fates(campaign, left, at_once):
        kept.add(str(fate.kill), {"reached": fate.reached, "wrong": list(fate.wrong)})


def _open(kept: Parts, chosen: Sequence[Kill]) -> Iterator[Kill]:
    return (kill for kill in chosen if not _is_good(kept.found.get(str(kill))))


def _is_good(found: Found | None) -> bool:
    return found is not None and found["wrong"] == []


def kills(points: Mapping[str, Mapping[str, int]], agents: Sequence[str]) -> Iterator[Kill]:
    """All numbers that the undisturbed stories have."""
    for story, found in points.items():
        for agent in agents:
            for number in range(1, found.get(agent, 0) + 1):
                yield Kill(story, agent, number)


def table(kept: Parts, chosen: Sequence[Kill], agents: Sequence[str]) -> Found:
    """For each agent, of all that is kept: numbers, kills, and what went wrong. These agents' rows are printed.

    `beyond` are numbers that two plays each never came to: the undisturbed one was slower, and wrote more often.
    """
    every = {str(kill) for kill in (*kills(kept.more.get("points", {}), AGENTS), *chosen)}
    rows: Found = {}
    for agent in AGENTS:
        own = {name for name in every if name.split(":")[1] == agent}
        found = {name: kept.found[name] for name in sorted(own) if name in kept.found}
        wrong = [
            f"{name}: {'; '.join(one['wrong'])}" for name, one in found.items() if one["wrong"]
        ]
        killed = sum(one["reached"] for one in found.values())
        beyond = sum(not one["reached"] and not one["wrong"] for one in found.values())
        row = {"points": len(own), "killed": killed, "beyond": beyond, "wrong": wrong}
        rows[agent] = {**row, "again": kept.again(own)}
        if agent in agents:
            words = f"{beyond} never come to, {len(wrong)} other ends, {kept.again(own)} at a second try"
            print(f"{agent:<22} {killed:>4} of {len(own):>4} writes, {words}")
            print("".join(f"    {text}\n" for text in wrong), end="")
    return rows


def _undisturbed(root: Path, name: str, what: What) -> Played:
    folder = root / f"{name}-undisturbed"
    shutil.rmtree(folder, ignore_errors=True)
    return STORIES[name](folder, Injected(what))


def _fates(campaign: Campaign, chosen: Sequence[Kill], at_once: int) -> Iterator[Fate]:
    """Several at a time: they mostly wait. A point that was not passed this time is tried once more."""
    with cancelled(ThreadPoolExecutor(at_once)) as pool:
        for number, fate in enumerate(pool.map(campaign.fate, chosen), 1):
            again = fate if fate.reached else campaign.fate(fate.kill)
            if again.wrong or not again.reached:
                print(f"{again.kill}: {'; '.join(again.wrong) or 'never come to'}", file=sys.stderr)
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
    parser.add_argument("--record", help="keep results here; good ones of the same sources count")
    parser.add_argument("--keep", help="play here, and keep what went wrong")
    return parser
