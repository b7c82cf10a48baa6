"""What is mutated, and which tests must notice it."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
RESTARTER = Path("agents", "spoteval_agents", "restarter")
MODULES = (
    "case",
    "cause",
    "decide",
    "holding",
    "intent",
    "lives",
    "moments",
    "observe",
    "placing",
    "policy",
    "reports",
    "rows_hold",
    "rows_start",
    "rows_state",
    "rows_stop",
    "rows_wait",
    "rules",
    "seen",
    "starts",
    "telling",
    "watching",
)
"""What decides and what remembers: pure modules, all of them. The shell around them has tests/sim."""
TESTS = "test_restarter_*.py"
SHELL = frozenset(["test_restarter_agent.py", "test_restarter_crew.py", "test_restarter_cycle.py"])
"""Whole cycles over a disk: they kill little that the others do not, and every mutant would pay for them."""
LEFT_OUT = "crash"
"""Crashes at any write, tested likewise over a disk: tests with this in their name."""


def mutated(root: Path = ROOT) -> list[Path]:
    """The mutated files. Raises FileNotFoundError where one has gone."""
    files = [root / RESTARTER / f"{name}.py" for name in MODULES]
    for file in files:
        file.stat()
    return files


def killers(root: Path = ROOT) -> list[Path]:
    """The files of tests that may kill a mutant, quick ones all of them."""
    return sorted(path for path in (root / "tests").glob(TESTS) if path.name not in SHELL)


def hashes(root: Path = ROOT) -> dict[str, str]:
    """sha256 of each mutated file, by the name of its module."""
    return {file.stem: sha256(file) for file in mutated(root)}


def sha256(file: Path) -> str:
    """Of all its bytes."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def fingerprint(files: Mapping[str, str]) -> str:
    """sha256 over these names and hashes: one figure for all of them."""
    lines = "".join(f"{name} {digest}\n" for name, digest in sorted(files.items()))
    return hashlib.sha256(lines.encode()).hexdigest()
