"""Short ways to make what boot-resume sees, for tests of its rows."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from guest_world import NOW, RECORD
from spoteval.clock import Mark, Now
from spoteval.control.enders import Ender
from spoteval_agents.boot_resume.decide import decide
from spoteval_agents.boot_resume.seen import (
    Facts,
    Plan,
    Policy,
    Probe,
    RunSeen,
    Seen,
    Server,
    State,
)
from spoteval_agents.boot_resume.stages import Stages

SERVER = Server("policy", "vllm.service", 4500.0, alive=True)
JUDGE = Server("judge", "vllm-judge.service", 4500.0, alive=False)
POLICY = Policy("/mnt/durable/spoteval/holds/guest", (SERVER,))
INTENT = Ender("old", "old", "idle-guard", "idle for 1200 s", "idle-20261201T030000-ab12")
# Everything up to the servers is done.
RESUMED = Stages(booted=True, resumed=True, settled=True)


def mark(ago_s: float, now: Now = NOW) -> Mark:
    """So many seconds before now."""
    return Mark(now.wall - timedelta(seconds=ago_s), now.mono_s - ago_s, now.boot)


def later(seconds: float) -> Now:
    """So many seconds after NOW."""
    return replace(NOW, wall=NOW.wall + timedelta(seconds=seconds), mono_s=NOW.mono_s + seconds)


def seen(stages: Stages = RESUMED, **changes: Any) -> Seen:
    """A world with the active run at these stages, its epoch claimed; `changes` are of Seen or of its run."""
    fields = {key: changes.pop(key) for key in list(changes) if key in RunSeen.__slots__}
    run = replace(RunSeen(RECORD, stages, claimed=True), **fields)
    look = replace(Seen("s1", run=run), servers=(SERVER,))
    return replace(look, **changes)


def planned(look: Seen, state: State | None = None, policy: Policy = POLICY) -> Plan:
    """What is decided now."""
    return decide(state or State(facts=Facts()), look, policy, NOW)


def line(look: Seen, state: State | None = None) -> str:
    """The sentence of the decision."""
    return planned(look, state).decision.line()


def looked(ready: int = 0, saw: str = "connection refused", **changes: Any) -> State:
    """A state in which the server was looked at just now."""
    probe = replace(Probe(ready=ready, saw=saw, at=NOW.mark), **changes)
    return State(probes={"policy": probe}, facts=Facts())
