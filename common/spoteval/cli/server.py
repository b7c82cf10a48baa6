"""`spoteval server`: is a model server ready for the run, what does it work on, are its weights what they should be."""

from pathlib import Path

import click

from spoteval.cli.common import disk_of, guest_of, this_host
from spoteval.cli.output import json_option, say, say_json
from spoteval.config.guest import GuestConfig
from spoteval.config.server import ServerSettings
from spoteval.config.shared import ConfigError
from spoteval.control.readiness import sickness
from spoteval.control.refused import Refused
from spoteval.control.secrets import read_secret
from spoteval.control.serverload import in_flight
from spoteval.control.serverlook import Whole, look_whole
from spoteval.control.weights import SUMS, Verified, verify_weights
from spoteval.machine.unit import units_here
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
    found = look_whole(_settings(guest_of(host), name), host.paths.credentials, units_here())
    if as_json:
        say_json(found.record())
        return 0
    say(f"{name}: {'ready' if found.look.ready else 'not ready'}: {_words(found)}")
    return 0 if found.look.ready else 1


@server.command()
@click.argument("name")
@json_option
def health(name: str, as_json: bool) -> int:
    """Is a server that was ready still one? Asked while the run works, without the model. Exit 1 where it is none."""
    host = this_host("boot-resume")
    one = _settings(guest_of(host), name)
    found = sickness(one, _key(one, host.paths.credentials))
    if as_json:
        say_json({"sick": found})
        return 0
    say(f"{name}: {found or 'well'}")
    return 0 if found is None else 1


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


@server.command()
@click.argument("name")
@json_option
def weights(name: str, as_json: bool) -> None:
    """Hold a server's weights against the SHA256SUMS beside them; what is known and unchanged is not read again."""
    config = guest_of(this_host("boot-resume"))
    folder = _settings(config, name).weights
    if folder is None:
        raise Refused(f"server {name} has no weights in its [[server]] table")
    found = verify_weights(Path(folder), disk_of(config).weights(name))
    say_json(found.record()) if as_json else say(f"{name}: {_verified(folder, found)}")


def _load(settings: ServerSettings, credentials: Path) -> Reading[int | None]:
    return in_flight(settings, _key(settings, credentials))


def _key(settings: ServerSettings, credentials: Path) -> str | None:
    """Most servers show metrics and health to everybody; one that does not says so."""
    try:
        return read_secret(credentials, settings.credential) if settings.credential else None
    except ConfigError:
        return None


def _told(count: Reading[int | None]) -> dict[str, object]:
    return {"why": count.why} if isinstance(count, Unreadable) else {"in_flight": count}


def _verified(folder: str, found: Verified) -> str:
    if not found.listed:
        return f"there is no {folder}/{SUMS}: nothing is verified"
    return f"{found.files} files as listed, {found.read} of them read ({found.read_bytes / 1e9:.1f} GB)"


def _settings(config: GuestConfig, name: str) -> ServerSettings:
    known = {item.name: item for item in config.servers}
    if name not in known:
        raise Refused(f'"{name}": no such server (configured: {", ".join(known) or "none"})')
    return known[name]


def _words(found: Whole) -> str:
    unit = found.unit
    gave_up = f"its unit failed ({unit.result})" if unit is not None and unit.gave_up else None
    return ", ".join(word for word in (found.look.saw, found.stage, gave_up) if word)
