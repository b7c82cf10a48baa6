"""Lets mutmut change a copy of the sources, and runs the tests that may notice each change."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mutation.forked import LIVES, NOTICED, PLAN, RESULTS, UNCHANGED
from mutation.getters import with_getters
from mutation.plan import planned
from mutation.scope import LEFT_OUT, MODULES, ROOT, killers, sha256

MEMORY = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else None
"""Where the mutants lie and what their tests write: records are written with fsync, and here nothing waits for it."""
_PACKAGE = "spoteval_agents/restarter"
_ONE = "spoteval_agents.restarter.observe.x_observe__mutmut_1"
"""mutmut makes all mutants and looks which test goes where, but only on its way to testing some."""
_WHICH = ["-p", "no:cacheprovider", "-m", "not runs and not slow and not bench"]
_ARGUMENTS = [*_WHICH, "-k", f"not {LEFT_OUT}"]
_QUIET = ["--quiet", "--rootdir=.", "--tb=no", "--assert=plain", "--capture=no"]
_PYPROJECT = """
[tool.pytest.ini_options]
testpaths = ["tests"]
pythonpath = ["src", "tests"]
markers = ["runs(reason): really starts processes", "bench: measures", "slow: takes long"]

[tool.mutmut]
source_paths = ["src"]
only_mutate = {only}
pytest_add_cli_args = {arguments}
pytest_add_cli_args_test_selection = {tests}
use_git_change_detection = false
use_setproctitle = false
"""


class Failed(Exception):
    """A program did not come to an end; the text is its last output."""


@dataclass(frozen=True, slots=True)
class Mutmut:
    """One copy of the sources, and the program that works on it."""

    program: Path
    directory: Path

    def prepare(self) -> dict[str, str]:
        """Copy sources and tests; the copy has getters where the sources have properties.

        sha256 of each mutated file as it was copied, by the name of its module: later edits change nothing.
        """
        source = self.directory / "src"
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "common" / "spoteval", source / "spoteval", ignore=ignore)
        shutil.copytree(
            ROOT / "agents" / "spoteval_agents", source / "spoteval_agents", ignore=ignore
        )
        shutil.copytree(ROOT / "tests", self.directory / "tests", ignore=ignore)
        copies = {name: source / _PACKAGE / f"{name}.py" for name in MODULES}
        files = {name: sha256(file) for name, file in copies.items()}
        for file in copies.values():
            file.write_text(with_getters(file.read_text()))
        only = [str(file.relative_to(self.directory)) for file in copies.values()]
        text = _PYPROJECT.format(
            only=json.dumps(only), tests=json.dumps(_tests()), arguments=json.dumps(_ARGUMENTS)
        )
        (self.directory / "pyproject.toml").write_text(text)
        return files

    def generate(self) -> list[str]:
        """Make all mutants, and find out which test goes through which function; their names. Raises Failed."""
        self._run([str(self.program), "run", "--max-children", "1", _ONE])
        metas = (self.directory / "mutants").rglob("*.meta")
        tables = (json.loads(meta.read_text()) for meta in metas)
        return sorted(name for table in tables for name in table["exit_code_by_key"])

    def run(self, names: Iterable[str]) -> dict[str, bool]:
        """Whether a test noticed each of these mutants. Raises Failed."""
        mutants = self.directory / "mutants"
        plan, results = self.directory / "plan.json", self.directory / "results"
        stats = json.loads((mutants / "mutmut-stats.json").read_text())
        tests_of = planned(names, stats["tests_by_mangled_function_name"])
        all_tests = sorted({test for tests in tests_of.values() for test in tests})
        plan.write_text(json.dumps({UNCHANGED: all_tests, **tests_of}))
        python = [str(self.program.parent / "python"), "-m", "pytest", "-p", "mutation.forked"]
        paths = os.pathsep.join(str(mutants / name) for name in ("src", "tests"))
        environment = {"PYTHONPATH": paths, PLAN: str(plan), RESULTS: str(results)}
        self._run([*python, *_QUIET, *_ARGUMENTS, *_tests()], mutants, environment)
        codes = dict(line.split() for line in results.read_text().splitlines())
        if codes[UNCHANGED] != str(LIVES):
            raise Failed("a test fails though nothing was changed")
        return {name: codes[name] == str(NOTICED) for name in tests_of}

    def changes(self, names: Iterable[str]) -> dict[str, str]:
        """What each of these mutants is: the lines taken away and put in, as text."""
        return {name: self._change(name) for name in names}

    def version(self) -> str:
        """As the program says it."""
        return self._said("--version").strip()

    def _run(
        self, argv: Sequence[str], cwd: Path | None = None, more: Mapping[str, str] | None = None
    ) -> None:
        log = self.directory / "log"
        scratch = str(self.directory)
        environment = {"TMPDIR": scratch, "PYTEST_DEBUG_TEMPROOT": scratch, **(more or {})}
        with log.open("wb") as file:
            done = subprocess.run(
                argv,
                cwd=cwd if cwd is not None else self.directory,
                stdout=file,
                stderr=file,
                env=os.environ | environment,
                check=False,
            )
        if done.returncode:
            raise Failed(f"{argv[0]}: exit {done.returncode}: {log.read_text()[-3000:]}")

    def _change(self, name: str) -> str:
        diff = re.findall(r"^[-+](?![-+]).*$", self._said("show", name), re.MULTILINE)
        return " ".join(" ".join(line.split()) for line in diff)

    def _said(self, *argv: str) -> str:
        done = subprocess.run(
            [str(self.program), *argv],
            cwd=self.directory,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise Failed(f"mutmut {argv[0]}: {done.stdout[-300:]}{done.stderr[-300:]}")
        return done.stdout


def _tests() -> list[str]:
    return [str(path.relative_to(ROOT)) for path in killers()]


def program() -> Path:
    """mutmut of its own environment, else the one beside this interpreter. Raises FileNotFoundError."""
    own = ROOT / ".venv.mutation" / "bin" / "mutmut"
    for path in (own, Path(sys.executable).parent / "mutmut"):
        if path.exists():
            return path
    raise FileNotFoundError("no mutmut in .venv.mutation (tests/mutation/run makes it)")
