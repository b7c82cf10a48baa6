"""Every case of the campaigns: kill -9, a full disk, a proxy that spoils requests; the record and the line of each."""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from parts import Found, Parts, cancelled, parts
from publication import disk_cases, proxy_cases
from publication.judge import Case
from s3_server import Service

SAMPLE = 7
"""CI plays every so many-th case, each fault beginning with another."""
OWN = ("tests/publication", "tests/fault_proxy.py", "tests/follower_world.py", "tests/s3_server.py")
MEMORY = Path("/dev/shm")
"""Worlds of a megabyte, thousands of fsyncs: they are the disk's time, and prove nothing here."""
WRONG = ("lost", "torn", "doubled", "broken")
DISK: dict[str, disk_cases.Play] = {
    "operation": disk_cases.at_operation,
    "request": disk_cases.at_request,
    "write": disk_cases.full_write,
    "write-once": partial(disk_cases.full_write, once=True),
    "fsync": disk_cases.full_fsync,
    "fsync-once": partial(disk_cases.full_fsync, once=True),
}
CAMPAIGNS: dict[str, tuple[str, ...]] = {
    "kill": ("operation", "request", *proxy_cases.KILLS),
    "enospc": ("write", "write-once", "fsync", "fsync-once"),
    "proxy": tuple(proxy_cases.faults()),
}
"""The faults of each."""


@dataclass
class Tally:
    """What came of one fault at all its places."""

    cases: int = 0
    lost: int = 0
    torn: int = 0
    doubled: int = 0
    broken: int = 0
    """Cases that could not be judged: the campaign of this fault ended there."""
    took_s: float = 0.0
    bad: list[str] = field(default_factory=list)

    def add(self, case: Case) -> None:
        """One case more."""
        self.cases += 1
        self.lost += len(case.lost)
        self.torn += len(case.torn)
        self.doubled += len(case.doubled)
        if not case.good:
            self.bad.append(str(case))


def main(argv: list[str] | None = None) -> int:
    """The exit code."""
    given = _parser().parse_args(argv)
    every = given.every or (SAMPLE if given.ci else 1)
    kept = parts(given.record, OWN, every=every)
    wanted = given.fault or [name for part in given.part or CAMPAIGNS for name in CAMPAIGNS[part]]
    chosen = [part for part, faults in CAMPAIGNS.items() if set(faults) & set(wanted)]
    left = [fault for fault in wanted if not _is_good(kept.found.get(fault))]
    for fault, tally in _played(left, every, given.at_once):
        print(f"{fault}: {tally.cases} cases, {tally.took_s:.0f} s", file=sys.stderr, flush=True)
        kept.add(fault, asdict(tally))
        print("".join(f"{fault}: {text}\n" for text in tally.bad), end="", file=sys.stderr)
    kept.more["campaigns"] = table(kept)
    kept.keep()
    for campaign in chosen:
        print(told(campaign, kept.more["campaigns"][campaign], every), flush=True)
    return int(not all(_is_good(kept.found.get(fault)) for fault in wanted))


def _is_good(found: Found | None) -> bool:
    return found is not None and found["cases"] > 0 and found["bad"] == []


def _played(faults: Sequence[str], every: int, at_once: int) -> Iterator[tuple[str, Tally]]:
    """Side by side in forked processes: each has one audit hook and one proxy, one service is for all."""
    with ExitStack() as stack:
        above = stack.enter_context(tempfile.TemporaryDirectory(prefix="publication-"))
        is_served = any(fault not in DISK for fault in faults)
        service = stack.enter_context(proxy_cases.served(Path(above))) if is_served else None
        pool = ProcessPoolExecutor(at_once, get_context("fork"))
        stack.enter_context(cancelled(pool))
        found = pool.map(partial(played, every=every, service=service), faults)
        yield from zip(faults, found, strict=True)


def played(fault: str, every: int, service: Service | None) -> Tally:
    """One fault at all its places."""
    tally, began_s = Tally(), time.monotonic()
    above = MEMORY if MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="publication-", dir=above) as folder:
        try:
            for case in cases(Path(folder), fault, every, service):
                tally.add(case)
        except Exception as error:  # noqa: BLE001  the other faults are played all the same
            tally.broken += 1
            tally.bad.append(f"after {tally.cases} cases: {type(error).__name__}: {error}")
    tally.took_s = round(time.monotonic() - began_s, 1)
    return tally


def cases(folder: Path, fault: str, every: int, service: Service | None) -> Iterator[Case]:
    """Of one fault, beginning at another place than those before it."""
    if service is None or fault in DISK:
        return disk_cases.cases(folder, fault, DISK[fault], every)
    order = [*proxy_cases.faults(), *proxy_cases.KILLS]
    begin = 1 + order.index(fault) % every
    return proxy_cases.spoiled(folder, fault, service, range(begin, proxy_cases.MOST, every))


def table(kept: Parts) -> Found:
    """For each campaign the sums over its faults; one that was not played is named."""
    return {campaign: _summed(kept, faults) for campaign, faults in CAMPAIGNS.items()}


def _summed(kept: Parts, faults: Sequence[str]) -> Found:
    found = {fault: kept.found[fault] for fault in faults if fault in kept.found}
    sums: Found = {
        name: sum(one[name] for one in found.values()) for name in ("cases", *WRONG, "took_s")
    }
    by = {fault: one["cases"] for fault, one in found.items()}
    missing = [fault for fault in faults if not by.get(fault)]
    return {**sums, "by": by, "missing": missing, "again": kept.again(faults)}


def told(campaign: str, sums: Found, every: int) -> str:
    """The line of one campaign."""
    by = ", ".join(f"{name} {count}" for name, count in sums["by"].items())
    sample = f"; every {every}." if every > 1 else ""
    wrong = ", ".join(f"{sums[name]} {name}" for name in WRONG)
    gaps = f"; NOT PLAYED: {', '.join(sums['missing'])}" if sums["missing"] else ""
    took = f"{sums['took_s']:.0f} s of one process"
    return f"{campaign}: {sums['cases']} cases ({by}{sample}): {wrong}, {took}{gaps}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("tests/publication/run", description=__doc__)
    parser.add_argument("--part", choices=sorted(CAMPAIGNS), action="append", help="only this one")
    every = sorted(fault for faults in CAMPAIGNS.values() for fault in faults)
    parser.add_argument("--fault", choices=every, action="append", help="only this fault")
    parser.add_argument("--ci", action="store_true", help="a sample of the cases")
    parser.add_argument("--every", type=int, help="every so many-th case")
    parser.add_argument("--at-once", type=int, default=2, help="faults at a time (2)")
    parser.add_argument(
        "--record", type=Path, help="keep results here; good ones of the same sources count"
    )
    return parser
