"""`spoteval hold place|release`."""

from dataclasses import dataclass
from typing import Any

import click

from spoteval.cli.common import (
    Host,
    disk_of,
    fresh_id,
    guest_of,
    instance_of,
    is_local,
    seconds_of,
    store_of,
    this_host,
    who,
)
from spoteval.cli.output import json_option, say, say_json
from spoteval.clock import read_now
from spoteval.control.handhold import hold_file, hold_object, release_files, release_objects
from spoteval.control.holds import look
from spoteval.control.refused import Refused
from spoteval.control.runlife import hold_guest
from spoteval.hold import Hold
from spoteval.instance import instance_error
from spoteval.line import flat
from spoteval.paths import InstancePaths

FILE_ID = "operator"
"""The name under which the restarter's touch file stands in lines and events."""


@dataclass(frozen=True, slots=True)
class Wish:
    """The options of `hold place`."""

    reason: str
    by: str | None
    ensure_stopped: bool
    stop_after: float
    no_resume: bool
    hold_id: str | None

    @property
    def text(self) -> str:
        """The reason as it stands in a touch file."""
        return f"{self.reason} ({self.by or who()})"

    @property
    def needs_object(self) -> bool:
        """Whether a file cannot say it."""
        return bool(self.hold_id or self.ensure_stopped or self.no_resume)


@click.command()
@click.argument("instance", required=False)
@click.option("--reason", required=True, help="Stands in every decision line while it holds.")
@click.option("--by", help="Who places it (default: you).")
@click.option("--guest", "on_guest", is_flag=True, help="The guest hold: the run is not resumed.")
@click.option("--ensure-stopped", is_flag=True, help="Have the restarter stop the instance too.")
@click.option("--stop-after", default="600s", callback=seconds_of, help="Its grace (600s).")
@click.option("--no-resume", is_flag=True, help="Say that a guest hold belongs to it.")
@click.option("--id", "hold_id", help="The id in the store; placing it again changes nothing.")
@json_option
def place(instance: str | None, on_guest: bool, as_json: bool, **asked: Any) -> None:
    """Hold INSTANCE: nothing starts it until a person releases the hold.

    On the restarter host it is a file, unless --id, --ensure-stopped or --no-resume ask for more than a
    file can say. On the guest and on a laptop it is an object in the store.
    """
    host, wish = this_host(""), Wish(**asked)
    name = named(host, instance)
    if on_guest:
        done = _place_guest(host, wish)
    elif host.restarter and not wish.needs_object:
        done = _place_file(InstancePaths(host.paths.state, name), wish)
    else:
        _refuse_local(host)
        done = _place_object(host, name, wish)
    if as_json:
        say_json(done)
    else:
        say(f"{name} held: {flat(str(done.get('path', done['id'])))} ({done['strength']})")


@click.command()
@click.argument("instance", required=False)
@click.option("--id", "hold_id", help=f"This one alone; {FILE_ID} is the touch file.")
@json_option
def release(instance: str | None, hold_id: str | None, as_json: bool) -> None:
    """Lift the holds on INSTANCE, whoever placed them. The guest hold is lifted on the guest, by rm."""
    host = this_host("")
    name = named(host, instance)
    if host.guest:
        raise Refused(
            "the guest's key may not write releases. On the restarter host: "
            f"spoteval hold release {name}. The guest hold: rm {disk_of(host.guest).guest_hold}"
        )
    paths = InstancePaths(host.paths.state, name)
    file_alone = is_local(host) or (host.restarter is not None and hold_id == FILE_ID)
    released = () if file_alone else _released(host, name, hold_id)
    with_files = host.restarter is not None and hold_id in (None, FILE_ID)
    removed = release_files(paths, released) if with_files else ()
    if as_json:
        say_json({"instance": name, "released": list(released), "removed": list(removed)})
        return
    for what in (*removed, *released):
        say(f"lifted {flat(what)}")
    if not (removed or released):
        say(f"{name}: no hold stands here")


def _refuse_local(host: Host) -> None:
    if is_local(host):
        raise Refused(
            'holds are files here ([host] holds is ["local"]): --ensure-stopped, --no-resume and'
            " --id need a store (spoteval stop holds and stops)"
        )


def _released(host: Host, name: str, hold_id: str | None) -> tuple[str, ...]:
    """Release this hold of the store, or all that stand; raises Refused for one that does not."""
    store = store_of(host)
    standing = look(store, name).standing
    if hold_id is not None and hold_id not in standing:
        raise Refused(f'"{hold_id}": no such hold stands on {name} (spoteval hold show {name})')
    ids = standing if hold_id is None else (hold_id,)
    return release_objects(store, name, ids, who(), read_now().wall)


def named(host: Host, instance: str | None) -> str:
    """The instance that is meant; raises Refused for one that this host does not know."""
    if host.restarter:
        return instance_of(host.restarter, instance).name
    if host.guest:
        own = host.guest.instance
        if instance not in (None, own):
            raise Refused(f'"{instance}": this guest is "{own}", and its key holds no other')
        return own
    if instance is None:
        raise Refused("name an instance")
    if (why := instance_error(instance)) is not None:
        raise Refused(why)
    return instance


def _place_file(paths: InstancePaths, wish: Wish) -> dict[str, object]:
    reason = hold_file(paths, wish.text)
    return {"id": FILE_ID, "strength": "read", "path": str(paths.hold), "reason": reason}


def _place_guest(host: Host, wish: Wish) -> dict[str, object]:
    disk = disk_of(guest_of(host))
    hold_guest(disk, wish.text)
    return {"id": "guest", "strength": "read", "path": str(disk.guest_hold)}


def _place_object(host: Host, instance: str, wish: Wish) -> dict[str, object]:
    now = read_now()
    hold = Hold(
        id=wish.hold_id or fresh_id("operator", now),
        instance=instance,
        reason=wish.reason,
        by=wish.by or who(),
        at=now.wall,
        ensure_stopped=wish.ensure_stopped,
        stop_after_s=wish.stop_after,
        no_resume=wish.no_resume,
    )
    strength = hold_object(store_of(host), hold, may_list=host.guest is None)
    return {"id": hold.id, "strength": strength}
