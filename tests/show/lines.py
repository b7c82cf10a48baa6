"""One line for each thing shown: `ok`, `short`, `not run` or `skipped`, what it is, and its figure."""

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

Word = Literal["ok", "short", "not run", "skipped"]


@dataclass(frozen=True, slots=True)
class Line:
    """What is printed. A figure is a number or a sentence, never a promise."""

    word: Word
    what: str
    figure: str = ""

    def text(self) -> str:
        """The printed line: the word in seven columns, what, two spaces, the figure."""
        return f"{self.word:<7} {self.what}  {self.figure}".rstrip()


def judged(good: bool, what: str, figure: object) -> Line:
    """ok or short, with the figure either way."""
    return Line("ok" if good else "short", what, str(figure))


def short(what: str, why: object) -> Line:
    """Not shown, and why not."""
    return Line("short", what, str(why))


def needs_full(what: str) -> Line:
    """Left out because it is long."""
    return Line("not run", what, "(needs --full)")


def skipped(what: str, reason: object) -> Line:
    """This machine cannot show it."""
    return Line("skipped", what, f"skipped: {reason}")


class Missing(Exception):
    """What a line would be shown by does not exist: the line is short."""


@dataclass(frozen=True, slots=True)
class Show:
    """One thing to show. `lines` may yield several; whatever it raises makes `what` short."""

    what: str
    lines: Callable[[], Iterable[Line]]


def show(shows: Iterable[Show]) -> int:
    """Print all lines as they come; 1 if any is short."""
    words: list[Word] = []
    for one in shows:
        for line in _safely(one):
            print(line.text(), flush=True)
            words.append(line.word)
    shorts = words.count("short")
    left_out = f"{words.count('not run')} not run"
    left_out += f", {words.count('skipped')} skipped" if "skipped" in words else ""
    print(f"{words.count('ok')} ok, {shorts} short, {left_out}")
    return 1 if shorts else 0


def _safely(one: Show) -> Iterable[Line]:
    came = 0
    try:
        for line in one.lines():
            came += 1
            yield line
    except Missing as missing:
        yield short(one.what, missing)
    except Exception as error:  # noqa: BLE001  a broken line is short, the others still run
        yield short(one.what, f"{type(error).__name__}: {error}"[:300])
    else:
        if not came:
            yield short(one.what, "nothing was shown")


def say(text: str) -> None:
    """Progress, beside the lines."""
    print(f"        {text}", file=sys.stderr, flush=True)
