"""`spoteval restarter adopt`: this host's restarter serves the instance from now on."""

import click

from spoteval.cli.common import Host, instance_of, is_local, restarter_of, store_of, this_host, who
from spoteval.cli.output import json_option, say, say_json
from spoteval.clock import Now, read_now
from spoteval.config.restarter import RestarterConfig
from spoteval.control.adopting import Adopted, adopt_instance
from spoteval.control.owner import identity
from spoteval.control.refused import Refused
from spoteval.paths import InstancePaths
from spoteval.report.agents import is_running
from spoteval.report.words import duration
from spoteval.shape import Unreadable


@click.command()
@click.argument("instance", required=False)
@click.option("--all", "every", is_flag=True, help="Every instance of this host.")
@json_option
def adopt(instance: str | None, every: bool, as_json: bool) -> None:
    """Take INSTANCE over: from now on this host's restarter serves it, and any other starts nothing.

    It starts nothing for two polls, in which the other one hears of it. Nothing is stopped or started.
    """
    host, now = this_host(), read_now()
    config = restarter_of(host)
    if is_local(host):
        raise Refused(
            "there is no register: holds are files of this host alone, and no store is set"
        )
    own = identity(host.paths.state)
    if isinstance(own, Unreadable):
        raise Refused(own.why)
    done = [
        adopt_instance(store_of(host), InstancePaths(host.paths.state, name), own, who(), now)
        for name in _names(config, instance, every)
    ]
    for one in done:
        say_json(one.record()) if as_json else say(_line(one, now))
    if not as_json:
        say(_next(host, config))


def _names(config: RestarterConfig, instance: str | None, every: bool) -> tuple[str, ...]:
    if not every:
        return (instance_of(config, instance).name,)
    if instance is not None:
        raise Refused(f'"{instance}" and --all: name one instance, or all')
    return tuple(one.name for one in config.instances)


def _line(done: Adopted, now: Now) -> str:
    if not done.fresh:
        return f"{done.instance}: owned by this host already (number {done.owner.number})"
    if done.before is None:
        return f"{done.instance}: adopted, number {done.owner.number}; nobody owned it before"
    age = ""
    if not isinstance(done.since, Unreadable):
        age = f" for {duration((now.wall - done.since).total_seconds())}"
    return (
        f"{done.instance}: adopted, number {done.owner.number};"
        f" before, {done.before.identity[:8]} owned it{age}"
    )


def _next(host: Host, config: RestarterConfig) -> str:
    """What happens now, and what does not."""
    if not is_running(host.paths.state / "restarter.lock"):
        return "no restarter runs here: systemctl enable --now spoteval-restarter"
    return (
        f"its restarter starts nothing for two polls ({duration(2 * config.poll.every_s)});"
        " another one says decision=not-owner"
    )
