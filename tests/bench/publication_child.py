"""Starts publication_ours.py as a process of its own and reads what it found."""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

from bench import publication_tools as tools
from bench.publication_place import Place
from bench.publication_tools import Spent

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def plays(scratch: Path, place: Place, *words: str) -> tuple[Spent, list[dict[str, Any]]]:
    """What the whole process took, and the figures of each play."""
    roots = os.pathsep.join(str(ROOT / part) for part in ("common", "agents", "tests"))
    argv = [sys.executable, str(HERE / "publication_ours.py"), str(place.root), place.run, *words]
    log = scratch / "ours.log"
    spent = tools.run(argv, {**os.environ, **of_unit(), "PYTHONPATH": roots}, log)
    found: list[dict[str, Any]] = json.loads(log.read_text().splitlines()[-1])
    return spent, found


def of_unit() -> dict[str, str]:
    """The environment that the follower's unit gives it."""
    text = (ROOT / "units" / "spoteval-publication-follower.service").read_text()
    return dict(re.findall(r"^Environment=(\w+)=(\S+)$", text, re.MULTILINE))
