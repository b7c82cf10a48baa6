"""The driver of a local node: a process tree booted, given notice and cut off as the market says."""

import argparse
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from spoteval.clock import Now, read_now, stamp
from spoteval.files import Taken, append_line, held, remove, write_record
from spoteval.local.cloud import CloudFiles, Request
from spoteval.local.directories import LocalDirectories
from spoteval.local.machine import Machine, UnitMachine
from spoteval.local.market import NEW, History, Market, boots, price
from spoteval.local.node_decide import STATES, Seen, Step, decide
from spoteval.local.progress import Progress
from spoteval.local.unit_file import Unit, UnitError, load_units
from spoteval.local.unit_set import check
from spoteval.local.watchdog import ENDING, guarded, parent_watch
from spoteval.local.weather import weather
from spoteval.loop import Waker

TICK_S = 0.05
RESTARTER = "spoteval-restarter.service"


class Driver:
    """One node and its place in the local cloud. `tick` looks, decides and acts; nothing waits."""

    def __init__(self, cloud: CloudFiles, machine: Machine, market: Market) -> None:
        self._cloud = cloud
        self._machine = machine
        self._market = market
        self._history: History = NEW
        self._since: Now | None = None
        self._last_start: str | None = None
        self._stop_reason: str | None = None
        self._progress = Progress(machine.durable)

    def power_on(self, now: Now) -> None:
        """The cloud comes into being, with the instance stopped. What an earlier driver left is over."""
        self._since = now
        self._machine.kill(now)
        remove(self._cloud.notice)
        for directory in (self._cloud.requests, self._cloud.replies):
            shutil.rmtree(directory, ignore_errors=True)
            directory.mkdir(parents=True)
        self._write_state(now)

    def power_off(self, now: Now) -> None:
        """The cloud ends: nothing that it started lives on."""
        self._machine.kill(now)

    def tick(self, now: Now) -> None:
        """One look, at most one step, and the units moved on."""
        seen = self._seen(now)
        step = decide(self._market, self._history, seen)
        if step is not None:
            self._act(step, seen.request, now)
        self._machine.tick(now)

    def _seen(self, now: Now) -> Seen:
        assert self._since is not None
        kinds = self._progress.kinds()
        return Seen(
            in_phase_s=now.mono_s - self._since.mono_s,
            request=self._cloud.oldest_request(),
            resume_began="resume-began" in kinds,
            first_episode="first-episode" in kinds,
            poweroff_asked=self._machine.poweroff_asked,
            units_down=self._machine.is_down,
        )

    def _act(self, step: Step, request: Request | None, now: Now) -> None:
        """The effect first, its acknowledgement last: a caller that hears nothing cannot know."""
        self._enter(step, now)
        self._do(step, now)
        if step.phases:
            self._write_state(now)
        self._remember(step, now)
        if request is not None and step.answer is not None:
            self._cloud.answer(request.id, *step.answer)

    def _enter(self, step: Step, now: Now) -> None:
        assert self._since is not None
        length_s = now.mono_s - self._since.mono_s
        for phase in step.phases:
            ended = replace(self._history[-1], length_s=length_s)
            self._history = (*self._history[:-1], ended, phase)
            self._since, length_s = now, 0.0
        self._stop_reason = self._history[-1].cause or self._stop_reason

    def _do(self, step: Step, now: Now) -> None:
        if step.deed == "boot":
            self._boot(now)
        elif step.deed == "notice":
            self._show_notice(step.window_s, now)
        elif step.deed == "button":
            self._machine.press_button()
        elif step.deed in ("plug", "off"):
            self._machine.kill(now)
            remove(self._cloud.notice)

    def _boot(self, now: Now) -> None:
        self._progress = Progress(self._machine.durable)
        self._last_start, self._stop_reason = stamp(now.wall), None
        self._machine.boot()

    def _show_notice(self, window_s: float, now: Now) -> None:
        deadline = now.wall + timedelta(seconds=window_s)
        notice = {
            "kind": "preemption",
            "deadline": stamp(deadline),
            "id": f"notice-{boots(self._history)}",
        }
        write_record(self._cloud.notice, notice)

    def _write_state(self, now: Now) -> None:
        state = STATES[self._history[-1].name]
        amount = price(self._market, self._history)
        record = {
            "state": state,
            "billed": state != "STOPPED",
            "last_start": self._last_start,
            "stop_reason": self._stop_reason if state == "STOPPED" else None,
            "since": stamp(now.wall),
            "price": {"amount": amount, "currency": "USD", "per": "hour"},
        }
        write_record(self._cloud.state, record)

    def _remember(self, step: Step, now: Now) -> None:
        phase = self._history[-1]
        line = {
            "at": stamp(now.wall),
            "what": step.what,
            "phase": phase.name,
            "cause": phase.cause,
            "boot": boots(self._history),
            "status": step.answer[0] if step.answer is not None else None,
        }
        append_line(self._cloud.history, line, durable=False)


def enabled(units: dict[str, Unit]) -> list[str]:
    """The units that a guest boots: all that say WantedBy=, but for the other host's and for templates."""
    own = (name for name, unit in units.items() if unit.enabled_by and "@." not in name)
    return [name for name in own if name != RESTARTER]


def main(argv: Sequence[str] | None = None) -> int:
    """Drive one node until TERM or INT; 2 for a wrong call, 3 where another driver serves this cloud."""
    options = _parser().parse_args(argv)
    directories = LocalDirectories(options.root.resolve())
    cloud = CloudFiles(options.cloud.resolve())
    try:
        units = load_units([path.resolve() for path in options.units])
        check(units)
        market = Market(options.seed, weather(options.profile))
        machine = UnitMachine(directories, units, enabled(units))
        with held(cloud.lock), guarded(directories.root):
            alive = parent_watch(with_parent=options.with_parent)
            drive(Driver(cloud, machine, market), alive)
    except (UnitError, ValueError) as error:
        return _refused(2, error)
    except Taken as error:
        return _refused(3, error)
    return 0


def drive(driver: Driver, parent_lives: Callable[[], bool]) -> None:
    """Until TERM or INT, or until the parent is gone; nothing that was started lives on."""
    with Waker(signals=ENDING) as waker:
        driver.power_on(read_now())
        try:
            while waker.wait(TICK_S).reason != "signal" and parent_lives():
                driver.tick(read_now())
        finally:
            driver.power_off(read_now())


def _refused(code: int, error: Exception) -> int:
    sys.stderr.write(f"{error}\n")
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m spoteval.local.node", description=__doc__)
    parser.add_argument("--root", type=Path, required=True, help="the node's directory")
    parser.add_argument("--cloud", type=Path, required=True, help="the instance's directory")
    parser.add_argument("--units", type=Path, action="append", required=True, help="unit files")
    parser.add_argument("--seed", type=int, default=0, help="of the market")
    parser.add_argument("--profile", default="demo", help="demo, calm, or weibull:SHAPE:SCALE_S")
    parser.add_argument("--with-parent", action="store_true", help="end when the caller ends")
    return parser


if __name__ == "__main__":
    sys.exit(main())
