"""Writes the manual pages into a directory: one for each verb, each agent, the configuration and the holds.

python3 packaging/man_pages.py DIR

Needs click-man and scdoc, both of Debian. Verbs come from the command itself, the configuration from the
description that reads it, and what is written by hand lies in packaging/man/.
"""

import inspect
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "common"))

from click_man.man import ManPage  # noqa: E402  (the path is set above)

from spoteval import __version__  # noqa: E402
from spoteval.cli.root import Verbs, root  # noqa: E402
from spoteval.cli.verbs import VERBS  # noqa: E402
from spoteval.config.described import SECTIONS, Section, keys_for  # noqa: E402
from spoteval.settings.keys import Key, keys_of  # noqa: E402

CONFIG = "spoteval-config(5)"
_SPECIAL = str.maketrans({char: f"\\{char}" for char in "\\*_~"})
_CODE = re.compile("`([^`]*)`")


def main(directory: Path) -> None:
    """All pages, uncompressed."""
    directory.mkdir(parents=True, exist_ok=True)
    for page in verb_pages():
        (directory / f"{page.command.replace(' ', '-')}.1").write_text(f"{page}\n")
    for source in sorted((HERE / "man").glob("*.scd")):
        (directory / source.stem).write_bytes(roff(source.read_text()))
    (directory / "spoteval-config.5").write_bytes(roff("\n".join(config_page())))


def verb_pages() -> Iterator[ManPage]:
    """The command and each of its verbs, but for those that only our own processes call."""
    outer = click.Context(root, info_name="spoteval")
    yield verb_page(outer, listed(root, outer))
    for words, verb in VERBS.items():
        if verb.block is None:
            continue
        context, command = outer, _root()
        for word in words.split():
            assert isinstance(command, click.Group)
            found = command.get_command(context, word)
            assert found is not None
            context = click.Context(found, info_name=word, parent=context)
            command = found
        below = listed(command, context) if isinstance(command, click.Group) else []
        yield verb_page(context, below)


def _root() -> click.Command:
    """The outermost command, as one of many kinds."""
    return root


def verb_page(context: click.Context, below: list[tuple[str, str]]) -> ManPage:
    """The page of one command."""
    page = ManPage(context.command_path)
    page.version = __version__
    page.short_help = context.command.get_short_help_str(limit=90).rstrip(".")
    page.description = inspect.cleandoc(context.command.help or "")
    page.synopsis = " ".join(context.command.collect_usage_pieces(context))
    records = (option.get_help_record(context) for option in context.command.params)
    page.options = [record for record in records if record is not None]
    page.commands = below
    return page


def listed(command: click.Command, context: click.Context) -> list[tuple[str, str]]:
    """The words that may follow, with what each does."""
    assert isinstance(command, click.Group)
    words = command._words if isinstance(command, Verbs) else command.name or ""
    names = ((f"{words} {name}".strip(), name) for name in command.list_commands(context))
    return [(name, VERBS[key].help) for key, name in names if key in VERBS and VERBS[key].block]


def config_page() -> Iterator[str]:
    """Every table and key of both roles, as scdoc reads it."""
    yield from (
        f'{CONFIG} "spoteval {__version__}"',
        "",
        (HERE / "man" / "config.head").read_text(),
    )
    for role, sections in SECTIONS.items():
        yield from (f"# THE {role.upper()}", "")
        for section in sections:
            yield from _section(section)
    yield (HERE / "man" / "config.tail").read_text()


def _section(section: Section) -> Iterator[str]:
    names = {"list": f"[[{section.name}]]", "named": f"[{section.name}.NAME]"}
    title = names.get(section.many, f"[{section.name}]")
    yield from _table(title, section.settings, keys_for(section))
    for kind, settings in section.kinds.items():
        yield from _table(
            f'{title} with {section.kind_key} = "{kind}"', settings, keys_of(settings)
        )


def _table(title: str, settings: type, keys: Iterable[Key]) -> Iterator[str]:
    says = " ".join((settings.__doc__ or "").split("\n\n")[0].split())
    yield from (f"## {title}", "", _escaped(says), "")
    for key in keys:
        yield f"*{_escaped(key.name)}*: {_escaped(key.kind.noun)}; {_default(key)}"
        later = " (no effect yet)" if key.later else ""
        yield from (f"\t{_escaped(key.says)}{later}", "")


def _default(key: Key) -> str:
    if key.required:
        return "required"
    text = key.text(key.default)
    return f"default {_escaped(text)}" if text else "default empty"


def _escaped(text: str) -> str:
    """Text as scdoc takes it; what Markdown sets as code becomes bold."""
    return _CODE.sub(r"*\1*", text.translate(_SPECIAL))


def roff(text: str) -> bytes:
    """A page in the language of man, from scdoc's. Raises CalledProcessError with scdoc's message."""
    return subprocess.run(["scdoc"], input=text.encode(), capture_output=True, check=True).stdout


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    except subprocess.CalledProcessError as error:
        sys.exit(f"man_pages: scdoc: {error.stderr.decode().strip()}")
