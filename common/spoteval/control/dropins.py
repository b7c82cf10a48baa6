"""What `spoteval setup` adds to the units of this host: the run's user, credentials, the disk's mount. Pure."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from signal import SIGINT

from spoteval.config.guest import GuestConfig
from spoteval.config.restarter import RestarterConfig
from spoteval.harness.plans import stop_steps

NAME = "50-spoteval-setup.conf"
RUN = "spoteval-run.service"
RESTARTER = "spoteval-restarter.service"
FOLLOWER = "spoteval-publication-follower.service"
_SERVERS = ("spoteval-boot-resume.service", "spoteval-idle-guard.service")
_STORE = (*_SERVERS, FOLLOWER, "spoteval-end-handler.service", "spoteval-shutdown-hook.service")
_ON_DISK = (
    "spoteval-boot-resume.service",
    FOLLOWER,
    "spoteval-end-handler.service",
    "spoteval-shutdown-hook.service",
    RUN,
)
_DEFAULT_MOUNT = "mnt-durable.mount"
_HEAD = "# Written by `spoteval setup {role}`; call it again after a change.\n"
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:_.")


def dropins(config: GuestConfig, credentials: Path, present: Iterable[str]) -> Mapping[str, str]:
    """The text of each unit's drop-in, by unit. Only credentials that are `present`: a unit that is given one that is
    absent does not start, and a guard that does not start costs more than a store that cannot be reached.
    """
    there = frozenset(present)
    found = {}
    for unit in (*_STORE, RUN):
        named = [name for name in _credentials_of(unit, config) if name in there]
        text = _text(config, unit, named, credentials)
        if text:
            found[unit] = f"{_HEAD.format(role='guest')}{text}"
    return found


def restarter_dropins(
    config: RestarterConfig, credentials: Path, present: Iterable[str]
) -> Mapping[str, str]:
    """The same on a restarter host: credentials, and which directories the restarter's sandbox leaves writable."""
    there, head = frozenset(present), _HEAD.format(role="restarter")
    own = [*_store_key(config), *_identities(config)]
    units = {RESTARTER: [*_loaded(own, there, credentials), *_written(config)]}
    for one in config.tunnels:
        named = [*_store_key(config), one.credential]
        units[f"spoteval-tunnel@{one.name}.service"] = _loaded(named, there, credentials)
    return {
        unit: head + "[Service]\n" + "".join(f"{line}\n" for line in lines)
        for unit, lines in units.items()
        if lines
    }


def restarter_credentials(config: RestarterConfig) -> tuple[str, ...]:
    """Every credential that the restarter and the tunnels read."""
    keys = [*_store_key(config), *_identities(config)]
    keys += (one.credential for one in config.tunnels)
    return tuple(dict.fromkeys(keys))


def _store_key(config: RestarterConfig) -> list[str]:
    store = config.shared_store
    return [store.credential] if store is not None and store.credential is not None else []


def _identities(config: RestarterConfig) -> list[str]:
    """Files of credentials with which instances are asked for; `instance` is this host's own identity."""
    names = (one.identity for one in config.instances if one.provider not in ("local", "command"))
    return list(dict.fromkeys(name for name in names if name != "instance"))


def _loaded(names: Iterable[str], there: Collection[str], credentials: Path) -> list[str]:
    return [f"LoadCredential={name}:{credentials / name}" for name in names if name in there]


def _written(config: RestarterConfig) -> Iterator[str]:
    """Directories that are the store, or a local cloud."""
    store = config.shared_store
    folders = [
        instance.table.values["cloud"]
        for instance in config.instances
        if instance.provider == "local"
    ]
    if store is not None and store.url.startswith("file://"):
        folders.insert(0, store.url.removeprefix("file://"))
    for folder in folders:
        yield f'ReadWritePaths="-{folder}"'


def credential_names(config: GuestConfig) -> tuple[str, ...]:
    """Every credential that the host file names."""
    units = (*_STORE, RUN)
    names = [name for unit in units for name in _credentials_of(unit, config)]
    return tuple(dict.fromkeys(names))


def mount_unit(point: Path) -> str:
    """The unit that systemd makes for a mount point, as `systemd-escape --path --suffix=mount` names it."""
    text = "/".join(part for part in point.parts if part != "/")
    first, rest = text[:1], text[1:]
    head = _byte(first) if first == "." else _escape(first)
    return f"{head}{''.join(_escape(char) for char in rest)}.mount"


def _credentials_of(unit: str, config: GuestConfig) -> list[str]:
    """A run gets the keys of its harness alone. The follower gets all: it withholds files that hold one."""
    run = list(config.run.secret_env.values()) if config.run is not None else []
    servers = [one.credential for one in config.servers if one.credential is not None]
    store = [config.store.credential] if config.store.credential is not None else []
    if unit == RUN:
        names = run
    elif unit == FOLLOWER:
        names = [*store, *servers, *run]
    else:
        names = [*store, *(servers if unit in _SERVERS else [])]
    return list(dict.fromkeys(names))


def _text(config: GuestConfig, unit: str, names: list[str], credentials: Path) -> str:
    user = config.run.user if unit == RUN and config.run is not None else ""
    service = [f"LoadCredential={name}:{credentials / name}" for name in names]
    if user:
        service.insert(0, f"User={user}")
    if unit == RUN and config.run is not None:
        service += _stopped_by(config.run.harness)
    parts = []
    if after := list(_after(config, unit)):
        parts.append("[Unit]\n" + "".join(f"After={other}\n" for other in after))
    if service:
        parts.append("[Service]\n" + "".join(f"{line}\n" for line in service))
    return "\n".join(parts)


def _stopped_by(harness: str) -> Iterator[str]:
    """The first signal of its own stop path, for who types `systemctl stop`; the unit says SIGINT."""
    first = stop_steps(harness)[0].signum
    if first != SIGINT:
        yield f"KillSignal={first.name}"


def _after(config: GuestConfig, unit: str) -> Iterator[str]:
    """What must be there longer than the unit: the disk, and for the run its model servers, or their end is its end.

    Not the agents after the servers: one whose start takes as long as its weights would keep them down for so long.
    """
    mount = mount_unit(config.disk.path)
    if unit in _ON_DISK and mount != _DEFAULT_MOUNT:
        yield mount
    if unit == RUN:
        yield from dict.fromkeys(server.unit for server in config.servers)


def _escape(char: str) -> str:
    return "-" if char == "/" else char if char in _PLAIN else _byte(char)


def _byte(char: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in char.encode())
