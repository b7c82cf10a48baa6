"""How long a stop waits for its start: the restarter's own loop and pace, in virtual time."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from restarter_story import NOON, POLICY
from restarter_world import Host
from spoteval.config.grant import Grant
from spoteval.provider.contract import Observation, Reply, State
from spoteval_agents.restarter.served import Served

CALL_S = (0.1, 2.0)
"""How long a call to the provider takes: from a fast cloud to a slow one, evenly."""
LIFE_S, BOOT_S = (1200.0, 7200.0), (20.0, 120.0)
LONG_S = LIFE_S[1] + BOOT_S[1] + 600.0
GENEROUS = Grant(preemptions_before_healthy=None, preemptions_before_episodes=None)


@dataclass(frozen=True, slots=True)
class Delay:
    """One stop: seconds from the look that saw it, and from the stop itself, to the call that starts it again."""

    seen_s: float
    real_s: float


class Cloud:
    """One instance that stops at random moments and starts when it is asked to; each call takes its time."""

    def __init__(self, host: Host, seed: int) -> None:
        self._random, self._clock = random.Random(seed), host.clock
        self._is, self._next_s = State.RUNNING, self._random.uniform(*LIFE_S)
        self._stopped_s = 0.0
        self._seen_s: float | None = None
        self._began, self._boots, self._host = NOON, 1, host
        self.delays: list[Delay] = []
        host.provider.at_observe = self._observe
        host.provider.at_price = self._call
        host.provider.at_start = self._start
        host.provider.reply = Reply(ok=True, kind="accepted")
        self._provider = host.provider

    def _call(self) -> None:
        self._clock.seconds += self._random.uniform(*CALL_S)

    def _observe(self) -> None:
        self._call()
        self._turn()
        if self._is is State.STOPPED and self._seen_s is None:
            self._seen_s = self._clock.seconds
        billed = self._is is not State.STOPPED
        self._provider.answer = Observation(self._is, billed, last_start=self._began)

    def _start(self) -> None:
        now_s = self._clock.seconds
        assert self._seen_s is not None
        self.delays.append(Delay(now_s - self._seen_s, now_s - self._stopped_s))
        self._is, self._next_s = State.STARTING, now_s + self._random.uniform(*BOOT_S)
        self._began = NOON + timedelta(seconds=now_s)
        self._call()

    def _turn(self) -> None:
        """What has happened by now."""
        if self._clock.seconds < self._next_s:
            return
        if self._is is State.STARTING:
            self._is = State.RUNNING
            self._next_s += self._random.uniform(*LIFE_S)
            self._boots += 1
            for fact in ("booted", "healthy"):
                self._host.fact(fact, self._boots)
        elif self._is is State.RUNNING:
            self._is, self._stopped_s, self._seen_s = State.STOPPED, self._next_s, None
            self._next_s = float("inf")


def delays(root: Path, stops: int, seed: int) -> list[Delay]:
    """So many stops of one instance, each started again. Raises TimeoutError where one is not."""
    host = Host(root, replace(POLICY, grant=GENEROUS))
    cloud = Cloud(host, seed)
    served = Served(host.world, host.book, host.log, host.policy)
    while len(cloud.delays) < stops:
        if host.clock.seconds > stops * LONG_S:
            raise TimeoutError(f"{len(cloud.delays)} starts in {host.clock.seconds:.0f} s")
        host.clock.seconds = max(host.clock.seconds, served.due_s)
        served.serve()
    return cloud.delays


def share(values: Iterator[float] | list[float], percent: int) -> float:
    """The value that so many percent of them do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]
