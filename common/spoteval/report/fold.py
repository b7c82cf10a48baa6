"""Lines of a screen: label and text, both ends of a line, and what is too long on the next line."""

import textwrap

WIDTH, FACTS = 80, 78
INDENT = " " * 13


def line(label: str, text: str) -> str:
    """A subject and what is said of it."""
    return f"  {label}".ljust(len(INDENT)) + text


def right(left: str, end: str, width: int) -> list[str]:
    """Both ends of one line; the end goes on a line of its own where there is no room."""
    room = width - len(left) - len(end)
    return (
        [left + " " * room + end] if room >= 2 else [*folded(left, width=width), end.rjust(width)]
    )


def folded(text: str, indent: str = "    ", width: int = WIDTH) -> list[str]:
    """The line over as many lines as it needs. Words are never cut: a path that is too long stays whole."""
    return textwrap.wrap(
        text,
        width,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    ) or [text]
