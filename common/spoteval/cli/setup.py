"""`spoteval setup guest`: makes a guest ready, as often as you like."""

import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from spoteval.cli.output import step, table
from spoteval.cli.setup_common import (
    SYSTEM,
    asked,
    asked_kind,
    default_owner,
    end,
    may_write,
    more_keys,
    refuse_other,
    refuse_user_units,
    reload_systemd,
    setup_options,
    store_draft,
)
from spoteval.clock import read_now
from spoteval.config.draft import GuestDraft
from spoteval.config.guest import GuestConfig, guest_of, read_guest
from spoteval.config.host import host_of
from spoteval.control.disk import prove
from spoteval.control.disk_adopt import entry_of, is_adopted, refusal, rows
from spoteval.control.disk_look import DiskLook, look_at
from spoteval.control.dropins import credential_names, dropins
from spoteval.control.fstab import Verdict, checked
from spoteval.control.refused import Failed, Refused
from spoteval.control.setting_up import (
    GUEST_FOLDERS,
    lay_out,
    missing,
    owner_named,
    present,
    take_disk,
    write_config,
    write_dropins,
    write_fstab,
)
from spoteval.notice.open import NOTICES
from spoteval.paths import DurablePaths, HostPaths, host_paths
from spoteval.report.agents import absent_agents, restart_command
from spoteval.shape import Unreadable

_NO_SYSTEMD = "no systemd here: mounting the disk is the provider's business"


@dataclass(frozen=True, slots=True)
class Answers:
    """What the host file will say, as far as it was given on the command line."""

    instance: str | None
    provider: str | None
    store: str | None
    endpoint_url: str | None
    region: str | None
    credential: str | None
    more: tuple[str, ...]
    replace: bool
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
@click.option("--path", type=click.Path(path_type=Path), help="Where the disk is mounted.")
@click.option("--identity", type=click.Choice(["uuid", "sentinel"]), help="How it proves itself.")
@setup_options
def guest(
    adopt: bool,
    fstab: bool,
    owner: str | None,
    etc: Path,
    as_json: bool,
    user: bool,
    **given: object,
) -> None:
    """Make this guest ready: disk, folders, units, and a first host file where there is none.

    Never formats, and never refuses a disk because something is on it. Done again it changes nothing. Ends with
    what `spoteval check` says.
    """
    if user:
        refuse_user_units()
    host = _looked_at(Answers(**given), etc)  # type: ignore[arg-type]  # click made them
    agents = owner_named(owner or default_owner())
    _show(host)
    _agree(host, adopt)
    now, disk, changed = read_now(), DurablePaths(host.config.disk.path), list[str]()
    if host.draft is not None:
        changed += write_config(host.paths.config, host.draft, now, bool(given["replace"]))
    changed += lay_out(disk.root, GUEST_FOLDERS, agents)
    if not is_adopted(host.look):
        changed += take_disk(host.config, now)
    if fstab and host.fstab is not None:
        changed += write_fstab(etc / "fstab", host.fstab, now)
    units = list(write_dropins(_dropins(host), etc / "systemd" / "system"))
    changed += units
    if (units or fstab) and etc == SYSTEM:
        reload_systemd()
    _proved(host.config)
    start = absent_agents(host.paths.run)
    end(changed, list(_todo(host, written=fstab, units=bool(units))), start, as_json)


def _looked_at(answers: Answers, etc: Path) -> _Host:
    """The host as it is. Raises Refused where its disk cannot be adopted; nothing was written."""
    paths = host_paths()
    may_write(paths.config.parent, "guest")
    config, draft = _config(paths, answers)
    look = look_at(config.disk.path)
    if (why := refusal(look, config)) is not None:
        raise Refused(why, subject=str(config.disk.path))
    table_of_mounts = etc / "fstab"
    text = table_of_mounts.read_text() if table_of_mounts.exists() else ""
    has_systemd = Path("/run/systemd/system").is_dir() or etc != SYSTEM
    verdict = checked(text, entry_of(look)) if has_systemd else None
    return _Host(paths, etc, config, draft, look, verdict)


def _config(paths: HostPaths, answers: Answers) -> tuple[GuestConfig, str | None]:
    """The host file, or the draft of one. Raises ConfigError, Refused."""
    if paths.config.exists() and not answers.replace:
        config = read_guest(paths.config, "")
        _refuse_other(config, answers)
        return config, None
    path = answers.path or Path("/mnt/durable")
    look = look_at(path)
    if look.mount is None:
        raise Refused("nothing is mounted there: mount the disk first, or say --path", str(path))
    draft = _draft(paths, answers, look).text()
    return guest_of(host_of(paths.config, tomllib.loads(draft), "guest")), draft


def _draft(paths: HostPaths, answers: Answers, look: DiskLook) -> GuestDraft:
    """The host file's values, asked for where they were not said. Raises ConfigError, Refused."""
    instance = asked("instance", answers.instance, "the name in holds, lines and reports")
    provider = asked_kind(answers.provider, tuple(NOTICES))
    store = asked("store", answers.store, "URL of the store")
    identity = answers.identity or ("uuid" if look.has_uuid is not None else "sentinel")
    usual = paths.credentials / "publisher"
    return GuestDraft(
        instance=instance,
        provider=provider,
        store=store_draft(store, answers.endpoint_url, answers.region, answers.credential, usual),
        path=look.path,
        identity=identity,
        uuid=look.has_uuid if identity == "uuid" else None,
        more=more_keys(NOTICES[provider].settings, answers.more),
    )


def _refuse_other(config: GuestConfig, answers: Answers) -> None:
    """Raises ConfigError for an answer that contradicts the host file."""
    store = config.store
    said: dict[str, tuple[object, object]] = {
        "[host] instance": (answers.instance, config.instance),
        "[provider] kind": (answers.provider, config.provider),
        "[store] url": (answers.store, store.url),
        "[store] endpoint_url": (answers.endpoint_url, store.endpoint_url),
        "[store] region": (answers.region, store.region),
        "[store] credential": (answers.credential, store.credential),
        "[disk] path": (answers.path, config.disk.path),
        "[disk] identity": (answers.identity, config.disk.identity),
    }
    refuse_other(config.path, said)


def _dropins(host: _Host) -> Mapping[str, str]:
    there = present(credential_names(host.config), host.paths.credentials)
    return dropins(host.config, host.paths.credentials, there)


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
    for path in missing(credential_names(host.config), host.paths.credentials):
        yield f"missing: {path} (install -D -m 600 FILE {path}, then spoteval setup guest again)"
    if units and (command := restart_command(host.paths.run)) is not None:
        yield f"agents that run have their old units and keys until: {command}"
