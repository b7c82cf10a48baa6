"""Decision lines: key=value text that people read and programs parse."""

from collections.abc import Mapping

Value = str | int | float | bool | None
_SPLIT = ' "=\\'


def render(pairs: Mapping[str, Value]) -> str:
    """One line of `key=value`, in order; keys whose value is None are left out, text with blanks is quoted."""
    return " ".join(f"{key}={_text(value)}" for key, value in pairs.items() if value is not None)


def parse(text: str) -> dict[str, str]:
    """The pairs of a line that `render` made, all values as text."""
    pairs: dict[str, str] = {}
    rest = text.strip()
    while rest:
        key, _, rest = rest.partition("=")
        value, rest = _quoted(rest) if rest.startswith('"') else _bare(rest)
        pairs[key] = value
    return pairs


def flat(text: str) -> str:
    """On one line and without what steers a terminal, whatever a person or a server wrote."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " for char in text)


def _text(value: Value) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.0f}" if value == int(value) else f"{value:.3f}".rstrip("0").rstrip(".")
    return _safe(str(value))


def _safe(text: str) -> str:
    """Quote what a parser would split."""
    plain = flat(text)
    if plain and not any(char in plain for char in _SPLIT):
        return plain
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _bare(text: str) -> tuple[str, str]:
    value, _, rest = text.partition(" ")
    return value, rest


def _quoted(text: str) -> tuple[str, str]:
    value: list[str] = []
    position = 1
    while position < len(text) and text[position] != '"':
        position += text[position] == "\\"
        value.append(text[position : position + 1])
        position += 1
    return "".join(value), text[position + 2 :]
