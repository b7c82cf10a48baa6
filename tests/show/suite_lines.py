"""Lines that stand on the test suite, and on the shape of the source."""

import re
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

from code_shape import circle, import_graph, modules, sizes
from show.lines import Line, Missing, judged
from show.stage import Stage, output

INVARIANTS = ("I1", "I2", "I3", "I4", "I5", "I11")


def rows(stage: Stage) -> Iterator[Line]:
    """Every row on its sentence, at equal and one past."""
    yield suite(stage, "each row on its sentence, at equal and one past", "test_*rows*.py")


def record_cuts(stage: Stage) -> Iterator[Line]:
    """Every record file, cut at each byte."""
    yield suite(stage, "each record file cut at each byte", "test_*cut*.py")


def invariants(stage: Stage) -> Iterator[Line]:
    """Property tests over the cycle, named after what they hold."""
    files = sorted((stage.root / "tests" / "sim").glob("test_*.py"))
    if not files:
        raise Missing("tests/sim holds no tests")
    text = "\n".join(file.read_text() for file in files)
    for name in INVARIANTS:
        found = len(re.findall(rf"\bdef test_{name.lower()}_", text))
        yield judged(found > 0, f"property tests of {name}", f"{found} in tests/sim")
    yield passed(stage, "invariants over the cycle, a crash at each write", files)


def shape() -> Iterator[Line]:
    """Sizes and circles of the product's source."""
    found = sizes()
    lines, functions = found.files.values(), found.functions.values()
    small = statistics.median(lines) <= 140 and max(lines) <= 400
    short_enough = statistics.median(functions) <= 10 and max(functions) <= 60
    yield judged(small and short_enough, "sizes", found.line())
    loop = circle(import_graph(modules()))
    yield judged(not loop, "no import circle", " → ".join(loop) or f"{len(modules())} modules")


def suite(stage: Stage, what: str, pattern: str) -> Line:
    """The tests in all files of this name."""
    files = sorted((stage.root / "tests").rglob(pattern))
    if not files:
        raise Missing(f"no file tests/**/{pattern}")
    return passed(stage, what, files)


def passed(stage: Stage, what: str, files: Sequence[Path]) -> Line:
    """ok when pytest is content and ran at least one test; its count is the figure."""
    argv = [stage.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *map(str, files)]
    done = output(argv, stage.root)
    last = (done.stdout.strip().splitlines() or ["no output"])[-1]
    count = re.search(r"(\d+) passed", last)
    named = f"{count[1]} tests in {len(files)} files" if count else last
    return judged(done.returncode == 0 and count is not None, what, last if not count else named)
