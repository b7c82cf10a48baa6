"""Values as TOML types them, for host files that are written for a person. Pure."""

import json
from collections.abc import Mapping


def quoted(text: str) -> str:
    """A TOML basic string: JSON's, but for the one character that TOML escapes and JSON does not."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_value(value: object) -> str:
    """A text, a list, a table in one line, a number or a flag."""
    match value:
        case str():
            return quoted(value)
        case bool():
            return "true" if value else "false"
        case list() | tuple():
            return f"[{', '.join(toml_value(item) for item in value)}]"
        case Mapping():
            pairs = (f"{quoted(str(name))} = {toml_value(item)}" for name, item in value.items())
            return f"{{ {', '.join(pairs)} }}"
        case _:
            return str(value)  # numbers and dates are written as Python writes them


def set_line(name: str, value: object, says: str = "") -> str:
    """One key with its comment in the column of all comments."""
    line = f"{name} = {toml_value(value)}"
    return f"{line:<37} # {says}\n" if says else f"{line}\n"
