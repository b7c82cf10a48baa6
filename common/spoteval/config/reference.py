"""The tables of docs/configuration.md, from the same description that reads the host file."""

from collections.abc import Iterable, Iterator

from spoteval.config.described import SECTIONS, Section, keys_for
from spoteval.run import StopRules
from spoteval.settings.keys import Key, keys_of

HEAD = ("| key | value | default | |", "|---|---|---|---|")


def reference(role: str) -> str:
    """Every table of a role as Markdown."""
    return "\n".join(line for section in SECTIONS[role] for line in _section(section))


def _section(section: Section) -> Iterator[str]:
    yield from _table(_title(section), _says(section.settings), keys_for(section))
    for kind, settings in section.kinds.items():
        title = f"{_title(section)}, {section.kind_key} `{kind}`"
        yield from _table(title, f"{_says(settings)}", keys_of(settings))
    if section.name == "run":
        yield from _table("`[run.stop_rules]`", _says(StopRules), keys_of(StopRules))


def _table(title: str, says: str, keys: Iterable[Key]) -> Iterator[str]:
    yield from (f"### {title}", "", says, "", *HEAD)
    yield from (_row(item) for item in keys)
    yield ""


def _row(item: Key) -> str:
    says = f"{item.says} (no effect yet)" if item.later else item.says
    return f"| `{item.name}` | {item.kind.noun} | {_default(item)} | {says} |"


def _default(item: Key) -> str:
    if item.required:
        return "required"
    text = item.text(item.default)
    return "" if text == "none" else f"`{text}`"


def _title(section: Section) -> str:
    names = {"list": f"[[{section.name}]]", "named": f"[{section.name}.NAME]"}
    return f"`{names.get(section.many, f'[{section.name}]')}`"


def _says(settings: type) -> str:
    return " ".join((settings.__doc__ or "").split("\n\n")[0].split())
