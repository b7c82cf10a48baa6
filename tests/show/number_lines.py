"""What the numbers must show, one line each."""

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from bench import month as bench_month
from show.lines import Line, Missing, judged, needs_full, short
from show.stage import Stage, output
from trace_rows import ROWS, traces
from vector_figures import off, vectors

WITHIN = 1e-6
VALUES = 51
VERSIONS = ("3.10", "3.11", "3.12", "3.13")
MOST_S, MOST_MB = 10.0, 200.0
FILE = "common/spoteval/placement/spot_math.py"
RESTART = ("restart", "--restart", "20min", "--useful", "60min")
_ROW = re.compile(r"^\|[^|]*\| `(spoteval math [^`]+)` \| (.+) \|$", re.MULTILINE)
_FIGURE = re.compile(r"`([a-z_]+)` ([\d.]+)")


def values() -> Iterator[Line]:
    """All reference values to six digits."""
    differences = {vector["id"]: off(vector) for vector in vectors()}
    worst = max(differences.values())
    good = sum(one < WITHIN for one in differences.values())
    figure = f"{good} of {VALUES}, worst relative difference {worst:.1e}"
    yield judged(good == len(differences) == VALUES, "reference values to six digits", figure)


def examples(stage: Stage) -> Iterator[Line]:
    """Each command in docs/math.md prints the figure that stands beside it."""
    page = stage.root / "docs" / "math.md"
    if not page.exists():
        raise Missing("no docs/math.md")
    found = [(command, told) for command, told in _ROW.findall(page.read_text())]
    for command, told in found:
        words = shlex.split(command)[2:]
        done = output([stage.python, "-I", str(stage.root / FILE), "--json", *words], stage.root)
        figures = json.loads(done.stdout) if done.returncode == 0 else {}
        wrong = [key for key, value in _FIGURE.findall(told) if not _reads(figures.get(key), value)]
        yield judged(bool(figures) and not wrong, command.removeprefix("spoteval "), told)
    if not found:
        raise Missing("docs/math.md has no table of commands")


def _reads(value: object, text: str) -> bool:
    """Whether the figure reads as the page has it: to its digits, six at most."""
    return isinstance(value, int | float) and abs(float(f"{value:.6g}") / float(text) - 1) < 2e-5


def alone(stage: Stage) -> Iterator[Line]:
    """Isolated and with nothing installed, on every interpreter that is promised."""
    for version in VERSIONS:
        what = f"spot_math.py under python{version} -I"
        python = _python(version)
        if python is None:
            yield short(what, "no such interpreter on PATH or below ~/.pyenv")
            continue
        done = output([python, "-I", str(stage.root / FILE), "--json", *RESTART], stage.root)
        good = done.returncode == 0 and json.loads(done.stdout)["overhead_of_billed"] == 0.25
        yield judged(good, what, done.stdout.strip() or done.stderr.strip()[-200:])


def _python(version: str) -> str | None:
    """An interpreter of that version that really runs: shims of pyenv may name one that is not chosen."""
    own = Path(os.environ.get("PYENV_ROOT", str(Path.home() / ".pyenv"))) / "versions"
    kept = sorted(own.glob(f"{version}.*/bin/python3")) if own.is_dir() else []
    onpath = shutil.which(f"python{version}")
    for candidate in [*([onpath] if onpath else []), *map(str, kept)]:
        done = subprocess.run([candidate, "-I", "-c", ""], capture_output=True, check=False)
        if done.returncode == 0:
            return candidate
    return None


def rows(stage: Stage) -> Iterator[Line]:
    """Known rows of published traces."""
    here = traces()
    if here is None:
        raise Missing("no traces at $SPOTEVAL_SHARED, nor beside the checkout")
    for row in ROWS:
        tau_h, shape = row.figures(here)
        told = f"tau {tau_h:.3f} h (known: {row.tau_h:g})"
        told += f", shape {shape:.3f} (known: {row.shape:g})" if shape and row.shape else ""
        yield judged(row.good(here), f"trace {row.name}", told)


def month(stage: Stage) -> Iterator[Line]:
    """One million events: seconds of CPU and memory of each command."""
    what = "a month of 50 machines"
    if not stage.full:
        yield needs_full(what)
        return
    place = stage.scratch / "month"
    count = bench_month.write_month(place)
    for verb in bench_month.VERBS:
        took = bench_month.took(verb, place)
        good = took.code == 0 and took.cpu_s <= MOST_S and took.peak_mb <= MOST_MB
        yield judged(good, f"{what}, {count} events", took.line())
