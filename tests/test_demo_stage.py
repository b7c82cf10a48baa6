"""The demo's stage: nothing that it started outlives it."""

from pathlib import Path
from time import sleep

import pytest

from spoteval.demo.stage import _living
from spoteval.machine.cgroup import MarkedProcesses, mark

ORPHAN = 'env "$0" sleep 100 & kill -KILL $$'


@pytest.mark.runs("a driver that is killed and leaves a process")
def test_a_killed_driver_leaves_no_process(tmp_path: Path) -> None:
    """Its watchdog may have been killed before it."""
    members = MarkedProcesses(tmp_path)
    with _living(["sh", "-c", ORPHAN, mark(tmp_path, "a.service")], tmp_path) as child:
        assert child.wait(10.0) == -9
        for _ in range(200):
            if members.all_members():
                break
            sleep(0.05)
        assert members.all_members() != frozenset()
    assert members.all_members() == frozenset()
