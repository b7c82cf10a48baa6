"""Formatter, linter, type checker, shellcheck and import contracts are tests.

A missing tool skips where a person works and fails where `CI` is set.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHELL_DIRS = ("common", "packaging", "tests")
SHELL_FILES = ("install.sh", ".ci/run")

pytestmark = pytest.mark.runs("the linters are programs")


def tool(name: str) -> str:
    """The program beside this interpreter or on PATH; skips, or fails in CI, without it."""
    beside = str(Path(sys.executable).parent)
    found = shutil.which(name, path=beside) or shutil.which(name)
    if found is None:
        why = f"{name} is not installed (./install.sh test brings it)"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    return found


def passes(*argv: str) -> None:
    """Run it at the top of the checkout; what it says is the message of the failure."""
    roots = os.pathsep.join(str(ROOT / part) for part in ("common", "agents"))
    environment = os.environ | {"PYTHONPATH": roots}
    done = subprocess.run(
        argv, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{' '.join(argv)}\n{done.stdout}{done.stderr}"


def shell_scripts() -> list[str]:
    """install.sh, .ci/run, and whatever has a shell's first line under packaging/ and tests/."""
    listed = [path for path in SHELL_FILES if (ROOT / path).exists()]
    for top in SHELL_DIRS:
        for path in sorted((ROOT / top).rglob("*")):
            if path.is_file() and _is_shell(path):
                listed.append(str(path.relative_to(ROOT)))
    return listed


def _is_shell(path: Path) -> bool:
    with path.open("rb") as file:
        first = file.readline(80)
    return first.startswith(b"#!") and first.split(b"/")[-1].split()[-1] in (b"sh", b"bash")


def test_ruff_check() -> None:
    """The linter has nothing to say."""
    passes(tool("ruff"), "check", ".")


def test_ruff_format() -> None:
    """Every file is as the formatter writes it."""
    passes(tool("ruff"), "format", "--check", ".")


def test_mypy() -> None:
    """Strict typing holds over product and tests."""
    passes(tool("mypy"))


def test_shellcheck() -> None:
    """Every shell script is clean, also one that is new."""
    scripts = shell_scripts()
    assert set(SHELL_FILES) <= set(scripts)
    passes(tool("shellcheck"), "--external-sources", *scripts)


def test_import_contracts() -> None:
    """Layers import downwards, the package does not know the agents, agents do not know each other."""
    passes(tool("lint-imports"))
