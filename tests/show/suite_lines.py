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
    files = _found(stage, ("test_*rows*.py", "test_*_decide.py", "test_*_plan.py"))
    yield passed(stage, "each row on its sentence, at equal and one past", files)


def record_cuts(stage: Stage) -> Iterator[Line]:
    """Every record file, cut at each byte: the records of the ground, and those that one agent alone has."""
    what = "each record file cut at each byte"
    files = [file for file in _found(stage, ("test_*.py",)) if _names(file, "each_byte")]
    yield passed(stage, what, files, "each_byte or records_cut")


def invariants(stage: Stage) -> Iterator[Line]:
    """Property tests over the cycle, named after what they hold: a file, or a function in one."""
    every = _found(stage, ("test_*.py",))
    shown: set[Path] = set((stage.root / "tests" / "sim").glob("test_*.py"))
    for name in INVARIANTS:
        files = [file for file in every if _names(file, f"test_{name.lower()}_")]
        shown.update(files)
        yield judged(bool(files), f"property tests of {name}", ", ".join(map(_short, files)))
    what = "invariants over the cycle, a crash before and after each write"
    yield passed(stage, what, sorted(shown))


def shape() -> Iterator[Line]:
    """Sizes and circles of the product's source."""
    found = sizes()
    lines, functions = found.files.values(), found.functions.values()
    small = statistics.median(lines) <= 140 and max(lines) <= 400
    short_enough = statistics.median(functions) <= 10 and max(functions) <= 60
    yield judged(small and short_enough, "sizes", found.line())
    loop = circle(import_graph(modules()))
    yield judged(not loop, "no import circle", " → ".join(loop) or f"{len(modules())} modules")


def passed(stage: Stage, what: str, files: Sequence[Path], only: str = "") -> Line:
    """ok when pytest is content and ran at least one test; its count is the figure."""
    argv = [stage.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *map(str, files)]
    done = output([*argv, "-k", only] if only else argv, stage.root)
    last = (done.stdout.strip().splitlines() or ["no output"])[-1]
    count = re.search(r"(\d+) passed", last)
    named = f"{count[1]} tests in {len(files)} files" if count else last
    return judged(done.returncode == 0 and count is not None, what, last if not count else named)


def _found(stage: Stage, patterns: Sequence[str]) -> list[Path]:
    """Test files of these names; raises Missing where there is none."""
    tests = stage.root / "tests"
    files = sorted({path for pattern in patterns for path in tests.rglob(pattern)})
    if not files:
        raise Missing(f"no file tests/**/{patterns[0]}")
    return files


def _names(file: Path, word: str) -> bool:
    """Whether the file, or a test in it, is named so."""
    return word in file.name or bool(re.search(rf"^def \w*{word}", file.read_text(), re.MULTILINE))


def _short(file: Path) -> str:
    return file.name.removeprefix("test_").removesuffix(".py")
