"""Runs mutmut over a copy of the sources, and reads what it found."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mutation.getters import with_getters
from mutation.scope import LEFT_OUT, MODULES, ROOT, killers

KILLED = frozenset([1, 3, 24, 36, 152, 255, -24, -11, -9])
"""Exit codes of mutmut's workers: a test failed, the time was up, or the process fell over."""
SURVIVED, UNTESTED = 0, frozenset([5, 33])
_PACKAGE = "spoteval_agents/restarter"
_ARGUMENTS = [
    *("-p", "no:cacheprovider", "-m", "not runs and not slow and not bench"),
    *("-k", f"not {LEFT_OUT}"),
]
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
    """mutmut did not come to an end; the text is its last output."""


@dataclass(frozen=True, slots=True)
class Mutmut:
    """One copy of the sources, and the program that works on it."""

    program: Path
    directory: Path

    def prepare(self) -> None:
        """Copy sources and tests. The copy has getters where the sources have properties."""
        source = self.directory / "src"
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "common" / "spoteval", source / "spoteval", ignore=ignore)
        shutil.copytree(
            ROOT / "agents" / "spoteval_agents", source / "spoteval_agents", ignore=ignore
        )
        shutil.copytree(ROOT / "tests", self.directory / "tests", ignore=ignore)
        only = [f"src/{_PACKAGE}/{name}.py" for name in MODULES]
        for name in only:
            file = self.directory / name
            file.write_text(with_getters(file.read_text()))
        selected = [str(path.relative_to(ROOT)) for path in killers()]
        text = _PYPROJECT.format(
            only=json.dumps(only), tests=json.dumps(selected), arguments=json.dumps(_ARGUMENTS)
        )
        (self.directory / "pyproject.toml").write_text(text)

    def run(self, names: Sequence[str] = (), children: int = 1) -> None:
        """Test all mutants, or these. Raises Failed."""
        log = self.directory / "mutmut.log"
        argv = [str(self.program), "run", "--max-children", str(children), *names]
        memory = Path("/dev/shm")  # records are written with fsync: nothing to wait for there
        more = {"PYTEST_DEBUG_TEMPROOT": str(memory)} if os.access(memory, os.W_OK) else {}
        with log.open("wb") as file:
            done = subprocess.run(
                argv,
                cwd=self.directory,
                stdout=file,
                stderr=file,
                env=os.environ | more,
                check=False,
            )
        if done.returncode:
            raise Failed(f"mutmut: exit {done.returncode}: {log.read_text()[-3000:]}")

    def results(self) -> dict[str, int]:
        """Exit code of each mutant that was tested."""
        tested = (item for codes in self._codes() for item in codes.items())
        return {name: code for name, code in tested if code is not None}

    def names(self) -> list[str]:
        """All mutants that were generated, tested or not."""
        return sorted(name for codes in self._codes() for name in codes)

    def changes(self, names: Iterable[str]) -> dict[str, str]:
        """What each of these mutants is: the lines taken away and put in, as text."""
        return {name: self._change(name) for name in names}

    def version(self) -> str:
        """As the program says it."""
        return self._said("--version").strip()

    def _codes(self) -> Iterator[dict[str, int | None]]:
        for meta in sorted((self.directory / "mutants").rglob("*.meta")):
            yield json.loads(meta.read_text())["exit_code_by_key"]

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


def program() -> Path:
    """mutmut of its own environment, else the one beside this interpreter. Raises FileNotFoundError."""
    own = ROOT / ".venv.mutation" / "bin" / "mutmut"
    for path in (own, Path(sys.executable).parent / "mutmut"):
        if path.exists():
            return path
    raise FileNotFoundError("no mutmut in .venv.mutation (tests/mutation/run makes it)")
