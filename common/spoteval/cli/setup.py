"""`spoteval setup`: makes a host ready, as often as you like."""

import os
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from spoteval.cli.common import who
from spoteval.cli.output import json_option, say, say_json, step, table
from spoteval.clock import read_now
from spoteval.config.draft import Draft
from spoteval.config.guest import GuestConfig, guest_of, read_guest
from spoteval.config.host import host_of
from spoteval.config.shared import ConfigError
from spoteval.control.disk import prove
from spoteval.control.disk_adopt import entry_of, is_adopted, refusal, rows
from spoteval.control.disk_look import DiskLook, look_at
from spoteval.control.fstab import Verdict, checked
from spoteval.control.refused import Failed, Refused
from spoteval.control.setting_up import (
    lay_out,
    missing_credentials,
    owner_named,
    take_disk,
    write_dropins,
    write_fstab,
)
from spoteval.files import write_new
from spoteval.machine import process
from spoteval.paths import DurablePaths, HostPaths, host_paths
from spoteval.report.agents import restart_command
from spoteval.shape import Unreadable

_NO_SYSTEMD = "no systemd here: mounting the disk is the provider's business"
_RELOAD_S = 30.0


@dataclass(frozen=True, slots=True)
class Answers:
    """What the host file will say, as far as it was given on the command line."""

    instance: str | None
    provider: str | None
    store: str | None
    path: Path | None
    identity: str | None


@dataclass(frozen=True, slots=True)
class _Host:
    """The host that is set up: its files, what its host file says or will say, and its disk."""

    paths: HostPaths
    etc: Path
    config: GuestConfig
    draft: str | None
    look: DiskLook
    fstab: Verdict | None


@click.command()
@click.option("--adopt", is_flag=True, help="Take the disk that is mounted, whatever is on it.")
@click.option("--write-fstab", "fstab", is_flag=True, help="Add or mend its line in /etc/fstab.")
@click.option("--instance", help="Name of this instance, the same as on the restarter host.")
@click.option("--provider", help="Kind of provider.")
@click.option("--store", help="URL of the store.")
@click.option("--path", type=click.Path(path_type=Path), help="Where the disk is mounted.")
@click.option("--identity", type=click.Choice(["uuid", "sentinel"]), help="How it proves itself.")
@click.option("--owner", help="The agents' user; spoteval where you are root.")
@click.option("--etc", type=click.Path(path_type=Path), default=Path("/etc"), hidden=True)
@json_option
def guest(
    adopt: bool, fstab: bool, owner: str | None, etc: Path, as_json: bool, **given: object
) -> None:
    """Make this guest ready: disk, folders, units, and a first host file where there is none.

    Never formats, and never refuses a disk because something is on it. Done again it changes nothing.
    """
    host = _looked_at(Answers(**given), etc)  # type: ignore[arg-type]  # click made them
    user = owner_named(owner or _default_owner())
    _show(host)
    _agree(host, adopt)
    now, disk, changed = read_now(), DurablePaths(host.config.disk.path), list[str]()
    if host.draft is not None and write_new(host.paths.config, host.draft.encode()):
        changed.append(f"wrote {host.paths.config}")
    changed += lay_out(disk, user)
    if not is_adopted(host.look):
        changed += take_disk(host.config, now)
    if fstab and host.fstab is not None:
        changed += write_fstab(etc / "fstab", host.fstab, now)
    units = list(write_dropins(host.config, host.paths.credentials, etc / "systemd" / "system"))
    changed += units
    if (units or fstab) and etc == Path("/etc"):
        _reload()
    _proved(host.config)
    todo = list(_todo(host, written=fstab, units=bool(units)))
    _tell(changed, todo, as_json)


def _looked_at(answers: Answers, etc: Path) -> _Host:
    """The host as it is. Raises Refused where its disk cannot be adopted; nothing was written."""
    paths = host_paths()
    config, draft = _config(paths, answers)
    look = look_at(config.disk.path)
    if (why := refusal(look, config)) is not None:
        raise Refused(why, subject=str(config.disk.path))
    table_of_mounts = etc / "fstab"
    text = table_of_mounts.read_text() if table_of_mounts.exists() else ""
    has_systemd = Path("/run/systemd/system").is_dir() or etc != Path("/etc")
    verdict = checked(text, entry_of(look)) if has_systemd else None
    return _Host(paths, etc, config, draft, look, verdict)


def _config(paths: HostPaths, answers: Answers) -> tuple[GuestConfig, str | None]:
    """The host file, or the draft of one. Raises ConfigError, Refused."""
    if paths.config.exists():
        config = read_guest(paths.config, "")
        _refuse_other(config, answers)
        return config, None
    path = answers.path or Path("/mnt/durable")
    look = look_at(path)
    if look.mount is None:
        raise Refused("nothing is mounted there: mount the disk first, or say --path", str(path))
    identity = answers.identity or ("uuid" if look.has_uuid is not None else "sentinel")
    draft = Draft(
        instance=_asked("instance", answers.instance, "the name in holds, lines and reports"),
        provider=_asked("provider", answers.provider, "kind of provider"),
        store=_asked("store", answers.store, "URL of the store"),
        path=path,
        identity=identity,
        uuid=look.has_uuid if identity == "uuid" else None,
    ).text()
    return guest_of(host_of(paths.config, tomllib.loads(draft), "guest")), draft


def _refuse_other(config: GuestConfig, answers: Answers) -> None:
    """The host file is a person's: it is never changed, and what contradicts it is said."""
    said = {
        "[host] instance": (answers.instance, config.instance),
        "[provider] kind": (answers.provider, config.provider),
        "[store] url": (answers.store, config.store.url),
        "[disk] path": (answers.path, config.disk.path),
        "[disk] identity": (answers.identity, config.disk.identity),
    }
    for place, (given, found) in said.items():
        if given is not None and given != found:
            raise ConfigError(f'{config.path}: {place} "{found}": not "{given}" (edit the file)')


def _asked(name: str, given: str | None, says: str) -> str:
    """The answer of the command line, else of the person at the terminal. Raises Refused where nobody is there."""
    if given is not None:
        return given
    if not sys.stdin.isatty():
        raise Refused(f"there is no host file yet: say --{name} ({says})")
    return str(click.prompt(f"{name} ({says})", err=True))


def _show(host: _Host) -> None:
    """The disk, so that a person knows it again; on stderr, since it is no answer."""
    step(f"{host.config.disk.path}:")
    for line in table((f"  {name}", text) for name, text in rows(host.look)):
        step(line)


def _agree(host: _Host, adopt: bool) -> None:
    """Raises Refused without a yes. What is adopted already needs none."""
    if is_adopted(host.look) or adopt:
        return
    question = f"adopt this disk for {host.config.instance}? Nothing on it is touched"
    if not sys.stdin.isatty() or not click.confirm(question, err=True):
        raise Refused(
            "not adopted, nothing written (say --adopt)", subject=str(host.config.disk.path)
        )


def _default_owner() -> str:
    return "spoteval" if os.geteuid() == 0 else who()


def _reload() -> None:
    """systemd reads units and mounts again."""
    done = process.run(["systemctl", "daemon-reload"], _RELOAD_S)
    if not done.ok:
        step(f"systemctl daemon-reload: {done.err.strip() or f'exit {done.code}'}")


def _proved(config: GuestConfig) -> None:
    proof = prove(config)
    if isinstance(proof, Unreadable):
        raise Failed(f"the disk does not prove itself: {proof.why}")


def _todo(host: _Host, written: bool, units: bool) -> Iterator[str]:
    """What is left to a person."""
    if host.fstab is None:
        yield _NO_SYSTEMD
    elif not host.fstab.ok and not written:
        yield f"{host.etc / 'fstab'}: {host.fstab.says}; it should say (--write-fstab does it):"
        yield f"  {host.fstab.line}"
    for path in missing_credentials(host.config, host.paths.credentials):
        yield f"missing: {path} (install -D -m 600 FILE {path}, then spoteval setup guest again)"
    if units and (command := restart_command(host.paths.run)) is not None:
        yield f"agents that run have their old units and keys until: {command}"
    yield "next: spoteval check"


def _tell(changed: list[str], todo: list[str], as_json: bool) -> None:
    if as_json:
        say_json({"changed": changed, "todo": todo})
        return
    for line in changed or ["nothing changed: this guest was set up already"]:
        say(line)
    for line in todo:
        say(line)
