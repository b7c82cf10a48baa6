"""Where a command was typed: a guest, a restarter host, or a laptop that knows a store."""

import os
import pwd
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import click

from spoteval.clock import Now
from spoteval.config.guest import GuestConfig, read_guest
from spoteval.config.host import read_host
from spoteval.config.restarter import InstanceSettings, RestarterConfig, read_restarter
from spoteval.config.shared import ConfigError, StoreSettings
from spoteval.control.disk import prove
from spoteval.control.refused import Refused
from spoteval.control.stores import settings_of_variables, store_from
from spoteval.loop import Waiting, Wake, Waker
from spoteval.paths import DurablePaths, HostPaths, host_paths
from spoteval.shape import Unreadable, duration_s
from spoteval.store.contract import Store

STORE_VARIABLE = "SPOTEVAL_STORE"


@dataclass(frozen=True, slots=True)
class Host:
    """This host. Neither role is set on a laptop."""

    paths: HostPaths
    guest: GuestConfig | None = None
    restarter: RestarterConfig | None = None

    @property
    def role(self) -> str:
        """The role as people call it."""
        return "guest" if self.guest else "restarter host" if self.restarter else "laptop"


def this_host(agent: str | None = None) -> Host:
    """The host by its configuration; a laptop where there is none. Raises ConfigError.

    With `agent`, the host file is read as that agent reads it: a child that an agent starts is no stricter than it;
    "" is strict about the shared tables alone.
    """
    paths = host_paths()
    if "SPOTEVAL_CONFIG" not in os.environ and not paths.config.exists():
        return Host(paths)
    if read_host(paths.config).role == "guest":
        return Host(paths, guest=read_guest(paths.config, agent))
    return Host(paths, restarter=read_restarter(paths.config, agent))


def guest_of(host: Host) -> GuestConfig:
    """The guest's configuration; raises Refused elsewhere."""
    if host.guest is None:
        raise Refused(f"this is a {host.role}; it is typed on the guest")
    return host.guest


def restarter_of(host: Host) -> RestarterConfig:
    """The restarter's configuration; raises Refused elsewhere."""
    if host.restarter is None:
        raise Refused(f"this is a {host.role}; it is typed on the restarter host")
    return host.restarter


def disk_of(config: GuestConfig) -> DurablePaths:
    """The durable disk, once it has proved itself; raises Refused, and nothing was written."""
    found = prove(config)
    if isinstance(found, Unreadable):
        place = str(config.disk.path)
        raise Refused(found.why.removeprefix(f"{place}: "), subject=place)
    return found.paths


def store_of(host: Host) -> Store:
    """The store: SPOTEVAL_STORE, else the configuration's; raises ConfigError where there is neither."""
    settings = _store_settings(host)
    if settings is None:
        raise ConfigError(
            f"{host.paths.config}: no such file, and {STORE_VARIABLE} is not set"
            f" (on a laptop: {STORE_VARIABLE}=s3://bucket/prefix spoteval …)"
        )
    return store_from(settings, host.paths.credentials)


def _store_settings(host: Host) -> StoreSettings | None:
    """The host file's, over which variables already stand; those of variables alone where it has none."""
    if host.guest is not None:
        return host.guest.store
    if host.restarter is not None and host.restarter.shared_store is not None:
        return host.restarter.store
    from_variables = settings_of_variables(os.environ)
    if from_variables is None and host.restarter is not None:
        return host.restarter.store  # raises, and says why there is none
    return from_variables


def maybe_store(host: Host) -> Store | None:
    """The store; None on a restarter host whose holds are local files alone. Raises ConfigError as `store_of`."""
    return None if is_local(host) else store_of(host)


def is_local(host: Host) -> bool:
    """Whether this is a restarter host without a store."""
    without = host.restarter is not None and host.restarter.shared_store is None
    return without and not os.environ.get(STORE_VARIABLE)


def instance_of(config: RestarterConfig, name: str | None) -> InstanceSettings:
    """The instance of that name, or the only one; raises Refused."""
    known = {instance.name: instance for instance in config.instances}
    if name is None and len(known) == 1:
        return config.instances[0]
    names = ", ".join(known)
    if name is None:
        raise Refused(f"name an instance (configured: {names})")
    if name not in known:
        raise Refused(f'"{name}": no such instance (configured: {names})')
    return known[name]


def who() -> str:
    """The person at the keyboard: through sudo, the one who typed it."""
    return os.environ.get("SUDO_USER") or _user(os.getuid())


def fresh_id(kind: str, now: Now) -> str:
    """A hold's id: its kind, the time, four random digits."""
    return f"{kind}-{now.wall:%Y%m%dT%H%M%S}-{secrets.token_hex(2)}"


@contextmanager
def patience() -> Iterator[Waiting]:
    """Waiting that ^C and TERM end: the command then stops where it is."""
    with Waker() as waker:
        yield _Patience(waker)


def seconds_of(ctx: click.Context, parameter: click.Parameter, value: str) -> float:
    try:
        return duration_s(value)
    except ValueError as error:
        raise click.BadParameter(str(error), ctx, parameter) from error


class _Patience:
    def __init__(self, waker: Waker) -> None:
        self._waker = waker

    def wait(self, timeout_s: float) -> Wake:
        """Wait; raises Abort at a signal."""
        wake = self._waker.wait(timeout_s)
        if wake.reason == "signal":
            raise click.Abort
        return wake


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"
