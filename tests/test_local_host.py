"""local.host: units that nobody preempts, such as the restarter's."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from spoteval.local.host import main
from spoteval.machine import process
from spoteval.machine.cgroup import MarkedProcesses

pytestmark = pytest.mark.runs("runs a unit of shell")

UNIT = """[Service]
ExecStart=sh -c '{script}'
KillMode=mixed
"""


def host(tmp_path: Path, script: str) -> list[str]:
    """The arguments of a host with one unit."""
    (tmp_path / "a.service").write_text(UNIT.format(script=script))
    return ["--root", str(tmp_path / "h"), "--units", str(tmp_path), "--unit", "a.service"]


@pytest.mark.parametrize(("code", "answer"), [(0, 0), (1, 1), (2, 1)])
def test_it_ends_when_its_unit_ends(tmp_path: Path, code: int, answer: int) -> None:
    """A failure of the unit is one of the host; the unit's own words are in the journal."""
    assert main(host(tmp_path, f"echo $STATE_DIRECTORY; exit {code}")) == answer
    log = (tmp_path / "h" / "journal" / "a.service.log").read_text()
    assert f" {tmp_path}/h/state\n" in log
    assert (tmp_path / "h" / "state").is_dir()


def test_term_stops_the_unit_in_its_own_way(tmp_path: Path) -> None:
    """Unlike a node, whose machine may vanish, a host lets its units end."""
    argv = host(tmp_path, 'trap "touch ended; exit 0" TERM; touch up; while :; do sleep 0.02; done')
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": ":".join(p for p in sys.path if p)}
    child = process.spawn(
        [sys.executable, "-m", "spoteval.local.host", *argv], environment, tmp_path
    )
    for _ in range(1500):
        if (tmp_path / "up").exists():
            break
        time.sleep(0.02)
    child.send(signal.SIGTERM)
    assert child.wait(20.0) == 0
    assert (tmp_path / "ended").exists()
    assert MarkedProcesses((tmp_path / "h").resolve()).all_members() == frozenset()


def test_a_unit_that_is_not_there_is_a_wrong_call(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """By its name, and with those that are."""
    assert main([*host(tmp_path, "true"), "--unit", "b.service"]) == 2
    assert capfd.readouterr().err == "b.service: no such unit (known: a.service)\n"
