"""A power button with a window, at a run that ignores SIGINT and SIGTERM: what is done before the plug."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from lab.person import Plan, guest_file
from lab.records import (
    Entry,
    counted,
    entries,
    finished,
    last,
    now,
    some_ended,
    steps,
    witness,
)
from lab.shell import Broken
from lab.weather import Commanded
from lab.world import STORE, Kit, World, begin, set_up, world, write
from show.lines import Line, judged
from spoteval.interruption import Interruption

WINDOWS = (60, 30, 8, 5, 120)
HOOK, RUN_UNIT = "spoteval-shutdown-hook.service", "spoteval-run.service"
FOLLOWER, NETWORK = "spoteval-publication-follower.service", "network-online.target"
ORDER = "order hook → run → follower → network, by the journal"
_ENDS = ("Stopped ", "Deactivated ", "Failed with result")


@dataclass(frozen=True, slots=True)
class Taken:
    """One preemption: when the button was pressed, what is on record of it, and what the journal says."""

    window_s: int
    at: datetime
    by_plug: bool
    found: Interruption
    steps: Sequence[Mapping[str, object]]
    journal: Sequence[Entry]

    def began_s(self, unit: str) -> float | None:
        """Seconds from the button to the first word of the stop of a unit."""
        return self._first(unit, ("Stopping ",))

    def ended_s(self, unit: str) -> float | None:
        """Seconds from the button to the end of a unit."""
        return self._first(unit, _ENDS)

    def _first(self, unit: str, words: Sequence[str]) -> float | None:
        own = (entry for entry in self.journal if entry.unit == unit)
        found = (entry.at for entry in own if any(word in entry.text for word in words))
        return next(((at - self.at).total_seconds() for at in found), None)


def lines(place: Path, kit: Kit, windows: Sequence[int] = WINDOWS) -> Iterator[Line]:
    """What each window shows, and over all of them that nothing is lost or run again."""
    sky = Commanded()
    plan = Plan(window_s=windows[0], episodes=90, turns=6, delay_s=0.5, ignores="KILL")
    with world(place, kit, plan, sky) as lab:
        set_up(lab)
        begin(lab)
        for number, window_s in enumerate(windows):
            taken = _taken(lab, sky, window_s, windows[number + 1 :])
            yield from judged_window(taken)
            if number == 0:
                yield judged_order(taken)
        yield _plug(lab, sky)
        yield _nothing_lost(lab)


def _plug(lab: World, sky: Commanded) -> Line:
    """No window at all: the machine is gone, the next life knows that the last one was cut."""
    some_ended(lab, len(witness(lab).ended) + 2)
    known, plugs = len(counted(lab)), lab.cloud.did("plug")
    sky.cut()
    lab.cloud.becomes("STOPPED", 30.0)
    running_s = lab.cloud.becomes("RUNNING", 60.0)
    resumed_s = some_ended(lab, len(witness(lab).ended) + 2)
    found = counted(lab)[known:]
    sources = ", ".join(item.opened.source for item in found)
    figure = f"{len(found)} interruption ({sources}), RUNNING after {running_s:.1f} s"
    good = len(found) == 1 and lab.cloud.did("plug") == plugs + 1
    return judged(good, "plug pulled in mid-run", f"{figure}, resumed after {resumed_s:.1f} s")


def _taken(lab: World, sky: Commanded, window_s: int, following: Sequence[int]) -> Taken:
    """Taken while it serves; the next life begins with the next window."""
    some_ended(lab, len(witness(lab).ended) + 2)
    known, plugs, at = len(counted(lab)), lab.cloud.did("plug"), now()
    sky.take()
    lab.cloud.becomes("STOPPING", 10.0)
    lab.cloud.becomes("STOPPED", window_s + 20.0)
    if following:
        _next_window(lab, following[0])
    every = counted(lab)
    if len(every) != known + 1:
        raise Broken(f"{len(every) - known} interruptions after one power button")
    found = every[-1]
    by_plug = lab.cloud.did("plug") > plugs
    return Taken(window_s, at, by_plug, found, steps(lab, found.opened.id), entries(lab.guest, at))


def _next_window(lab: World, window_s: int) -> None:
    assert lab.cloud.driver is not None
    lab.cloud.driver.windows_are(window_s)
    plan = replace(lab.plan, window_s=window_s)
    text = guest_file(plan, STORE, lab.disk.uuid, lab.port)
    write(lab.guest, "/etc/spoteval/config.toml", text)


def judged_window(taken: Taken) -> Iterator[Line]:
    """The marker, the order of its steps, and the end of the hook's unit."""
    name, closed = f"window {taken.window_s} s", taken.found.closed
    said = ", ".join(f"{step['step']} {step['took_s']}" for step in taken.steps)
    timed = bool(taken.steps) and all("took_s" in step for step in taken.steps)
    whole = timed and closed is not None and closed.left is not None
    yield judged(whole, f"{name}: marker and the seconds of each step", said or "no steps")
    yield _dead_first(name, taken.steps, must_copy=taken.window_s > 6)
    ended_s = taken.ended_s(HOOK)
    inside = ended_s is not None and ended_s <= taken.window_s and not taken.by_plug
    off = "the plug came first" if taken.by_plug else "then off by itself"
    figure = "no end in the journal" if ended_s is None else f"after {ended_s:.1f} s, {off}"
    yield judged(inside, f"{name}: hook's unit ended inside it", figure)


def _dead_first(name: str, found: Sequence[Mapping[str, object]], *, must_copy: bool) -> Line:
    """The run is dead before anything of its logs is copied."""
    names = [str(step["step"]) for step in found]
    details = {str(step["step"]): str(step["detail"]) for step in found}
    copied = "salvage" in names
    good = "kill" in names and all(step["ok"] for step in found if step["step"] == "kill")
    if copied:
        good = good and names.index("kill") < names.index("salvage")
    figure = f"kill: {details.get('kill', 'none')}; salvage: {details.get('salvage', 'none')}"
    return judged(
        good and (copied or not must_copy), f"{name}: dead before logs were copied", figure
    )


def judged_order(taken: Taken) -> Line:
    """The hook begins while the rest lives; the run ends by it; then the follower; the network goes last."""
    moments = (
        taken.began_s(HOOK),
        taken.ended_s(RUN_UNIT),
        taken.ended_s(HOOK),
        taken.began_s(FOLLOWER),
        taken.ended_s(NETWORK),
    )
    words = ("hook begins", "run ended", "hook ended", "follower stops", "network ended")
    said = ", ".join(
        f"{word} {'never' if at is None else f'{at:.2f}'}"
        for word, at in zip(words, moments, strict=True)
    )
    known = [at for at in moments if at is not None]
    return judged(len(known) == len(moments) and known == sorted(known), ORDER, said)


def _nothing_lost(lab: World) -> Line:
    """By the episodes' own witness; the last life is on its way up, so what ended since may not be on record yet."""
    seen = witness(lab)
    kept = {key.split("/", 1)[1] for key in finished(lab)}
    late = seen.ended - kept
    if late and lab.cloud.state != "RUNNING":
        raise Broken(f"the machine does not come back: {last(lab.restarter)}")
    twice = len(finished(lab)) - len(set(finished(lab)))
    figure = f"{len(seen.ended)} ended, {len(seen.rerun)} run again, {twice} counted twice"
    return judged(not seen.rerun and not twice, "windows: nothing is run twice", figure)
