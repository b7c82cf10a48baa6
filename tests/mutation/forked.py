"""A plugin of pytest: instead of running the tests once, it runs for each mutant those that may notice it.

mutmut begins a session of pytest for each mutant, which takes ten times as long as the tests themselves. Here there is
one session, and a child of it for each mutant. PLAN in the environment names the file that says which tests to run for
which mutant, in which order; beside it, RESULTS names the file that gets a line for each mutant: its name, a space, and
the exit code of its child.
"""

import json
import os
import resource
import tempfile
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import pytest

PLAN, RESULTS = "SPOTEVAL_MUTANTS", "SPOTEVAL_MUTANTS_DONE"
LIVES, NOTICED = 0, 1
UNCHANGED = "unchanged"
"""In the place of a mutant: the sources as they are."""
LIMIT_S = 60
"""CPU time for all tests of one mutant, which take less than one second."""
_FAILED: list[str] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Remembers what failed."""
    if report.failed:
        _FAILED.append(report.nodeid)


def pytest_runtestloop(session: pytest.Session) -> bool:
    """Every mutant, one after the other."""
    items = {item.nodeid: item for item in session.items}
    plan: dict[str, list[str]] = json.loads(Path(os.environ[PLAN]).read_text())
    with Path(os.environ[RESULTS]).open("w") as out:
        for mutant, tests in plan.items():
            code = _in_a_child(mutant, [items[name] for name in tests])
            print(mutant, code, file=out, flush=True)
    return True


def _in_a_child(mutant: str, items: Sequence[pytest.Item]) -> int:
    with tempfile.TemporaryDirectory() as scratch:
        child = os.fork()
        if child == 0:
            code = LIVES
            try:
                os.environ["PYTEST_DEBUG_TEMPROOT"] = scratch
                _become(mutant)
                code = NOTICED if _is_noticed(items) else LIVES
            finally:  # whatever it was: no child may go on as if it were the session
                os._exit(code)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _become(mutant: str) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_S, LIMIT_S + 1))
    import_module("mutmut.mutation.trampoline").set_mutant_under_test(mutant)
    del os.environ["MUTANT_UNDER_TEST"]  # its own note of it is read more quickly


def _is_noticed(items: Sequence[pytest.Item]) -> bool:
    following = [*items[1:], None]
    for item, nextitem in zip(items, following, strict=True):
        item.ihook.pytest_runtest_protocol(item=item, nextitem=nextitem)
        if _FAILED:
            return True
    return False
