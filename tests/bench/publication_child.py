"""Starts publication_ours.py as a process of its own and reads what it found."""

import json
import os
import sys
from pathlib import Path
from typing import Any

from bench import publication_tools as tools
from bench.publication_guest import Place
from bench.publication_tools import Spent

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def plays(scratch: Path, place: Place, *words: str) -> tuple[Spent, list[dict[str, Any]]]:
    """What the whole process took, and the figures of each play."""
    roots = os.pathsep.join(str(ROOT / part) for part in ("common", "agents", "tests"))
    argv = [sys.executable, str(HERE / "publication_ours.py"), str(place.root), place.run, *words]
    log = scratch / "ours.log"
    spent = tools.run(argv, {**os.environ, "PYTHONPATH": roots}, log)
    found: list[dict[str, Any]] = json.loads(log.read_text().splitlines()[-1])
    return spent, found
