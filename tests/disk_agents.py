"""Every agent of a guest on the disk that is mounted at `$base/durable`, inside a namespace: what each says and does.

Prints one JSON object. Started by tests as a program: only the namespace sees the disk.
"""

import io
import json
import os
import sys
from collections.abc import Callable
from contextlib import redirect_stderr
from dataclasses import dataclass, replace
from pathlib import Path

from follower_world import Clock as FollowerClock
from hook_world import Guest
from idle_world import Idle
from resume_play import AtOnce
from spoteval.control import children
from spoteval.control.children import Reply
from spoteval.control.eventlog import DecisionLog
from spoteval.harness.parts import read_part
from spoteval.harness.registry import adapter
from spoteval.shape import Reading, Unreadable
from spoteval.store.open import open_store
from spoteval_agents.boot_resume.agent import build
from spoteval_agents.end_handler.act import Hands
from spoteval_agents.end_handler.agent import Handler, policy_of
from spoteval_agents.end_handler.world import Probes
from spoteval_agents.publication_follower.agent import guarded
from spoteval_agents.publication_follower.cycle import cycle
from spoteval_agents.publication_follower.job import World
from spoteval_agents.publication_follower.memory import Memory

SESSION = "5e55"


@dataclass
class Mounted(Guest):
    """The guest whose host file and disk are there already."""

    def __post_init__(self) -> None:
        """Nothing is made."""


def refuse(verb: object, within_s: float) -> Reading[Reply]:
    """No child answers: what an agent says by itself is looked at."""
    return Unreadable(f"not asked ({within_s:g} s)")


def follower(guest: Guest) -> None:
    """Two cycles, a minute apart."""
    config, clock = guest.config, FollowerClock()
    world = World(config, open_store(config.store.url), SESSION, clock, adapter, read_part)
    memory = Memory()
    for _ in range(2):
        guarded(cycle, world, memory)
        clock.passed_s += 61.0


def end_handler(guest: Guest) -> None:
    """Some cycles."""
    config = guest.config
    hands = Hands(config, guest.host, SESSION, guest.units, AtOnce(), refuse)
    probes = Probes(config, SESSION, guest.units)
    handler = Handler(policy_of(config), probes, hands, DecisionLog(None))
    for _ in range(3):
        guest.clock.pause(handler.cycle(guest.clock()))


def boot_resume(guest: Guest) -> None:
    """Some cycles."""
    agent = build(guest.config, guest.host, SESSION)
    agent.world.members = guest.units
    agent.hands.tools = replace(agent.hands.tools, members=guest.units, ask=refuse)
    agent.hands.worker, agent.poster = AtOnce(), AtOnce()
    for _ in range(6):
        guest.clock.pause(agent.cycle(guest.clock()))


def hook(guest: Guest) -> None:
    """A notice comes, and is withdrawn."""
    guest.announce(60.0)
    taken = guest.hook()
    guest.cycle(taken)
    guest.host.draining.unlink()


def idle_guard(guest: Guest) -> None:
    """An hour in which nothing uses the machine."""
    Idle(guest).until(guest.clock.at_s + 3600.0)


def heard(act: Callable[[Guest], None], root: Path) -> list[str]:
    """What an agent said, each line once."""
    said = io.StringIO()
    with redirect_stderr(said):
        act(Mounted(root))
    lines = [line.partition(">")[2] for line in said.getvalue().splitlines()]
    return list(dict.fromkeys(lines))


def main() -> None:
    """All of them."""
    root = Path(os.environ["BASE"])
    children.ask = refuse  # type: ignore[assignment]
    acts = (follower, end_handler, boot_resume, hook, idle_guard)
    found = {act.__name__: heard(act, root) for act in acts}
    off = (root / "run" / "poweroff").exists()
    sys.stdout.write(json.dumps({"said": found, "off": off}) + "\n")


if __name__ == "__main__":
    main()
