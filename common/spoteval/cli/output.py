"""What commands print: JSON for programs, tables for people, colour on a terminal only."""

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

_CODES = {"bold": "1", "red": "31", "green": "32", "yellow": "33", "dim": "2"}


def json_option(function: F) -> F:
    """Add `--json` as the argument `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="One JSON object.")(function)


def follow_option(function: F) -> F:
    """Add `-f` as the argument `follow`."""
    return click.option("-f", "--follow", is_flag=True, help="Go on as news arrive.")(function)


def say(text: str) -> None:
    """Print a line or a block."""
    print(_printable(text), flush=True)


def step(text: str) -> None:
    """Say on stderr what was just done: stdout stays for the answer."""
    print(_printable(text), file=sys.stderr, flush=True)


def say_json(record: Mapping[str, object]) -> None:
    """Print one JSON object on one line."""
    print(_printable(json.dumps(record, ensure_ascii=False)), flush=True)


def on_terminal() -> bool:
    """Whether a person reads this."""
    return sys.stdout.isatty()


def _printable(text: str) -> str:
    """Names that are no text are shown by their bytes."""
    return text.encode(errors="backslashreplace").decode()


def painted(text: str, colour: str, terminal: bool) -> str:
    """The text in a colour, plain where nobody looks."""
    return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if terminal and text else text


def table(rows: Iterable[Sequence[str]], head: Sequence[str] = ()) -> list[str]:
    """Lines with columns as wide as their widest cell; the last column is not padded."""
    lines = [list(row) for row in ([head] if head else [])] + [list(row) for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
    padded = (
        [cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in lines
    )
    return ["  ".join(line).rstrip() for line in padded]
