"""What both roles of `spoteval setup` share: asking, writing, telling, and the check at the end."""

import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from spoteval.cli.check import checks_of, say_checks
from spoteval.cli.common import this_host, who
from spoteval.cli.output import json_option, say, say_json, step
from spoteval.config.draft import StoreDraft
from spoteval.config.shared import ConfigError
from spoteval.config.variables import value_of
from spoteval.control.refused import Refused
from spoteval.machine import process
from spoteval.report.check import FAIL
from spoteval.settings.keys import Key, keys_of

F = TypeVar("F", bound=Callable[..., Any])
SYSTEM = Path("/etc")
_RELOAD_S = 30.0


def setup_options(function: F) -> F:
    """The options of both roles."""
    options = (
        click.option("--instance", help="Name of the instance, the same on both hosts."),
        click.option("--provider", help="Kind of provider."),
        click.option("--store", help="URL of the store."),
        click.option("--endpoint-url", help="Of an S3 service other than AWS."),
        click.option("--region", help="Of the bucket."),
        click.option("--credential", help="Its file in the credentials directory."),
        click.option("--set", "more", multiple=True, metavar="KEY=VALUE", help="More of its kind."),
        click.option("--replace", is_flag=True, help="Write the host file anew; keep the old one."),
        click.option("--owner", help="The agents' user; spoteval where you are root."),
        click.option("--user", is_flag=True, hidden=True),
        click.option("--etc", type=click.Path(path_type=Path), default=SYSTEM, hidden=True),
        json_option,
    )
    for option in reversed(options):
        function = option(function)
    return function


def refuse_user_units() -> None:
    """Raises Refused: who asks for units of a user's own would lose them when it matters."""
    raise Refused(
        "the agents are system services: a user's own are killed seconds after the last logout and are no part"
        " of a shutdown's order (without --user, with sudo)"
    )


def may_write(path: Path, role: str) -> None:
    """Raises Refused where this user cannot write there."""
    above = next(one for one in (path, *path.parents) if one.exists())
    if not os.access(above, os.W_OK):
        raise Refused(f"{above} is not yours to write (sudo spoteval setup {role})")


def asked(name: str, given: str | None, says: str) -> str:
    """The answer of the command line, else of the person at the terminal. Raises Refused where nobody is there."""
    if given is not None:
        return given
    if not sys.stdin.isatty():
        raise Refused(f"there is no host file yet: say --{name} ({says})")
    return str(click.prompt(f"{name} ({says})", err=True))


def asked_kind(given: str | None, kinds: Sequence[str]) -> str:
    """The kind of provider. Raises ConfigError for one that nobody knows."""
    kind = asked("provider", given, f"kind of provider: {', '.join(kinds)}")
    if kind not in kinds:
        raise ConfigError(f'--provider "{kind}": must be {" or ".join(kinds)}')
    return kind


def more_keys(settings: type, given: Sequence[str]) -> dict[str, object]:
    """The further keys of a kind of provider: those of `--set`, and those that it cannot be without.

    Raises ConfigError for a word that is no KEY=VALUE, Refused where a key is missing and nobody can be asked.
    """
    words = dict(_pair(word) for word in given)
    found: dict[str, object] = {}
    for item in keys_of(settings):
        text = words.pop(item.name, None)
        if text is None and item.required:
            text = _asked_key(item)
        if text is not None:
            found[item.name] = _typed(item, text)
    return {**found, **{name: value_of(text) for name, text in words.items()}}


def store_draft(
    url: str, endpoint_url: str | None, region: str | None, credential: str | None, usual: Path
) -> StoreDraft:
    """`[store]` as it was said; the `usual` credential is taken where its file is there."""
    if credential is None and url.startswith("s3://") and usual.is_file():
        credential = usual.name
    said = {"endpoint_url": endpoint_url, "region": region, "credential": credential}
    return StoreDraft(url, {name: text for name, text in said.items() if text is not None})


def refuse_other(path: Path, said: Mapping[str, tuple[object, object]]) -> None:
    """A host file that is there is a person's: raises ConfigError for an answer that contradicts it."""
    for place, (given, found) in said.items():
        if given is not None and given != found:
            raise ConfigError(
                f'{path}: {place} "{found}": not "{given}" (edit the file, or --replace it)'
            )


def default_owner() -> str:
    """The agents' user."""
    return "spoteval" if os.geteuid() == 0 else who()


def reload_systemd() -> None:
    """systemd reads units and mounts again."""
    done = process.run(["systemctl", "daemon-reload"], _RELOAD_S)
    if not done.ok:
        step(f"systemctl daemon-reload: {done.err.strip() or f'exit {done.code}'}")


def end(changed: Sequence[str], todo: Sequence[str], start: str, as_json: bool) -> None:
    """Tell what was changed and what is left to a person, with the lines of `spoteval check` between them.

    `start` is what is typed once nothing fails any more; empty where all that should run does.
    """
    found = list(checks_of(this_host()))
    failing = any(one.verdict == FAIL for one in found)
    following = "mend what fails above, then: spoteval check" if failing else start
    todo = [*todo, *([f"next: {following}"] if following else [])]
    if as_json:
        checks = [one.record() for one in found]
        say_json({"changed": list(changed), "checks": checks, "todo": todo})
        return
    for line in changed or ["nothing changed: this host was set up already"]:
        say(line)
    say_checks(found)
    for line in todo:
        say(line)


def _pair(word: str) -> tuple[str, str]:
    name, between, text = word.partition("=")
    if not between or not name.isidentifier():
        raise ConfigError(f'--set "{word}": must be KEY=VALUE, such as --set cloud=/srv/cloud')
    return name, text


def _asked_key(item: Key) -> str:
    if not sys.stdin.isatty():
        raise Refused(f"there is no host file yet: say --set {item.name}=… ({item.says})")
    return str(click.prompt(f"{item.name} ({item.says})", err=True))


def _typed(item: Key, text: str) -> object:
    """A program and its arguments may be typed as in a shell; all else as variables have it."""
    value = value_of(text)
    if item.kind.schema.get("type") == "array" and isinstance(value, str):
        return shlex.split(text)
    return text if item.kind.schema.get("type") == "string" else value
