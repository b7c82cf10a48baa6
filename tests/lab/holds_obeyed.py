"""Each hold file: obeyed within one interval, shown in the journal of who obeys it, and lifted by rm."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from lab.nspawn import Nspawn, until
from lab.person import Plan
from lab.records import complete, last, now, paths, some_ended
from lab.records import lines as journal_lines
from lab.shell import Broken
from lab.weather import Commanded
from lab.world import RUN, Kit, World, begin, set_up, world
from show.lines import Line, judged

RESTARTER, HOLDS = "spoteval-restarter.service", "/var/lib/spoteval/holds"
NEVER = "never"
GUEST_HOLDS = "/mnt/durable/spoteval/holds"
GUEST_S = 5.0 + 3.0
EVERY_S, SLACK_S = 2.0, 3.0
"""Of the guest's agents with what a loaded machine may add; of the lab's restarter, and the same apart."""


def lines(place: Path, kit: Kit) -> Iterator[Line]:
    """A run that is held on each host in turn, and its end that is put off."""
    sky = Commanded()
    plan = Plan(window_s=30, episodes=24, turns=4, delay_s=0.4, idle="8s")
    with world(place, kit, plan, sky) as lab:
        set_up(lab)
        yield from _keep_alive(lab)
        yield from _guest_hold(lab)
        some_ended(lab, 2)
        yield from _mirror(lab)
        yield from _touched(lab, sky)
        yield from _kill_switch(lab)


def _keep_alive(lab: World) -> Iterator[Line]:
    """Setup has touched it; without it the machine would have gone off."""
    unit, at = "spoteval-idle-guard.service", now()
    seen = _shown(lab.guest, unit, 'keep_alive="setup', at, GUEST_S)
    lab.guest.must("sleep 20")
    up = lab.guest.leader is not None and lab.cloud.state == "RUNNING"
    figure = f"shown after {seen}; on after 20 s without use, idle after 8 s" if up else "off"
    yield judged(up and seen != NEVER, "hold keep-alive: obeyed and shown", figure)


def _guest_hold(lab: World) -> Iterator[Line]:
    unit = "spoteval-boot-resume.service"
    lab.guest.must(
        f"echo 'lab: not yet' > {GUEST_HOLDS}/guest && echo 'lab' > {GUEST_HOLDS}/keep-alive"
    )
    at = now()
    begin(lab)
    typing_s = (now() - at).total_seconds()
    lab.guest.must(f"echo 'lab' > {GUEST_HOLDS}/keep-alive")  # the start of the run removes setup's
    word = 'stage=guest-hold hold_reason="lab: not yet"'
    seen = _shown(lab.guest, unit, word, at, typing_s + GUEST_S)
    active = lab.guest.type("systemctl is-active spoteval-run").out.strip()
    yield judged(
        seen != NEVER and active == "inactive",
        "hold guest: obeyed and shown",
        f"shown after {seen}, of which {typing_s:.1f} s of typing; run {active}",
    )
    at = now()
    lab.guest.must(f"rm {GUEST_HOLDS}/guest")
    running = "systemctl is-active spoteval-run"
    took_s = until(
        lambda: lab.guest.type(running).code == 0, 60.0, "the run", lambda: last(lab.guest)
    )
    yield judged(took_s < 30, "hold guest: rm goes on", f"run active after {took_s:.1f} s")


def _mirror(lab: World) -> Iterator[Line]:
    """Placed on the guest, seen as a file on the restarter host, lifted there by rm."""
    at = now()
    lab.guest.must("spoteval hold place gpu-1 --reason 'lab: look at it'")
    seen = _shown(lab.restarter, RESTARTER, "decision=held", at, EVERY_S + SLACK_S)
    mirrors = lab.restarter.must(f"ls {HOLDS}/gpu-1.d").split()
    yield judged(
        seen != NEVER and len(mirrors) == 1,
        "hold of the store: obeyed, shown and mirrored",
        f"shown after {seen}; {len(mirrors)} file in gpu-1.d",
    )
    at = now()
    lab.restarter.must(f"rm {HOLDS}/gpu-1.d/*")
    seen = _shown(lab.restarter, RESTARTER, "holds=none", at, 2 * EVERY_S + SLACK_S)
    released = list((lab.store / "instances" / "gpu-1" / "releases").glob("*.json"))
    figure = f"holds=none after {seen}; {len(released)} release in the store"
    yield judged(seen != NEVER and len(released) == 1, "rm of a mirror file releases", figure)


def _touched(lab: World, sky: Commanded) -> Iterator[Line]:
    """The operator's file: nothing is started while it is there."""
    at = now()
    lab.restarter.must(f"echo 'lab: tp 4 -> 8' > {HOLDS}/gpu-1")
    seen = _shown(lab.restarter, RESTARTER, 'hold_reason="lab: tp 4 -> 8"', at, EVERY_S + SLACK_S)
    sky.take()
    lab.cloud.becomes("STOPPED", 60.0)
    starts = lab.cloud.did("start-asked")
    lab.restarter.must("sleep 12")
    asked = lab.cloud.did("start-asked") - starts
    figure = f"shown after {seen}; {asked} starts in 12 s of being stopped"
    yield judged(seen != NEVER and not asked, "hold by touch: obeyed and shown", figure)
    lab.restarter.must(f"rm {HOLDS}/gpu-1")
    took_s = lab.cloud.becomes("RUNNING", 30.0)
    limit_s = 2.0 + EVERY_S + SLACK_S  # grace and a poll
    yield judged(took_s <= limit_s, "hold by touch: rm starts it", f"RUNNING after {took_s:.1f} s")
    lab.guest.up()


def _kill_switch(lab: World) -> Iterator[Line]:
    unit, at = "spoteval-end-handler.service", now()
    lab.guest.must(f"echo 'lab: leave it' > {GUEST_HOLDS}/kill-switch")
    seen = _shown(lab.guest, unit, "decision=kill-switch", at, GUEST_S)
    until(lambda: complete(lab), 240.0, "the run to be complete", lambda: last(lab.guest))
    lab.guest.must("sleep 10")
    up, ended = lab.cloud.state == "RUNNING", paths(lab).run(RUN).end.exists()
    figure = f"shown after {seen}; complete and {'on' if up else 'off'} 10 s later"
    good = seen != NEVER and up and not ended
    yield judged(good, "hold kill-switch: obeyed and shown", figure)
    lab.guest.must(f"rm {GUEST_HOLDS}/kill-switch {GUEST_HOLDS}/keep-alive")
    took_s = lab.cloud.becomes("STOPPED", 120.0)
    ended = paths(lab).run(RUN).end.exists()
    yield judged(ended, "hold kill-switch: rm ends the run", f"off after {took_s:.1f} s")


def _shown(machine: Nspawn, unit: str, word: str, since: datetime, within_s: float) -> str:
    """After how many seconds the journal of a unit shows it; "never" past `within_s`."""
    found: list[float] = []

    def there() -> bool:
        entry = next(iter(journal_lines(machine, unit, word, since)), None)
        if entry is not None:
            found.append((entry.at - since).total_seconds())
        return entry is not None

    try:
        until(there, within_s + 2.0, word, every_s=0.3)
    except Broken:
        return NEVER
    return f"{found[0]:.1f} s" if found[0] <= within_s else NEVER
