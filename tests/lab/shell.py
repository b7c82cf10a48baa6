"""How the lab starts programs of its own machine: argv, a limit, and what they said where they fail."""

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

PLAIN = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}


ENDING = threading.Event()
"""Set when the program ends: nobody waits for anything any more."""


class Skipped(Exception):
    """This machine cannot run the lab, and why."""


class Broken(Exception):
    """A program of the lab failed, or what must come did not come."""


def call(argv: Sequence[str], limit_s: float = 120.0, env: Mapping[str, str] | None = None) -> str:
    """Standard output of a program that must succeed. Raises Broken with the end of what it said."""
    done = tried(argv, limit_s, env)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip())[-400:]
        raise Broken(f"{' '.join(argv)[:120]}: exit {done.returncode}: {said}")
    return done.stdout


def tried(
    argv: Sequence[str], limit_s: float = 120.0, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """The same for one that may fail. Past its limit it is killed, and Broken says so."""
    with subprocess.Popen(
        argv,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    ) as child:
        try:
            out, err = _waited(child, argv, limit_s)
        except BaseException:
            child.kill()
            raise
    return subprocess.CompletedProcess(argv, child.returncode, out, err)


def _waited(child: subprocess.Popen[str], argv: Sequence[str], limit_s: float) -> tuple[str, str]:
    """What it said. A machine that shuts down stops all its processes for a moment, and `nsenter` stops itself with the
    one that it entered: it has to go on, or the machine waits for ever for a process that nobody reaps.
    """
    until_s = time.monotonic() + limit_s
    while True:
        try:
            return child.communicate(timeout=min(1.0, limit_s))
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGCONT)
            if time.monotonic() >= until_s:
                raise Broken(f"{' '.join(argv)[:120]}: not over after {limit_s:g} s") from None


def has(name: str) -> bool:
    """Whether a program can be found."""
    return shutil.which(name, path=f"{PLAIN['PATH']}:{os.defpath}") is not None


def log_of(path: Path, most: int = 1500) -> str:
    """The end of a file that a program wrote."""
    try:
        return path.read_text(errors="replace")[-most:]
    except OSError as error:
        return f"{path}: {error.strerror}"
