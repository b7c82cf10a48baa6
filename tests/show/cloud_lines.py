"""Lines that stand on the scenarios: which provider lives through what, in one table."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from cloud_scenarios import CloudScenarios
from show.lines import Line, Missing, judged, short
from show.stage import Stage, output

PROVIDERS = ("local", "command", "aws", "gcp", "azure", "nebius", "runpod")
CLOUDS = PROVIDERS[2:]
ONE_CALL = (
    *("test_preemption", "test_no_capacity", "test_quota", "test_throttling"),
    *(
        "test_start_error_while_it_goes_on",
        "test_100_polls_of_outage",
        "test_drill_of_the_provider",
    ),
)
"""Each counts the requests for a start that reached the fake against the decisions to start."""
WITHOUT = "WithoutDetails"
RIGHTS = ("test_the_pasted", "test_a_missing_right", "test_an_optional_right")


@dataclass
class Cell:
    """The cases of one scenario on one provider."""

    passed: int = 0
    words: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Their count, what went wrong, or that the kind never speaks of it."""
        bad = [word for word in self.words if word == "failed"]
        return (
            "FAILED" if bad else str(self.passed) if self.passed else "never" if self.words else "-"
        )


def scenarios(stage: Stage, providers: Sequence[str] = PROVIDERS) -> Iterator[Line]:
    """One line a provider, and the table beside them: no gaps, and nothing that failed."""
    names = [name for name in vars(CloudScenarios) if name.startswith("test_")]
    found = {provider: _cells(stage, provider) for provider in providers}
    _print_table(names, found)
    for provider, cells in found.items():
        if not cells:
            yield short(f"scenarios on {provider}", f"no tests/test_clouds_{provider}.py")
            continue
        gaps = [name for name in names if name not in cells]
        bad = [name for name, cell in cells.items() if cell.text == "FAILED"]
        count = sum(cell.passed for cell in cells.values())
        figure = f"{count} cases of {len(names)} scenarios"
        wrong = [f"gap: {name}" for name in gaps] + [f"failed: {name}" for name in bad]
        yield judged(not wrong, f"scenarios on {provider}", "; ".join(wrong) or figure)


def calls(stage: Stage, providers: Sequence[str] = CLOUDS) -> Iterator[Line]:
    """Exactly one request for a start on the wire for each decision to start, however it ends."""
    for provider in providers:
        own = [case for case in _cases(stage, provider) if case[1] in ONE_CALL]
        yield _judged(f"one request for each start on {provider}", own, provider)


def details(stage: Stage, providers: Sequence[str] = CLOUDS) -> Iterator[Line]:
    """Without the optional rights causes are unknown, and decisions are the same."""
    for provider in providers:
        own = [case for case in _cases(stage, provider) if case[0].endswith(WITHOUT)]
        yield _judged(f"decisions without optional rights on {provider}", own, provider)


def rights(stage: Stage, providers: Sequence[str] = CLOUDS) -> Iterator[Line]:
    """Each right of a pasted policy: named when it is missing, and no more of them than are used."""
    for provider in providers:
        found = _cases(stage, provider)
        own = [case for case in found if case[1].startswith(RIGHTS)]
        yield _judged(f"rights: the pasted policy of {provider}", own, provider)


def _judged(what: str, own: list[tuple[str, str, str]], provider: str) -> Line:
    """ok where there are such cases, and each has passed or is of a form that this kind never speaks of."""
    bad = sorted({case[1] for case in own if case[2] == "failed"})
    count = sum(case[2] == "passed" for case in own)
    if not own:
        return short(what, f"no such test in tests/test_clouds_{provider}.py")
    return judged(count > 0 and not bad, what, ", ".join(bad) or f"{count} cases")


def _cells(stage: Stage, provider: str) -> dict[str, Cell]:
    """By scenario: of all classes of the provider's test file that play them."""
    cells: dict[str, Cell] = {}
    for owner, test, word in _cases(stage, provider):
        if not owner.startswith("Test"):
            continue
        cell = cells.setdefault(test, Cell())
        cell.words.append(word)
        cell.passed += word == "passed"
    return cells


def _cases(stage: Stage, provider: str) -> list[tuple[str, str, str]]:
    """Class, test and verdict; the file is run at the first call."""
    file = stage.root / "tests" / f"test_clouds_{provider}.py"
    if not file.exists():
        return []
    report = stage.scratch / f"clouds-{provider}.xml"
    if not report.exists():
        argv = [stage.python, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        done = output([*argv, f"--junitxml={report}", str(file)], stage.root)
        if not report.exists():
            raise Missing(f"pytest: exit {done.returncode}: {done.stdout.strip()[-200:]}")
    return [_case(node) for node in ET.parse(report).getroot().iter("testcase")]


def _case(node: ET.Element) -> tuple[str, str, str]:
    bad = [child.tag for child in node if child.tag in ("failure", "error", "skipped")]
    word = "passed" if not bad else "skipped" if bad == ["skipped"] else "failed"
    owner = re.split(r"\.", node.get("classname", ""))[-1]
    return owner, node.get("name", "").partition("[")[0], word


def _print_table(names: list[str], found: dict[str, dict[str, Cell]]) -> None:
    print(f"        {'scenario':<34}" + "".join(f"{provider:>9}" for provider in found))
    for name in names:
        cells = "".join(f"{found[one].get(name, Cell()).text:>9}" for one in found)
        print(f"        {name.removeprefix('test_').replace('_', ' '):<34}{cells}", flush=True)
