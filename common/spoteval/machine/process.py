"""Processes: the only module that starts any, and what the kernel says about those that live."""

import os
import selectors
import signal
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from spoteval.clock import monotonic_s
from spoteval.shape import Reading, Unreadable

NOT_EXECUTABLE, NOT_FOUND = 126, 127  # what a shell answers for a program that it cannot start
LEFT_S = 2.0
"""How long a killed process is waited for: one in an uninterruptible sleep, such as nvidia-smi, dies much later."""
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
    too_much: bool = False  # it wrote more than it might, and was killed for it

    @property
    def ok(self) -> bool:
        """Whether it ended by itself, with 0."""
        return self.code == 0 and not self.timed_out and not self.too_much


Run = Callable[[Sequence[str], float], Finished]
"""How `run` is called by who only asks a program: its words, and how many seconds it may take."""


@dataclass(frozen=True, slots=True)
class _Output:
    out: bytes
    err: bytes
    timed_out: bool = False
    too_much: bool = False


def run(
    argv: Sequence[str],
    timeout_s: float,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdin: bytes | None = None,
    most_bytes: int | None = None,
) -> Finished:
    """Run a program to its end, or kill it with all it started after `timeout_s` or `most_bytes` of output.

    Never raises for a program that is missing or fails: the code is 127, 126, or its own. Its
    standard input is `stdin`, or empty; never ours. With `most_bytes` it has none.
    """
    began_s = monotonic_s()
    try:
        child = _popen(argv, env, cwd, subprocess.PIPE, subprocess.PIPE, subprocess.PIPE)
    except (OSError, ValueError) as error:  # ValueError: a zero byte in an argument
        code = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
        why = getattr(error, "strerror", None) or str(error)
        return Finished(code, "", f"{argv[0]}: {why}", timed_out=False, duration_s=0.0)
    try:
        if most_bytes is None:
            got = _communicated(child, timeout_s, stdin)
        else:
            got = _bounded(child, began_s + timeout_s, most_bytes)
    finally:
        code = _left(child)
    return Finished(
        code=code,
        out=_text(got.out),
        err=_text(got.err),
        timed_out=got.timed_out,
        duration_s=monotonic_s() - began_s,
        too_much=got.too_much,
    )


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


def reap_orphans(own: frozenset[int]) -> int:
    """Wait for what has ended and was left to us, as the first process of a container must; returns how many.

    `own` are waited for by whoever started them. The kernel names one that has ended at a time, and the same again
    until it is waited for: behind one of `own` the others wait for the next call.
    """
    count = 0
    while True:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return count
        if ended is None or ended.si_pid in own:
            return count
        os.waitpid(ended.si_pid, 0)
        count += 1


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


def parent(pid: int, proc: Path = Path("/proc")) -> Reading[int]:
    """Who started the process, 1 or a subreaper where that one is gone; 0 for pid 1 and the kernel's own."""
    fields = _stat_fields(pid, proc)
    return fields if isinstance(fields, Unreadable) else int(fields[1])


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
        env=inherited() if env is None else dict(env),
        cwd=cwd,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
    )


def inherited() -> dict[str, str]:
    """Our environment, but for what the service manager said to us alone: a child is not its main process."""
    return {name: value for name, value in os.environ.items() if name not in _OURS_ALONE}


def _communicated(
    child: "subprocess.Popen[bytes]", timeout_s: float, stdin: bytes | None
) -> _Output:
    try:
        return _Output(*child.communicate(stdin, timeout_s))
    except subprocess.TimeoutExpired as late:
        _signal_group(child.pid, signal.SIGKILL)
        return _Output(late.output or b"", late.stderr or b"", timed_out=True)


def _bounded(child: "subprocess.Popen[bytes]", ends_s: float, most_bytes: int) -> _Output:
    """Read until both ends are closed, and no byte more than may be held in memory."""
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdin.close()
    kept = {child.stdout.fileno(): bytearray(), child.stderr.fileno(): bytearray()}
    out, err = kept.values()
    with selectors.DefaultSelector() as waiting:
        for descriptor in kept:
            waiting.register(descriptor, selectors.EVENT_READ)
        while waiting.get_map() or child.poll() is None:
            left_s = ends_s - monotonic_s()
            if left_s <= 0:
                _signal_group(child.pid, signal.SIGKILL)
                return _Output(bytes(out), bytes(err), timed_out=True)
            for found, _ in waiting.select(min(left_s, 0.05 if not waiting.get_map() else left_s)):
                data = os.read(found.fd, 8192)
                kept[found.fd] += data
                if not data:
                    waiting.unregister(found.fd)
            if len(out) + len(err) > most_bytes:
                _signal_group(child.pid, signal.SIGKILL)
                return _Output(bytes(out), bytes(err), too_much=True)
    return _Output(bytes(out), bytes(err))


def _left(child: "subprocess.Popen[bytes]") -> int:
    """Close our ends and take its code; one that a hung driver or disk keeps from dying is not waited for."""
    for end in (child.stdin, child.stdout, child.stderr):
        with suppress(OSError):  # what was to be written to one that is gone
            if end is not None:
                end.close()
    try:
        return child.wait(LEFT_S)
    except subprocess.TimeoutExpired:
        return -signal.SIGKILL


def _signal_group(pid: int, signum: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(pid, signum)


def _text(data: bytes) -> str:
    return data.decode(errors="replace")
