"""Cases in which a kernel of its own adds nothing: the store is away, an end is put off, a run does not obey."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from lab.nspawn import Nspawn, until
from power.carry import objects_of
from power.ends_stage import (
    FORCED_S,
    PLAN,
    PUBLISH_S,
    End,
    Stage,
    heard,
    journal_line,
    told,
)
from power.guest import INSTANCE, RUN, Plan
from power.prepared import Prepared

HOLD_S, END_PASS_S, RUN_STOPS_S = 900.0, 120.0, 600.0
BEGINS_S, STAYS_S = 90.0, 60.0
END, RUN_UNIT = "spoteval-end-handler", "spoteval-run"
HOLDS = "/mnt/durable/spoteval/holds"


def store_unreachable(stage: Stage) -> End:
    """The store goes away with the last witness: tried for its time, then off; the next boot places the hold."""
    found = stage.guest()
    with _guest(stage, found, PLAN) as host:
        host.boot()
        host.up()
        until(lambda: _witnessed(host) >= PLAN.episodes, BEGINS_S, "the last witness", every_s=0.05)
        found.world.close()
        complete_s = time.monotonic()
        bound_s = PUBLISH_S + END_PASS_S + HOLD_S + FORCED_S
        until(lambda: host.is_down, bound_s + 60.0, "the end without a store")
        off_s = time.monotonic() - complete_s
        wrong = _placed_at_the_next_boot(host, found)
    figure = f"off {off_s:.0f} s after the run was complete, without a hold; the next boot places it first"
    return End("nspawn", figure, round(off_s, 1), bound_s, wrong)


def _placed_at_the_next_boot(host: Nspawn, found: Prepared) -> list[str]:
    told(host, found, found.world, PLAN)
    host.boot()
    host.up()

    def held() -> bool:
        return any(
            name.startswith(f"instances/{INSTANCE}/holds/") for name in objects_of(found.world)
        )

    until(held, BEGINS_S, "the hold of the last life")
    begun = journal_line(host, RUN_UNIT, "episodes begin")
    until(lambda: host.is_down, BEGINS_S, "the second end")
    again = len(host.journal("-u", RUN_UNIT, "-o", "cat", "-g", "episodes begin").splitlines()) > 1
    return ["the run was resumed"] if begun and again else []


def kill_switch(stage: Stage) -> End:
    """A complete run with the kill-switch there: on, and it says why; off once the file is gone."""
    plan = replace(PLAN, idle="1h")  # idle-guard knows no kill-switch: nobody needs that machine
    with _guest(stage, stage.guest(plan), plan) as host:
        (host.durable / "spoteval" / "holds" / "kill-switch").write_text("lab: leave it\n")
        host.boot()
        host.up()
        heard(host, END, r"decision=kill-switch", BEGINS_S)
        until(lambda: _ended(host) >= PLAN.episodes, BEGINS_S, "the run to be complete")
        time.sleep(STAYS_S)
        wrong = ["it went off"] if host.is_down else []
        line = journal_line(host, END, "decision=kill-switch")
        host.must(f"rm {HOLDS}/kill-switch")
        removed_s = time.monotonic()
        until(lambda: host.is_down, PUBLISH_S + END_PASS_S + FORCED_S, "the end after rm")
        off_s = time.monotonic() - removed_s
    figure = f"on {STAYS_S:.0f} s after the run was complete: {line}; off {off_s:.0f} s after rm"
    return End("nspawn", figure, wrong=wrong)


def run_ignores_its_stop(stage: Stage) -> End:
    """A run that ignores INT and TERM, declared over by a person: killed, and off."""
    plan = replace(PLAN, pace=20.0, stubborn_s=-1.0)
    with _guest(stage, stage.guest(), plan) as host:
        host.boot()
        host.up()
        heard(host, RUN_UNIT, "episodes begin", BEGINS_S)
        host.must(f"spoteval run finish {RUN} --reason lab")
        typed_s = time.monotonic()
        bound_s = RUN_STOPS_S + PUBLISH_S + END_PASS_S + HOLD_S + FORCED_S
        until(lambda: host.is_down, bound_s, "the end of a run that does not obey")
        off_s = time.monotonic() - typed_s
        line = journal_line(host, END, r"stage=stop")
    figure = f"off {off_s:.0f} s after spoteval run finish; {line}"
    return End("nspawn", figure, round(off_s, 1), bound_s)


@contextmanager
def _guest(stage: Stage, found: Prepared, plan: Plan) -> Iterator[Nspawn]:
    host, disk = stage.nspawn(found, plan)
    try:
        yield host
    finally:
        host.remove()
        disk.remove()


def _ended(host: Nspawn) -> int:
    return len(list((host.durable / "spoteval" / "runs").glob("*/work/episodes/*/episode.json")))


def _witnessed(host: Nspawn) -> int:
    file = host.durable / "spoteval" / "runs" / RUN / "finished.jsonl"
    return file.read_bytes().count(b"\n") if file.exists() else 0
