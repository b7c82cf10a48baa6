"""`spoteval tunnel`: a guest's model server, on loopback of this host. The one command of spoteval-tunnel@.service."""

import click

from spoteval.cli.common import maybe_store, restarter_of, this_host
from spoteval.cli.output import say
from spoteval.config.restarter import RestarterConfig
from spoteval.config.tunnel import TunnelSettings
from spoteval.control.launch import become
from spoteval.control.refused import Refused
from spoteval.control.tunnel import address_now, ssh_command
from spoteval.decision import Decision
from spoteval.harness.contract import Command
from spoteval.line import Value
from spoteval.machine.process import inherited


@click.command()
@click.argument("name")
@click.option("--print", "shown", is_flag=True, help="Only print the command.")
def tunnel(name: str, shown: bool) -> None:
    """Become the SSH tunnel [tunnel.NAME], to where the guest answers now. It ends when the way does.

    `systemctl enable --now spoteval-tunnel@NAME` keeps it up: each connect looks for the address anew.
    """
    host = this_host("")
    config = restarter_of(host)
    settings = _tunnel(config, name)
    address = address_now(settings, maybe_store(host), _by_hand(config, settings))
    argv = ssh_command(settings, address, host.paths.credentials)
    if shown:
        say(" ".join(argv))
        return
    say(_line(settings, address))
    become(Command(tuple(argv), inherited(), host.paths.state))


def _tunnel(config: RestarterConfig, name: str) -> TunnelSettings:
    known = {one.name: one for one in config.tunnels}
    if name not in known:
        raise Refused(f'"{name}": no such tunnel (configured: {", ".join(known) or "none"})')
    return known[name]


def _by_hand(config: RestarterConfig, settings: TunnelSettings) -> str | None:
    """The host of `[instance] ssh`, for a guest that tells nothing."""
    ssh = next(one.ssh for one in config.instances if one.name == settings.instance)
    return None if ssh is None else ssh.rpartition("@")[2]


def _line(settings: TunnelSettings, address: str) -> str:
    pairs: dict[str, Value] = {
        "instance": settings.instance,
        "address": address,
        "local_port": settings.local_port,
        "remote_port": settings.remote_port,
    }
    return Decision("connect", pairs, None, f"tunnel@{settings.name}").line()
