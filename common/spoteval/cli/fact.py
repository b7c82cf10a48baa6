"""`spoteval fact`: what agents tell the store about this boot. Hidden: people read facts by `status`."""

import json
from collections.abc import Mapping

import click

from spoteval.cli.active import active_record
from spoteval.cli.common import Host, disk_of, guest_of, store_of, this_host
from spoteval.cli.output import json_option, say, say_json
from spoteval.clock import read_now
from spoteval.control.boot import Boot, this_boot
from spoteval.control.epochs import Claimant, Forked, claim
from spoteval.control.facts import BOOTED, put_fact
from spoteval.control.refused import Refused
from spoteval.machine.addresses import addresses
from spoteval.machine.session import this_session
from spoteval.paths import DurablePaths
from spoteval.publication.keys import fact_key
from spoteval.shape import Unreadable


@click.group()
def fact() -> None:
    """Facts of this boot."""


@fact.command()
@click.argument("name")
@click.option("--body", default="{}", help="A JSON object that belongs to the fact.")
@json_option
def put(name: str, body: str, as_json: bool) -> None:
    """Put one fact of this boot into the store; putting it again changes nothing. `booted` says where it is."""
    host = this_host("")
    config = guest_of(host)
    boot = _boot(host, disk_of(config))
    said = dict(_object(body))
    if name == BOOTED:
        said.setdefault("addresses", addresses())
    put_fact(store_of(host), config.instance, boot.seq, boot.session, name, said)
    key = fact_key(config.instance, boot.seq, boot.session, name)
    say_json({"key": key}) if as_json else say(key)


@fact.command()
@json_option
def epoch(as_json: bool) -> int:
    """Claim the next epoch of the active run for this life of the machine."""
    host = this_host("")
    config = guest_of(host)
    disk = disk_of(config)
    run = active_record(disk).name
    now = read_now()
    who = Claimant(run, config.instance, this_session(host.paths.session, now.boot).id)
    try:
        number = claim(store_of(host), disk.run(run), who, now)
    except Forked as error:
        if as_json:
            say_json({"forked": True})
        raise Refused(f"the disk is a copy: {error}") from error
    say_json({"epoch": number}) if as_json else say(f"epoch {number} of {run}")
    return 0


def _boot(host: Host, disk: DurablePaths) -> Boot:
    found = this_boot(disk, host.paths, read_now())
    if isinstance(found, Unreadable):
        raise Refused(found.why)
    return found


def _object(text: str) -> Mapping[str, object]:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise click.UsageError(f'--body "{text}": must be a JSON object')
    return value
