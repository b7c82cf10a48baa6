"""Unit files of systemd, as far as a local node obeys them. What it does not know, it leaves alone."""

import re
import shlex
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

Settings = Mapping[tuple[str, str], Sequence[str]]

_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(us|ms|s|sec|m|min|h|d)?(?:\s+|$)")
_SPAN_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_SPAN_UNITS |= {"": 1.0, "d": 86400.0}
_DEFAULT_TIMEOUT = "90s"  # DefaultTimeoutStartSec= and DefaultTimeoutStopSec= of systemd


class UnitError(ValueError):
    """A unit file that a local node cannot obey. The text names the file and the setting."""


@dataclass(frozen=True, slots=True)
class Command:
    """One line of ExecStart= and its kin; with `may_fail`, its failure does not fail the unit."""

    argv: tuple[str, ...]
    may_fail: bool = False


@dataclass(frozen=True, slots=True)
class Condition:
    """ConditionPathExists=: the unit starts only while the path is there, or is not."""

    path: Path
    there: bool


@dataclass(frozen=True, slots=True)
class Unit:
    """What a unit says. Times in seconds, None where there is no limit."""

    name: str
    type: str
    after: frozenset[str]
    before: frozenset[str]
    enabled_by: tuple[str, ...]  # WantedBy=: a unit without it is static, started only on request
    conditions: tuple[Condition, ...]
    commands: tuple[Command, ...]  # ExecStartPre=, ExecStart=, ExecStartPost=, in this order
    environment: Mapping[str, str]
    start_timeout_s: float | None
    stop_timeout_s: float | None
    watchdog_s: float | None
    kill_signal: int
    kill_mode: str
    success: frozenset[int]  # exit codes, and minus the numbers of signals
    restart: str
    restart_s: float
    no_restart: frozenset[int]  # RestartPreventExitStatus=
    path_exists: Path | None  # of a .path unit
    starts: str  # the unit that a .path unit starts

    @property
    def is_path(self) -> bool:
        """Whether it watches a path instead of running a program."""
        return self.name.endswith(".path")

    def restarts_after(self, code: int, *, clean: bool) -> bool:
        """Whether Restart= asks for another start after such an end."""
        if code in self.no_restart:
            return False
        return self.restart == "always" or (self.restart == "on-failure" and not clean)


def load_units(directories: Sequence[Path]) -> dict[str, Unit]:
    """The units of some directories; a later directory's file replaces an earlier one's, drop-ins add.

    Raises UnitError for a file that cannot be obeyed, or an order that bites its tail.
    """
    found: dict[str, Path] = {}
    for directory in directories:
        for kind in ("*.service", "*.path"):
            found |= {path.name: path for path in sorted(directory.glob(kind))}
    units = {name: parse_unit(name, _texts(path, directories)) for name, path in found.items()}
    start_order(units)
    return units


def parse_unit(name: str, texts: Sequence[str]) -> Unit:
    """One unit from its file's text and those of its drop-ins; raises UnitError."""
    settings = parse_settings(texts)
    try:
        return _unit(name, settings)
    except (ValueError, KeyError) as error:
        raise UnitError(f"{name}: {error}") from error


def parse_settings(texts: Sequence[str]) -> dict[tuple[str, str], list[str]]:
    """(section, key) → values, in order. An empty value forgets those before it, as in systemd."""
    settings: dict[tuple[str, str], list[str]] = {}
    for text in texts:
        section = ""
        for line in _lines(text):
            if line.startswith("[") and line.endswith("]"):
                section = line[1:-1]
                continue
            key, _, value = line.partition("=")
            values = settings.setdefault((section, key.strip()), [])
            values.append(value.strip()) if value.strip() else values.clear()
    return settings


def ordered_after(units: Mapping[str, Unit]) -> dict[str, frozenset[str]]:
    """For each unit those of `units` that it starts after, by its own After= or by their Before=."""
    return {
        name: frozenset(
            other.name
            for other in units.values()
            if other.name in unit.after or name in other.before
        )
        for name, unit in units.items()
    }


def start_order(units: Mapping[str, Unit]) -> tuple[str, ...]:
    """One order in which the units may start, and backwards stop; raises UnitError for a cycle."""
    try:
        return tuple(TopologicalSorter(ordered_after(units)).static_order())
    except CycleError as error:
        raise UnitError(f"units ordered in a circle: {' after '.join(error.args[1])}") from error


def span_s(text: str) -> float | None:
    """Seconds of a time span such as "90", "15s", "1min 30s"; None for infinity. Raises ValueError."""
    if text == "infinity":
        return None
    parts = list(_SPAN.finditer(text))
    if not parts or "".join(part[0] for part in parts) != text:
        raise ValueError(f'"{text}" is no time span such as "15s"')
    return sum(float(part[1]) * _SPAN_UNITS[part[2] or ""] for part in parts)


def _unit(name: str, settings: Settings) -> Unit:
    kind = _last(settings, "Service", "Type", "simple")
    stem = name.rpartition(".")[0]
    path = _last(settings, "Path", "PathExists", "")
    default_start = "infinity" if kind == "oneshot" else _DEFAULT_TIMEOUT
    return Unit(
        name=name,
        type=kind,
        after=_words(settings, "Unit", "After"),
        before=_words(settings, "Unit", "Before"),
        enabled_by=tuple(sorted(_words(settings, "Install", "WantedBy"))),
        conditions=tuple(map(_condition, _all(settings, "Unit", "ConditionPathExists"))),
        commands=tuple(_commands(settings)),
        environment=_environment(settings),
        start_timeout_s=span_s(_last(settings, "Service", "TimeoutStartSec", default_start)),
        stop_timeout_s=span_s(_last(settings, "Service", "TimeoutStopSec", _DEFAULT_TIMEOUT)),
        watchdog_s=span_s(_last(settings, "Service", "WatchdogSec", "infinity")),
        kill_signal=signal.Signals[_last(settings, "Service", "KillSignal", "SIGTERM")],
        kill_mode=_last(settings, "Service", "KillMode", "control-group"),
        success=_success(settings),
        restart=_last(settings, "Service", "Restart", "no"),
        restart_s=span_s(_last(settings, "Service", "RestartSec", "100ms")) or 0.0,
        no_restart=_codes(settings, "RestartPreventExitStatus"),
        path_exists=Path(path) if path else None,
        starts=_last(settings, "Path", "Unit", f"{stem}.service"),
    )


def _commands(settings: Settings) -> Iterator[Command]:
    for key in ("ExecStartPre", "ExecStart", "ExecStartPost"):
        for line in _all(settings, "Service", key):
            prefix = line[: len(line) - len(line.lstrip("-+!:@"))]
            yield Command(tuple(shlex.split(line[len(prefix) :])), "-" in prefix)


def _condition(value: str) -> Condition:
    return Condition(Path(value.removeprefix("!")), not value.startswith("!"))


def _environment(settings: Settings) -> dict[str, str]:
    words = [
        word for line in _all(settings, "Service", "Environment") for word in shlex.split(line)
    ]
    return dict(word.split("=", 1) for word in words if "=" in word)


def _success(settings: Settings) -> frozenset[int]:
    """0 and the four signals that systemd takes for a clean end, and what the unit adds."""
    signals = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGPIPE)
    clean = frozenset([0, *(-int(signum) for signum in signals)])
    return clean | _codes(settings, "SuccessExitStatus")


def _codes(settings: Settings, key: str) -> frozenset[int]:
    return frozenset(map(_code, _words(settings, "Service", key)))


def _code(word: str) -> int:
    return int(word) if word.isdigit() else -int(signal.Signals[word])


def _words(settings: Settings, section: str, key: str) -> frozenset[str]:
    return frozenset(word for value in _all(settings, section, key) for word in value.split())


def _all(settings: Settings, section: str, key: str) -> Sequence[str]:
    return settings.get((section, key), ())


def _last(settings: Settings, section: str, key: str, default: str) -> str:
    values = _all(settings, section, key)
    return values[-1] if values else default


def _texts(path: Path, directories: Sequence[Path]) -> list[str]:
    dropins = [part for place in directories for part in (place / f"{path.name}.d").glob("*.conf")]
    return [part.read_text() for part in (path, *sorted(dropins, key=lambda part: part.name))]


def _lines(text: str) -> Iterator[str]:
    """Logical lines: comments and blanks left out, a trailing backslash joined with what follows."""
    joined = ""
    for raw in text.splitlines():
        line = raw.strip()
        if line.startswith(("#", ";")):
            continue
        joined += line
        if joined.endswith("\\"):
            joined = joined[:-1] + " "
            continue
        if joined:
            yield joined
        joined = ""
    if joined.strip():
        yield joined.strip()
