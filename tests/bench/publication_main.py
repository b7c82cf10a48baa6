"""The table of tests/bench/publication: options, the service, the parts, what is printed."""

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from bench import publication_many as many
from bench import publication_record as kept
from bench import publication_rows as rows
from bench.publication_bench import NO_GOAL, Bench, Row
from bench.publication_final import final
from bench.publication_record import FIRST
from parts import Parts
from s3_server import free_port, seaweed

ROWS = (*FIRST, "seeded", "final")
STDOUT = "-"
PLAYS = {"idle": rows.idle, "pull": rows.pulled, "news": rows.news}


def main(argv: Sequence[str]) -> int:
    """Measure, print; exit 1 where a goal is missed."""
    options = _parser().parse_args(argv)
    record = kept.opened(options.record, options.rounds)
    if options.table is not None:
        return _tabled(record, options)
    found: list[Row] = []
    for row in played(record, options):
        one = _counted(row) if options.counts else row
        found.append(one)
        print(kept.line(one), flush=True)
    if options.json is not None:
        text = json.dumps(kept.as_json(options.rounds, found), ensure_ascii=False, indent=1)
        Path(options.json).write_text(text + "\n")
    return int(not found or not all(one.good for one in found))


def _counted(row: Row) -> Row:
    goal = row.goal if row.goal == NO_GOAL else f"counts alone are held, not {row.goal}"
    return replace(row, good=row.counts, goal=goal)


def _tabled(record: Parts, options: argparse.Namespace) -> int:
    """Print the record, or write it into a page."""
    if not record.found:
        sys.stderr.write(f"{options.record}: nothing that was measured with these sources\n")
        return 1
    words = ["--size", str(options.size), "--seeded", ",".join(map(str, options.seeded))]
    words += ["--tools-at", ",".join(map(str, options.tools_at))] if options.tools_at else []
    text = kept.markdown(record, words)
    if options.table == STDOUT:
        sys.stdout.write(text)
    else:
        kept.write_into(Path(options.table), text)
    return 0


def played(record: Parts, options: argparse.Namespace) -> Iterator[Row]:
    """Every row that is wanted; what the record has is not measured again."""
    wanted = wanted_of(options)
    left = [name for name in wanted if name not in record.found]
    scratch = Path(tempfile.mkdtemp(prefix="publication-", dir=options.scratch))
    try:
        if left:
            metrics = free_port()
            with seaweed(scratch, metrics) as service:
                bench = Bench(scratch, service, metrics, options.rounds)
                _play(bench, record, left, options.size)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    for name in wanted:
        yield from kept.rows_of(record, name)
    if any(name.startswith("seeded ") for name in wanted):
        yield from filter(None, [kept.memory(record)])


def wanted_of(options: argparse.Namespace) -> list[str]:
    """The parts by name, in the order in which they are played: the others before what they stand beside."""
    words = options.rows.split(",")
    names = [f"{word} {options.size}" for word in FIRST if word in words]
    if "seeded" in words:
        names += [f"tools {size}" for size in options.tools_at]
        names += [f"seeded {size}" for size in options.seeded]
    return [*names, *(["final"] if "final" in words else [])]


def _play(bench: Bench, record: Parts, left: Sequence[str], size: int) -> None:
    onto = [word for word in FIRST if f"{word} {size}" in left]
    if onto:
        rounds = bench.rounds if "first" in onto else 1
        published, found = rows.first(bench, size, rounds)
        if "first" in onto:
            kept.keep(record, f"first {size}", found)
        for word in (word for word in onto if word != "first"):
            kept.keep(record, f"{word} {size}", PLAYS[word](bench, published))
    for name in left:
        word, _, of = name.partition(" ")
        if word == "tools":
            kept.keep(record, name, [], others=many.others(bench, int(of)))
        elif word == "seeded":
            found, rss_mb = many.seeded(bench, int(of))
            kept.keep(record, name, found, rss_mb=rss_mb)
        elif word == "final":
            kept.keep(record, name, [final(bench)])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="publication", description="What publication costs.")
    parser.add_argument("--size", type=int, default=1_000, help="episodes (default: 1,000)")
    parser.add_argument("--seeded", type=_sizes, default=[1_000], help="sizes, by commas")
    parser.add_argument(
        "--tools-at",
        type=_sizes,
        default=[],
        metavar="SIZES",
        help="seeded sizes at which the other tools are measured too: first one of them brings all of it into the"
        " store, half an hour for 100,000",
    )
    parser.add_argument("--rounds", type=int, default=3, help="of each measurement (default: 3)")
    parser.add_argument("--rows", default=",".join(ROWS), help="by commas (default: all)")
    parser.add_argument("--counts", action="store_true", help="hold no time to its goal")
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    parser.add_argument(
        "--record",
        type=Path,
        metavar="FILE",
        help="keep each part there, and go on with what is missing",
    )
    parser.add_argument(
        "--table",
        nargs="?",
        const=STDOUT,
        metavar="PAGE",
        help="measure nothing: print the record as Markdown, or write it into the page, between its two marks",
    )
    parser.add_argument("--scratch", help="a directory on a disk (default: a temporary place)")
    return parser


def _sizes(text: str) -> list[int]:
    return [int(word) for word in text.split(",") if word]
