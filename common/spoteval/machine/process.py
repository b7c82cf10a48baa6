"""Processes: the only module that starts any, and what the kernel says about those that live."""

import os
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from spoteval.clock import monotonic_s
from spoteval.shape import Reading, Unreadable

NOT_EXECUTABLE, NOT_FOUND = 126, 127  # what a shell answers for a program that it cannot start
_OURS_ALONE = frozenset(["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"])
_PROC = Path("/proc")
_START_TIME_FIELD = 19  # of what follows the command's name in /proc/PID/stat


@dataclass(frozen=True, slots=True)
class Finished:
    """What became of a process: its exit code (minus the signal that ended it) and what it wrote."""

    code: int
    out: str
    err: str
    timed_out: bool
    duration_s: float

    @property
    def ok(self) -> bool:
        """Whether it ended by itself, with 0."""
        return self.code == 0 and not self.timed_out


def run(
    argv: Sequence[str],
    timeout_s: float,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdin: bytes | None = None,
) -> Finished:
    """Run a program to its end, or kill it with all it started after `timeout_s`.

    Never raises for a program that is missing or fails: the code is 127, 126, or its own. Its
    standard input is `stdin`, or empty; never ours.
    """
    began_s = monotonic_s()
    try:
        child = _popen(argv, env, cwd, subprocess.PIPE, subprocess.PIPE, subprocess.PIPE)
    except OSError as error:
        code = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
        return Finished(code, "", f"{argv[0]}: {error.strerror}", timed_out=False, duration_s=0.0)
    with child:
        out, err, timed_out = _communicated(child, timeout_s, stdin)
    duration_s = monotonic_s() - began_s
    return Finished(child.returncode, _text(out), _text(err), timed_out, duration_s)


class Child:
    """A process of ours that runs beside us, in a session of its own."""

    def __init__(self, popen: "subprocess.Popen[bytes]") -> None:
        self._popen = popen
        self.pid = popen.pid

    @property
    def stdin(self) -> IO[bytes] | None:
        """Our end of its standard input, where a pipe was asked for."""
        return self._popen.stdin

    @property
    def stdout(self) -> IO[bytes] | None:
        """Our end of its output, where a pipe was asked for."""
        return self._popen.stdout

    def poll(self) -> int | None:
        """Its exit code (minus the signal), None while it runs. Does not wait."""
        return self._popen.poll()

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Its exit code; None where it still runs after `timeout_s`."""
        try:
            return self._popen.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def send(self, signum: int) -> None:
        """Signal this process; nothing happens where it is gone."""
        self._popen.send_signal(signum)

    def send_group(self, signum: int) -> None:
        """Signal it and all that it started and that stayed in its process group."""
        _signal_group(self.pid, signum)


def spawn(
    argv: Sequence[str],
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    *,
    stdin_pipe: bool = False,
    output_pipe: bool = False,
) -> Child:
    """Start a program and return at once. Raises OSError where it cannot be started.

    Its input is empty unless `stdin_pipe`; output and errors are ours, or one pipe together with
    `output_pipe`.
    """
    stdin = subprocess.PIPE if stdin_pipe else subprocess.DEVNULL
    if output_pipe:
        return Child(_popen(argv, env, cwd, stdin, subprocess.PIPE, subprocess.STDOUT))
    return Child(_popen(argv, env, cwd, stdin, None, None))


def send(pids: Iterable[int], signum: int) -> frozenset[int]:
    """Signal processes, the own one never; returns those that were there to get it.

    Raises PermissionError where one may not be signalled, after the others were.
    """
    reached, refused = set[int](), None
    for pid in sorted(set(pids) - {os.getpid()}):
        try:
            os.kill(pid, signum)
            reached.add(pid)
        except ProcessLookupError:
            pass
        except PermissionError as error:
            refused = error
    if refused is not None:
        raise refused
    return frozenset(reached)


def is_alive(pid: int, proc: Path = _PROC) -> bool:
    """Whether the process exists and has not ended (a zombie has)."""
    fields = _stat_fields(pid, proc)
    return not isinstance(fields, Unreadable) and fields[0] not in ("Z", "X")


def start_time(pid: int, proc: Path = _PROC) -> Reading[int]:
    """When the process began, in kernel ticks since the machine's boot: with the pid, its identity."""
    fields = _stat_fields(pid, proc)
    return fields if isinstance(fields, Unreadable) else int(fields[_START_TIME_FIELD])


def signal_ignored(pid: int, signum: int, proc: Path = _PROC) -> Reading[bool]:
    """Whether the process ignores the signal.

    A shell without job control starts `cmd &` with SIGINT ignored, and Python then installs no
    handler: such a harness runs on after SIGINT as if nothing had been said.
    """
    try:
        status = (proc / str(pid) / "status").read_text()
    except OSError as error:
        return Unreadable(f"process {pid}: {error.strerror}")
    for line in status.splitlines():
        if line.startswith("SigIgn:"):
            return bool(int(line.split()[1], 16) >> (signum - 1) & 1)
    return Unreadable(f"process {pid}: no SigIgn in its status")


def _stat_fields(pid: int, proc: Path) -> Reading[list[str]]:
    """The fields of /proc/PID/stat after the command's name, which may itself hold blanks and brackets."""
    try:
        text = (proc / str(pid) / "stat").read_text(errors="replace")
    except OSError as error:
        return Unreadable(f"process {pid}: {error.strerror}")
    return text.rpartition(")")[2].split()


def _popen(
    argv: Sequence[str],
    env: Mapping[str, str] | None,
    cwd: Path | None,
    stdin: int,
    stdout: int | None,
    stderr: int | None,
) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        list(argv),
        env=_inherited() if env is None else dict(env),
        cwd=cwd,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
    )


def _inherited() -> dict[str, str]:
    """Our environment, but for what the service manager said to us alone: a child is not its main process."""
    return {name: value for name, value in os.environ.items() if name not in _OURS_ALONE}


def _communicated(
    child: "subprocess.Popen[bytes]", timeout_s: float, stdin: bytes | None
) -> tuple[bytes, bytes, bool]:
    try:
        return *child.communicate(stdin, timeout_s), False
    except subprocess.TimeoutExpired as late:
        _signal_group(child.pid, signal.SIGKILL)
        return late.output or b"", late.stderr or b"", True


def _signal_group(pid: int, signum: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(pid, signum)


def _text(data: bytes) -> str:
    return data.decode(errors="replace")
