"""One session of pytest, one child for each mutant: what a child does reaches neither the session nor the next."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mutation.forked import LIVES, NOTICED, PLAN, RESULTS, UNCHANGED
from mutation.scope import ROOT

TRAMPOLINE = """
import os
now = ""
def set_mutant_under_test(name):
    global now
    now = os.environ["MUTANT_UNDER_TEST"] = name
"""
TESTS = """
import os, time
from mutmut.mutation import trampoline
def test_first(tmp_path):
    (tmp_path / "x").touch()
    assert "MUTANT_UNDER_TEST" not in os.environ
    assert trampoline.now != "m.x_f__mutmut_1"
def test_second():
    if trampoline.now == "m.x_f__mutmut_2":
        os.kill(os.getpid(), 9)
    assert trampoline.now != "m.x_f__mutmut_3"
"""


@pytest.mark.runs("a session of pytest of its own")
def test_each_mutant_is_tested_in_its_own_child(tmp_path: Path) -> None:
    """Noticed by a test that fails; a child that is killed, or whose tests pass, has noticed nothing."""
    package = tmp_path / "mutmut" / "mutation"
    package.mkdir(parents=True)
    (package / "trampoline.py").write_text(TRAMPOLINE)
    (tmp_path / "test_it.py").write_text(TESTS)
    both = ["test_it.py::test_first", "test_it.py::test_second"]
    names = [f"m.x_f__mutmut_{number}" for number in range(1, 6)]
    plan = {UNCHANGED: both, **dict.fromkeys(names, both), names[4]: []}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    results = tmp_path / "results"
    environment = {
        "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT / "tests")]),
        "TMPDIR": str(tmp_path),
        PLAN: str(tmp_path / "plan.json"),
        RESULTS: str(results),
    }
    argv = [sys.executable, "-m", "pytest", "-p", "mutation.forked", "--rootdir=.", "-q"]
    argv += ["-p", "no:cacheprovider", "-c", "/dev/null", "test_it.py"]
    done = subprocess.run(
        argv, cwd=tmp_path, env=os.environ | environment, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert results.read_text().splitlines() == [
        f"{UNCHANGED} {LIVES}",
        f"{names[0]} {NOTICED}",
        f"{names[1]} -9",
        f"{names[2]} {NOTICED}",
        f"{names[3]} {LIVES}",
        f"{names[4]} {LIVES}",
    ]
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("tmp")]
