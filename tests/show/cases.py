"""Which tests there are under a name, and how each of their cases ended."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from show.lines import Line, Missing, judged
from show.stage import Stage, output


@dataclass(frozen=True, slots=True)
class Case:
    """One case of one test: `word` is passed, failed or skipped."""

    test: str
    case: str
    word: str


def cases(stage: Stage, prefix: str) -> list[Case]:
    """Every case of the tests whose names begin so, really run. Raises Missing without any such test."""
    pattern = re.compile(rf"^ *def {re.escape(prefix)}", re.MULTILINE)
    every = sorted((stage.root / "tests").rglob("test_*.py"))
    files = [str(file) for file in every if pattern.search(file.read_text())]
    if not files:
        raise Missing(f"no test {prefix}*")
    report = stage.scratch / f"{prefix.rstrip('_')}.xml"
    argv = [stage.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}"]
    done = output([*argv, "-k", prefix, *files], stage.root)
    if not report.exists():
        raise Missing(f"pytest: exit {done.returncode}: {done.stdout.strip()[-200:]}")
    return [case for case in read(report) if case.test.startswith(prefix)]


def read(report: Path) -> list[Case]:
    """The cases of one report of pytest."""
    root = ET.parse(report).getroot()
    return [_case(node) for node in root.iter("testcase")]


def passed(what: str, found: Iterable[Case], wanted: int) -> Line:
    """ok when at least so many tests of different names have passed with all of their cases."""
    every = list(found)
    tests = {case.test for case in every}
    bad = sorted({case.test for case in every if case.word != "passed"})
    figure = f"{len(tests - set(bad))} passed, {len(every)} cases"
    if bad:
        figure += f"; not passed: {', '.join(bad)}"
    return judged(not bad and len(tests) >= wanted, what, figure)


def _case(node: ET.Element) -> Case:
    case = node.get("name", "")
    bad = [child.tag for child in node if child.tag in ("failure", "error", "skipped")]
    word = "passed" if not bad else "skipped" if bad == ["skipped"] else "failed"
    return Case(case.partition("[")[0], case, word)
