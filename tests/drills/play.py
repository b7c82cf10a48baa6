"""One drill: a real Inspect run on a local node, taken once in the way of its cell, and carried to its end."""

import secrets
import shlex
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from drills.box import Box
from drills.cells import Cell
from drills.seen import Witnessed, witnessed
from spoteval.control.requests import FINAL, pending
from spoteval.control.runcontrol import RUN_UNIT
from spoteval.control.runfiles import interruptions
from spoteval.demo.stage import free_port
from spoteval.machine.cgroup import MarkedProcesses
from spoteval.shape import Unreadable

HERE = Path(__file__).parent
MODEL, EPISODES, SLOTS, DELAY_S = "stand-in", 9, 3, 0.4
ENDED, INTO_S = 3, 0.3
"""The machine is taken when so many episodes have ended, and so long after the last of them."""
COMES_S, ENDS_S = 240.0, 300.0
_TRAPS = {"INT": "", "TERM": "trap '' INT\n", "KILL": "trap '' INT TERM\n"}
_RUN = """\
[[server]]
name = "policy"
unit = "stand-in.service"
url = "http://127.0.0.1:{port}"
kind = "openai"
model = "{model}"
credential = "model-key"
ready_within = "2min"
[run]
harness = "inspect"
directory = "{here}"
executable = "{harness}"
args = ["task.py", "--model", "openai-api/local/{model}", "-T", "n={n}"]
concurrency = {slots}
expected = {n}
settlement = "fresh_budget"
errors = "{errors}"
[run.env]
LOCAL_BASE_URL = "http://127.0.0.1:{port}/v1"
SPOTEVAL_WITNESS = "{witness}"
HF_HUB_OFFLINE = "1"
[run.secret_env]
LOCAL_API_KEY = "model-key"
[idle]
after = "5min"
every = "5s"
[end]
on_complete = "power-off"
"""
_SERVER = """\
[Service]
ExecStart={python} -m spoteval.local.model_server --port {port} --model {model} {more} --key-file {key}
[Install]
WantedBy=multi-user.target
"""


@dataclass(slots=True)
class Played:
    """The machine after its last end, and what was seen when it was taken."""

    box: Box
    taken: list[Witnessed] = field(default_factory=list)
    hook_s: float | None = None
    cut_short: bool = False
    """Whether the plug came before the hook had closed the interruption."""


def undisturbed(root: Path, errors: str) -> Played:
    """The same run from its begin to its end."""
    box = _laid(root, 60.0, "INT", errors)
    with box.living():
        box.switch_on()
        box.begin()
        _off(box)
    return Played(box)


def drill(root: Path, cell: Cell) -> Played:
    """Raises Never where what must come does not come."""
    # What is to be published all lies before a final pass, so that there is a middle of it.
    every = "60s" if cell.moment == "final" else "1s"
    box = _laid(root, cell.window_s, cell.path, cell.errors, every)
    played = Played(box)
    with box.living():
        box.switch_on()
        box.begin()
        box.until(lambda: len(witnessed(box.paths.witness).ended) >= ENDED, COMES_S, "some ends")
        time.sleep(INTO_S)
        if cell.moment == "resume":
            _taken(played)  # without a word; what resumes is then taken by the way of the cell
            box.switch_on()
            box.until(lambda: _runs(box), COMES_S, "the run to be resumed")
            time.sleep(INTO_S)
        hold = box.paths.witness.with_name("hold")
        hold.touch()
        _tell(box, cell)
        began_s = time.monotonic()
        if cell.moment == "final":
            box.until(lambda: _in_final_pass(box), cell.window_s, "the final pass to begin", 0.002)
            played.cut_short = not _closed(box)
        else:
            box.until(lambda: _closed(box), cell.window_s, "the hook to be done")
            played.hook_s = time.monotonic() - began_s
        _taken(played)
        hold.unlink()
        box.switch_on()
        _off(box)
    return played


def _laid(root: Path, window_s: float, path: str, errors: str, every: str = "1s") -> Box:
    root.mkdir(parents=True)
    box, port = Box(root), free_port()
    harness = box.root / "harness"
    real = shlex.quote(str(Path(sys.prefix) / "bin" / "inspect"))
    harness.write_text(f'#!/bin/sh\n{_TRAPS[path]}exec {real} "$@"\n')
    harness.chmod(0o755)
    names = {"port": port, "model": MODEL, "here": HERE, "harness": harness, "errors": errors}
    more = _RUN.format(**names, n=EPISODES, slots=SLOTS, witness=box.paths.witness)
    key = box.paths.node / "credentials" / "model-key"
    slow = f"--load 0.3 --delay {DELAY_S}"
    server = _SERVER.format(
        python=sys.executable, port=port, model=MODEL, more=slow, key=shlex.quote(str(key))
    )
    box.lay(window_s, more, {"stand-in.service": server}, secrets.token_hex(16).encode(), every)
    return box


def _tell(box: Box, cell: Cell) -> None:
    if cell.told_by == "shutdown":
        box.button()
    else:
        box.notice(cell.window_s)


def _taken(played: Played) -> None:
    played.box.plug()
    played.taken.append(witnessed(played.box.paths.witness))


def _off(box: Box) -> None:
    box.until(box.run.end.exists, ENDS_S, "the end of the run")
    box.until(lambda: box.state == "STOPPED", COMES_S, "the machine to go off by itself")


def _runs(box: Box) -> bool:
    """The harness itself is there: our own part, and the shell, have become it."""
    found = MarkedProcesses(box.paths.node).members(RUN_UNIT)
    return not isinstance(found, Unreadable) and any(_is_harness(pid) for pid in found)


def _is_harness(pid: int) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return b"eval-set" in words and words[0] != b"/bin/sh"


def _in_final_pass(box: Box) -> bool:
    return any(request.kind == FINAL for request in pending(box.disk)) or _closed(box)


def _closed(box: Box) -> bool:
    """The hook has ended its interruption; the marker of a plug has no closing record."""
    return any(item.closed is not None for item in interruptions(box.run).values())
