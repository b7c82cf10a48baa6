"""Our own units restarted, upgraded and removed under a run, which must not notice; and a person's reboot, which is
one interruption."""

from collections.abc import Iterator
from pathlib import Path

from lab.nspawn import Nspawn, until
from lab.person import Plan
from lab.records import counted, finished, paths, run_paths, some_ended, witness
from lab.world import AGENTS, RUN, Kit, World, begin, set_up, world
from show.lines import Line, judged
from spoteval.control.runfiles import interruptions

KEPT = "touched by a person"


def lines(place: Path, kit: Kit) -> Iterator[Line]:
    """One run from its begin to the removal of the package."""
    plan = Plan(window_s=60, episodes=120, turns=6, delay_s=0.5)
    with world(place, kit, plan) as lab:
        set_up(lab)
        begin(lab)
        some_ended(lab, 1)
        keep_alive = paths(lab).keep_alive
        lab.guest.must(f"echo {KEPT} > /mnt/durable/{keep_alive.relative_to(lab.disk.point)}")
        yield from _restarts(lab)
        yield _upgrade(lab)
        yield from _reboot(lab)
        yield from _removal(lab)


def _restarts(lab: World) -> Iterator[Line]:
    run = _process(lab.guest)
    for agent in AGENTS:
        before = _process(lab.guest, f"spoteval-{agent}")
        lab.guest.must(f"systemctl restart spoteval-{agent}")
        after = _process(lab.guest, f"spoteval-{agent}")
        same = _process(lab.guest) == run
        figure = f"{_interruptions(lab)}, run's process {'the same' if same else 'another'}"
        good = same and before != after and not counted(lab)
        yield judged(good, f"systemctl restart spoteval-{agent} during a run", figure)
    starts, before = lab.cloud.did("start-asked"), _process(lab.restarter, "spoteval-restarter")
    lab.restarter.must("systemctl restart spoteval-restarter")
    asked = lab.cloud.did("start-asked") - starts
    good = _process(lab.restarter, "spoteval-restarter") != before and not asked
    good = good and _process(lab.guest) == run and not counted(lab)
    figure = f"{_interruptions(lab)}, {asked} starts asked for"
    yield judged(good, "systemctl restart spoteval-restarter during a run", figure)


def _upgrade(lab: World) -> Line:
    run, agents = _process(lab.guest), _agents(lab)
    lab.guest.must(f"apt-get install -y -q /srv/deb/{lab.kit.newer.name}", 300)
    until(lambda: _agents(lab).isdisjoint(agents), 60.0, "the agents to be the new ones")
    version = lab.guest.must("dpkg-query -W -f='${Version}' spoteval")
    same = _process(lab.guest) == run
    figure = f"{version}: {_interruptions(lab)}, run's process {'the same' if same else 'another'}"
    good = same and not counted(lab) and version.endswith("+later") and _all_up(lab)
    return judged(good, "apt install of a newer build during a run", figure)


def _reboot(lab: World) -> Iterator[Line]:
    leader = lab.guest.leader
    lab.guest.type("systemctl reboot")
    began_s = until(lambda: lab.guest.leader not in (None, leader), 90.0, "the machine to reboot")
    lab.guest.up()
    active = "systemctl is-active spoteval-run"
    began_s += until(lambda: lab.guest.type(active).code == 0, 120.0, "the run to be resumed")
    before = len(witness(lab).ended)
    took_s = began_s + some_ended(lab, before + 1)
    found = [item.closed.cause if item.closed else "cut short" for item in counted(lab)]
    figure = f"{len(found)} interruption, cause {', '.join(found)}, resumed after {took_s:.0f} s"
    yield judged(found == ["operator"], "reboot by a person", figure)
    again = witness(lab).rerun
    yield judged(not again, "reboot: finished episodes run again", f"{len(again)} of {before}")


def _removal(lab: World) -> Iterator[Line]:
    run, record = _process(lab.guest), run_paths(lab).record.read_bytes()
    known = len(counted(lab))
    lab.guest.must("apt-get remove -y -q spoteval", 300)
    same = _process(lab.guest) == run
    figure = f"{len(counted(lab)) - known} more, run's process {'the same' if same else 'another'}"
    yield judged(same and len(counted(lab)) == known, "apt remove during a run", figure)
    before = len(witness(lab).ended)
    until(lambda: len(witness(lab).ended) > before, 120.0, "the run to go on without us")
    kept = paths(lab).keep_alive.read_text().strip() == KEPT
    kept = kept and run_paths(lab).record.read_bytes() == record
    lines = len(finished(lab))
    yield judged(
        kept and lines > 0, "apt remove: holds and records", f"untouched, {lines} finished"
    )
    lab.guest.must("apt-get purge -y -q spoteval", 300)
    kept = paths(lab).keep_alive.exists() and run_paths(lab).record.exists()
    yield judged(kept, "apt purge: holds and records of the disk", "there" if kept else "gone")


def _process(machine: Nspawn, unit: str = "spoteval-run") -> str:
    return machine.must(f"systemctl show -p MainPID --value {unit}").strip()


def _agents(lab: World) -> set[str]:
    return {_process(lab.guest, f"spoteval-{agent}") for agent in AGENTS}


def _all_up(lab: World) -> bool:
    names = " ".join(f"spoteval-{agent}" for agent in AGENTS)
    return lab.guest.type(f"systemctl is-active {names}").code == 0


def _interruptions(lab: World) -> str:
    """How many count, and how many stops were told apart from one."""
    every = interruptions(run_paths(lab))
    return f"{len(counted(lab))} interruptions of {RUN}, {len(every)} stops of the hook"
