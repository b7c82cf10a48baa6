"""The table of tests/bench/publication: options, the service, the rows, what is printed."""

import argparse
import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from bench import publication_rows as rows
from bench.publication_final import final
from bench.publication_rows import Bench, Row
from bench.publication_tools import TOOLS
from s3_server import free_port, seaweed

ROWS = ("first", "idle", "pull", "seeded", "final")


def main(argv: Sequence[str]) -> int:
    """Measure, print; exit 1 where a goal is missed."""
    options = _parser().parse_args(argv)
    scratch = Path(tempfile.mkdtemp(prefix="publication-", dir=options.scratch))
    found: list[Row] = []
    try:
        metrics = free_port()
        with seaweed(scratch, metrics) as service:
            bench = Bench(scratch, service, metrics, options.rounds)
            for row in played(bench, options):
                one = replace(row, good=row.counts) if options.counts else row
                found.append(one)
                print(line(one), flush=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    if options.json is not None:
        record = {"rounds": options.rounds, "rows": [asdict(one) for one in found]}
        Path(options.json).write_text(json.dumps(record, ensure_ascii=False, indent=1) + "\n")
    return int(not found or not all(one.good for one in found))


def played(bench: Bench, options: argparse.Namespace) -> Iterator[Row]:
    """Every row that is wanted."""
    wanted = options.rows.split(",")
    if {"first", "idle", "pull"} & set(wanted):
        published, found = rows.first(bench, options.size)
        yield from found
        if "idle" in wanted:
            yield from rows.idle(bench, published)
        if "pull" in wanted:
            yield from rows.pulled(bench, published)
    if "seeded" in wanted and options.seeded:
        by_size: dict[int, float] = {}
        for size in options.seeded:
            found, by_size[size] = rows.seeded(bench, size)
            yield from found
        yield rows.memory(by_size)
    if "final" in wanted:
        yield final(bench)


def line(one: Row) -> str:
    """One row as text."""
    word = "ok   " if one.good else "short"
    others = " · ".join(f"{tool} {one.others[tool]}" for tool in TOOLS if tool in one.others)
    text = f"{word}  {one.work:<44} {one.ours:<44} {one.goal}"
    return f"{text}\n{'':7}{'':44} {others}" if others else text


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="publication", description="What publication costs.")
    parser.add_argument("--size", type=int, default=1_000, help="episodes (default: 1,000)")
    parser.add_argument("--seeded", type=_sizes, default=[1_000], help="sizes, by commas")
    parser.add_argument("--rounds", type=int, default=3, help="of each measurement (default: 3)")
    parser.add_argument("--rows", default=",".join(ROWS), help="by commas (default: all)")
    parser.add_argument("--counts", action="store_true", help="hold no time to its goal")
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    parser.add_argument("--scratch", help="a directory on a disk (default: a temporary place)")
    return parser


def _sizes(text: str) -> list[int]:
    return [int(word) for word in text.split(",") if word]
