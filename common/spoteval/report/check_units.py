"""The checks of systemd: what is in force for the units, not what their files ask for."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from spoteval.config.window import reserve_s
from spoteval.control.dropins import FOLLOWER, NAME, RUN, mount_unit
from spoteval.local.unit_file import span_s
from spoteval.machine import process
from spoteval.machine.process import Run
from spoteval.machine.unit_properties import Properties, properties
from spoteval.paths import HostPaths
from spoteval.report.agents import AGENTS
from spoteval.report.check import Check, fail, ok, warn
from spoteval.shape import Reading, Unreadable

HOOK, POWEROFF = "spoteval-shutdown-hook.service", "poweroff.target"
FORCED_WITHIN_S = 300.0
_BOOTED = Path("/run/systemd/system")
_UNITS = Path("/etc/systemd/system")
_ASKED = ("After", "JobTimeoutUSec", "LoadState", "TimeoutStopUSec", "UnitFileState")
_BUS = ("dbus.service", "dbus.socket")
_LIST_S = 10.0
_MOST_NAMED = 5

Units = Mapping[str, Properties]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What this host needs of its units: the notice window in seconds, where the durable disk is mounted, who runs."""

    window_s: float
    mount: Path
    running: frozenset[str] = frozenset(AGENTS)


def is_this_host(paths: HostPaths, booted: Path = _BOOTED) -> bool:
    """Whether the service manager of this machine is the one of these directories: a local node has its own."""
    return paths.run == HostPaths().run and booted.is_dir()


def guest_units(wanted: Wanted, run: Run = process.run) -> Iterator[Check]:
    """Stop timeouts, power-off, order, and what starts at the next boot, all as systemd has them in force."""
    others = _enabled(run)
    if isinstance(others, Unreadable):
        yield warn("units", f"not known here: {others.why}")
        return
    ours = [f"spoteval-{agent}.service" for agent in AGENTS]
    found = properties([*ours, RUN, POWEROFF, *sorted(set(others) - {*ours})], _ASKED, run)
    if isinstance(found, Unreadable):
        yield warn("units", f"not known here: {found.why}")
        return
    if found[HOOK].get("LoadState") == "not-found":
        yield fail("units", f"{HOOK} is not installed (docs/install.md)")
        return
    yield hook_check(found, wanted.window_s)
    yield from poweroff_checks(found)
    yield order_check(found, wanted.mount)
    yield from enabled_checks(found, wanted.running)


def hook_check(units: Units, window_s: float) -> Check:
    """A stop that systemd ends before the plan does would cut the last pass off."""
    needed_s = window_s - reserve_s(window_s)
    has_s = _span(units[HOOK], "TimeoutStopUSec")
    if has_s is not None and has_s < needed_s:
        return fail(
            "stop",
            f"shutdown-hook is killed after {has_s:g} s, its plan takes {needed_s:g} s"
            f" (a drop-in shortens TimeoutStopSec=: systemctl cat {HOOK})",
        )
    follower_s = _span(units[FOLLOWER], "TimeoutStopUSec")
    return ok(
        "stop",
        f"shutdown-hook may take {_said(has_s)}, its plan {needed_s:g} s of the window of {window_s:g} s;"
        f" publication-follower {_said(follower_s)}",
    )


def poweroff_checks(units: Units) -> Iterator[Check]:
    """A service that will not die keeps a machine that costs money."""
    forced_s = _span(units[POWEROFF], "JobTimeoutUSec")
    hook_s = _span(units[HOOK], "TimeoutStopUSec")
    if forced_s is None or forced_s > FORCED_WITHIN_S:
        yield warn(
            "poweroff",
            f"forced only after {_said(forced_s)}: a service that will not die keeps the machine that long"
            " (the package's poweroff.target.d/50-spoteval.conf says 180 s)",
        )
    elif hook_s is None or hook_s > forced_s:
        yield fail("poweroff", f"forced after {forced_s:g} s, before the hook's {_said(hook_s)}")
    else:
        yield ok("poweroff", f"forced after {forced_s:g} s")
    longest = {
        unit: span
        for unit, found in units.items()
        if unit != POWEROFF and (span := _span(found, "TimeoutStopUSec", 0.0)) != 0.0
        if forced_s is not None and (span is None or span > forced_s)
    }
    if longest:
        names = ", ".join(f"{unit} {_said(s)}" for unit, s in list(longest.items())[:_MOST_NAMED])
        yield warn("poweroff", f"cut short by it: {names} (their TimeoutStopSec=)")


def order_check(units: Units, mount: Path) -> Check:
    """Stops are starts backwards: what the hook needs must have been started before it."""
    after = units[HOOK].get("After", "").split()
    needed = (*_BUS, RUN, FOLLOWER, "network-online.target", mount_unit(mount))
    lacking = [unit for unit in needed if unit not in after]
    if lacking:
        text = f"shutdown-hook is not ordered after {', '.join(lacking)}: gone before it has ended"
        return fail("order", f"{text} (spoteval setup guest)")
    return ok("order", "shutdown-hook stops before the run, the follower, D-Bus, network and disk")


def enabled_checks(units: Units, running: frozenset[str]) -> Iterator[Check]:
    """An agent that runs today and is not enabled is absent after the next preemption."""
    off = [
        agent
        for agent in AGENTS
        if agent in running
        and not units[f"spoteval-{agent}.service"].get("UnitFileState", "").startswith("enabled")
    ]
    if off:
        names = " ".join(f"spoteval-{agent}" for agent in off)
        yield warn("enabled", f"not at the next boot: {', '.join(off)} (systemctl enable {names})")


def dropin_check(texts: Mapping[str, str], role: str, units: Path = _UNITS) -> Iterator[Check]:
    """Whether the units were told of the host file as it is now."""
    old = [unit for unit, text in texts.items() if _read(units / f"{unit}.d" / NAME) != text]
    if old:
        yield warn(
            "units", f"not told of the host file of now: {', '.join(old)} (spoteval setup {role})"
        )


def _read(path: Path) -> str | None:
    try:
        return path.read_text()
    except OSError:
        return None


def _enabled(run: Run) -> Reading[tuple[str, ...]]:
    """The services that boot with the machine, but for templates, which are none."""
    words = ["list-unit-files", "--type=service", "--state=enabled", "--plain", "--no-legend"]
    done = run(["systemctl", *words], _LIST_S)
    if not done.ok:
        why = f"timeout:{_LIST_S:g}s" if done.timed_out else " ".join(done.err.split())
        return Unreadable(f"systemctl list-unit-files: {why or f'exit {done.code}'}")
    names: Iterable[str] = (line.split()[0] for line in done.out.splitlines() if line.split())
    return tuple(name for name in names if "@." not in name)


def _span(found: Properties, name: str, absent: float | None = None) -> float | None:
    """Seconds; None for infinity, `absent` where systemd says nothing that we read."""
    try:
        return span_s(found.get(name, ""))
    except ValueError:
        return absent


def _said(span: float | None) -> str:
    return "for ever" if span is None else f"{span:g} s"
