"""What the bench has found so far, by part: rows as text, and as the table of docs/publication.md."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from bench.publication_bench import Row
from bench.publication_judge import memory_row
from bench.publication_many import IDLE, NEW
from bench.publication_tools import TOOLS
from parts import ROOT, Parts, parts

HERE = Path(__file__).resolve().parent
FIRST = ("first", "idle", "pull", "news")
"""Parts that play on one first publication."""
BEGIN, END = "<!-- table -->", "<!-- end of table -->"
NOT_RUN = "other tools not run (--tools-at {size})"


def opened(path: Path | None, rounds: int) -> Parts:
    """The record of these sources and so many rounds."""
    own = [str(file.relative_to(ROOT)) for file in sorted(HERE.glob("publication*"))]
    return parts(path, own, bench="publication", rounds=rounds)


def keep(record: Parts, name: str, rows: Sequence[Row], **more: object) -> None:
    """Add what a part has found."""
    record.add(name, {"rows": [asdict(one) for one in rows], **more})


def rows_of(record: Parts, name: str) -> list[Row]:
    """The rows of one part, with what the other tools took for the same."""
    found = record.found.get(name, {})
    word, _, size = name.partition(" ")
    rows = [Row(**one) for one in found.get("rows", ())]
    return _with_others(record, rows, size) if word == "seeded" else rows


def _with_others(record: Parts, rows: Sequence[Row], size: str) -> list[Row]:
    """A first publication of that size has these rows too, and there the others are measured as well."""
    others = record.found.get(f"tools {size}", {}).get("others", {})
    unseen = "" if others else f" ({NOT_RUN.format(size=size)})"
    besides = {IDLE: f"idle {size}", NEW: f"news {size}"}
    return [
        replace(one, others=others.get(part, {}), goal=f"{one.goal}{unseen}")
        for part, one in zip((IDLE, NEW), rows, strict=True)
        if besides[part] not in record.found
    ]


def whole(record: Parts) -> Iterator[Row]:
    """Every row that the record has, in the order of the table."""
    names = sorted(record.found, key=_place)
    for name in names:
        yield from rows_of(record, name)
    if (row := memory(record)) is not None:
        yield row


def _place(name: str) -> tuple[int, int]:
    word, _, size = name.partition(" ")
    order = ("first", "idle", "news", "pull", "seeded", "tools", "final")
    return order.index(word), int(size or 0)


def memory(record: Parts) -> Row | None:
    """Of all sizes that were seeded; None of none."""
    by_size = {
        int(name.partition(" ")[2]): float(found["rss_mb"])
        for name, found in record.found.items()
        if name.startswith("seeded ")
    }
    return memory_row(by_size) if by_size else None


def line(one: Row) -> str:
    """One row as text."""
    word = "ok   " if one.good else "short"
    text = f"{word}  {one.work:<44} {one.ours:<44} {one.goal}"
    return f"{text}\n{'':7}{'':44} {said}" if (said := _beside(one.others)) else text


def _beside(others: Mapping[str, str]) -> str:
    return " · ".join(f"{tool} {others[tool]}" for tool in TOOLS if tool in others)


def markdown(record: Parts, options: Sequence[str]) -> str:
    """The table for people, and the command that measured it."""
    head = ["work", "spoteval", *TOOLS, "goal"]
    lines = [f"`tests/bench/publication {' '.join(options)}`, medians of {record.head['rounds']}:"]
    lines += ["", _cells(head), _cells(["---"] * len(head))]
    for one in whole(record):
        ours = one.ours if one.good else f"{one.ours} (missed)"
        lines.append(_cells([one.work, ours, *(_other(one, tool) for tool in TOOLS), one.goal]))
    return "\n".join(lines) + "\n"


def write_into(page: Path, table: str) -> None:
    """Put the table between the marks of a page. Raises ValueError where it does not have them."""
    before, begin, rest = page.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f'{page}: no "{BEGIN}" and "{END}"')
    page.write_text(f"{before}{begin}\n{table}{end}{after}")


def _other(one: Row, tool: str) -> str:
    return one.others.get(tool, "–")


def _cells(words: Sequence[str]) -> str:
    return f"| {' | '.join(words)} |"


def as_json(rounds: int, rows: Sequence[Row]) -> dict[str, Any]:
    """For programs."""
    return {"rounds": rounds, "rows": [asdict(one) for one in rows]}
