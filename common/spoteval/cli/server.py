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
from spoteval.control.serverload import in_flight
from spoteval.shape import Reading, Unreadable


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


@server.command()
@json_option
def load(as_json: bool) -> None:
    """Requests in flight of each server: `null` where it does not tell, or is down."""
    host = this_host("idle-guard")
    found = {one.name: _load(one, host.paths.credentials) for one in guest_of(host).servers}
    if as_json:
        say_json({"servers": {name: _told(count) for name, count in found.items()}})
        return
    for name, count in found.items():
        said = "does not tell" if count is None else f"{count} requests in flight"
        say(f"{name}: {count.why if isinstance(count, Unreadable) else said}")


def _load(settings: ServerSettings, credentials: Path) -> Reading[int | None]:
    try:
        key = read_secret(credentials, settings.credential) if settings.credential else None
    except ConfigError:
        key = None  # most servers show their metrics to everybody; one that does not says so
    return in_flight(settings, key)


def _told(count: Reading[int | None]) -> dict[str, object]:
    return {"why": count.why} if isinstance(count, Unreadable) else {"in_flight": count}


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
