"""An access key as it lies in a credential file: `publisher.ini`, with or without sections."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_ID, _SECRET, _TOKEN = "aws_access_key_id", "aws_secret_access_key", "aws_session_token"
_NEEDED = f'two lines: "{_ID} = …" and "{_SECRET} = …"'


@dataclass(frozen=True, slots=True)
class AccessKeys:
    """Id, secret, and the token of a key that expires. None of them is ever in a text made of this value."""

    access_key_id: str = field(repr=False)
    secret_access_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)


def parse_keys(text: str) -> AccessKeys:
    """The key in the text of a file; raises ValueError, which quotes nothing of it.

    Liberal: `NAME = VALUE` in any case, with or without quotes, `export` and `[section]`. Of several sections it is
    `[default]`.
    """
    found = _section(text)
    try:
        keys = AccessKeys(found[_ID], found[_SECRET], found.get(_TOKEN) or None)
    except KeyError as missing:
        raise ValueError(f"no {missing.args[0]} in it (needs {_NEEDED})") from None
    for value in (keys.access_key_id, keys.secret_access_key, keys.session_token or "-"):
        if not value or not value.isascii() or not value.isprintable() or " " in value:
            raise ValueError(f"a value in it is empty or no key (needs {_NEEDED})")
    return keys


def _section(text: str) -> Mapping[str, str]:
    """The values of `[default]`, or of the only section that has any."""
    sections: dict[str, dict[str, str]] = {}
    for section, name, value in _values(text):
        sections.setdefault(section, {})[name] = value
    if len(sections) > 1 and "default" not in sections:
        raise ValueError("several sections in it and none is [default]")
    return sections.get("default") or next(iter(sections.values()), {})


def _values(text: str) -> Iterator[tuple[str, str, str]]:
    """Section, name and value of each line that has them."""
    section = ""
    for line in text.splitlines():
        stripped = line.strip().removeprefix("export ")
        if stripped.startswith("[") and stripped.endswith("]"):
            section = stripped[1:-1].strip()
        elif "=" in stripped and stripped[0] not in "#;":
            name, _, value = stripped.partition("=")
            yield section, name.strip().lower(), value.strip().strip("\"'")
