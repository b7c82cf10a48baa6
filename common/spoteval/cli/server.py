"""`spoteval server`: one look whether a model server is ready for the run."""

from pathlib import Path

import click

from spoteval.cli.common import guest_of, this_host
from spoteval.cli.output import json_option, say, say_json
from spoteval.config.guest import GuestConfig
from spoteval.config.server import ServerSettings
from spoteval.config.shared import ConfigError
from spoteval.control.readiness import Look, look_at
from spoteval.control.refused import Refused
from spoteval.control.secrets import read_secret


@click.group()
def server() -> None:
    """The model servers."""


@server.command()
@click.argument("name")
@json_option
def probe(name: str, as_json: bool) -> int:
    """Healthy, the model served, one completion by the run's own key? Exit 0 ready, 1 not (with --json always 0)."""
    host = this_host("boot-resume")
    look = _look(_settings(guest_of(host), name), host.paths.credentials)
    if as_json:
        say_json({"ready": look.ready, "refused": look.refused, "saw": look.saw})
        return 0
    say(f"{name}: {'ready' if look.ready else 'not ready'}: {look.saw}")
    return 0 if look.ready else 1


def _settings(config: GuestConfig, name: str) -> ServerSettings:
    known = {item.name: item for item in config.servers}
    if name not in known:
        raise Refused(f'"{name}": no such server (configured: {", ".join(known) or "none"})')
    return known[name]


def _look(settings: ServerSettings, credentials: Path) -> Look:
    """A key that cannot be read is for a person to mend, like one that is refused."""
    try:
        key = read_secret(credentials, settings.credential) if settings.credential else None
    except ConfigError as error:
        return Look(ready=False, refused=True, saw=str(error))
    return look_at(settings, key)
