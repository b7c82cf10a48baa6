"""Every case of the campaigns: kill -9, a full disk, a proxy that spoils requests; the record and the line of each."""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from publication.disk_cases import full_disk, kills
from publication.judge import Case
from publication.proxy_cases import spoiled

SAMPLE = 7
"""CI plays every so many-th case."""
KINDS: dict[str, Callable[[Path, int], Iterator[Case]]] = {
    "kill": kills,
    "enospc": full_disk,
    "proxy": spoiled,
}


@dataclass
class Found:
    """What came of one campaign."""

    cases: int = 0
    lost: int = 0
    torn: int = 0
    doubled: int = 0
    took_s: float = 0.0
    by: dict[str, int] = field(default_factory=dict)
    """Cases of each kind of fault."""
    bad: list[str] = field(default_factory=list)

    def add(self, case: Case) -> None:
        """One case more."""
        self.cases += 1
        self.by[case.kind] = self.by.get(case.kind, 0) + 1
        self.lost += len(case.lost)
        self.torn += len(case.torn)
        self.doubled += len(case.doubled)
        if not case.good:
            self.bad.append(str(case))


def main(argv: list[str] | None = None) -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(prog="tests/publication/run")
    parser.add_argument("--record", type=Path)
    parser.add_argument("--part", choices=sorted(KINDS), action="append")
    parser.add_argument("--ci", action="store_true", help="a sample of the cases")
    parser.add_argument("--every", type=int, help="every so many-th case")
    given = parser.parse_args(argv)
    every = given.every or (SAMPLE if given.ci else 1)
    record = dict[str, object]()
    if given.record is not None and given.record.exists():
        record = json.loads(given.record.read_text())
    good = True
    for kind in given.part or KINDS:
        found = played(kind, every)
        record[kind] = {**asdict(found), "every": every}
        good = good and not found.bad and found.cases > 0
        said = ", ".join(f"{name} {count}" for name, count in found.by.items())
        print(
            f"{kind}: {found.cases} cases ({said}; every {every}.): {found.lost} lost, {found.torn} torn,"
            f" {found.doubled} doubled, {found.took_s:.0f} s",
            flush=True,
        )
        if given.record is not None:
            given.record.write_text(json.dumps(record, indent=1) + "\n")
    return 0 if good else 1


def played(kind: str, every: int) -> Found:
    """All cases of a campaign; what is wrong is said as it is found."""
    found, began_s = Found(), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="publication-") as folder:
        for case in KINDS[kind](Path(folder), every):
            found.add(case)
            if not case.good:
                print(f"{kind}: {case}", file=sys.stderr, flush=True)
    found.took_s = time.monotonic() - began_s
    return found
