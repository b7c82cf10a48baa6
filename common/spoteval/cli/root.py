"""The root command: verbs by table, help in four blocks, errors in one line."""

import importlib
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click

from spoteval import __version__
from spoteval.cli.errors import said
from spoteval.cli.verbs import BLOCKS, VERBS, Verb


class Verbs(click.Group):
    """A group whose commands are looked up in the table and imported when called."""

    def __init__(self, words: str, **settings: Any) -> None:
        super().__init__(name=words.rpartition(" ")[2] or "spoteval", **settings)
        self._words = words

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Words that may follow."""
        return [name for name, _ in self._below()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command of one more word; None where there is none."""
        words = f"{self._words} {cmd_name}".strip()
        verb = VERBS.get(words)
        if verb is None:
            return None
        if not verb.target:
            return Verbs(words, help=verb.help, hidden=verb.block is None)
        module, _, attribute = verb.target.partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        command.hidden = verb.block is None  # what only our own processes call is not completed
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command of the next word; an unknown one is named with its nearest neighbour."""
        if (command := self.get_command(ctx, args[0])) is not None:
            return args[0], command, args[1:]
        from difflib import get_close_matches

        near = get_close_matches(args[0], self.list_commands(ctx), n=1)
        hint = f' (did you mean "{near[0]}"?)' if near else ""
        raise click.UsageError(f'"{args[0]}": no such verb{hint}', ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The verbs in their blocks, from the table alone."""
        for block in BLOCKS:
            rows = [(name, verb.help) for name, verb in self._below() if verb.block == block]
            if rows:
                with formatter.section(block):
                    formatter.write_dl(rows)

    def _below(self) -> Iterator[tuple[str, Verb]]:
        for words, verb in VERBS.items():
            before, _, last = words.rpartition(" ")
            if before == self._words:
                yield last, verb


class Root(Verbs):
    """The outermost group: what goes wrong below it ends here."""

    def main(  # type: ignore[override]  # click overloads this; we never return a value
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **_: Any
    ) -> None:
        """Run and exit: 0 done, 1 failed, 2 wrong configuration or command line, 3 refused."""
        words = list(sys.argv[1:] if args is None else args)
        if debug := "--debug" in words:
            words.remove("--debug")
        try:
            done = super().main(words, prog_name or "spoteval", standalone_mode=False)
        except BaseException as error:
            if debug and not isinstance(error, SystemExit):
                raise
            sys.exit(said(error, verb_of(words)))
        sys.exit(done if isinstance(done, int) else 0)


def verb_of(words: Sequence[str]) -> str:
    """The verb that was typed, such as "run new"; empty where none was."""
    found = ""
    for word in words:
        longer = f"{found} {word}".strip()
        if longer in VERBS:
            found = longer
        elif not word.startswith("-"):
            break
    return found


root = Root(
    "",
    help="Keeps a long evaluation running on machines the provider may take away at any moment.",
    params=[click.Option(["--debug"], is_flag=True, help="Show tracebacks.")],
    context_settings={"help_option_names": ["-h", "--help"]},
)
click.version_option(__version__, prog_name="spoteval", message="%(prog)s %(version)s")(root)
