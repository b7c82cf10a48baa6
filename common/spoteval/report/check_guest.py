"""The checks of a guest."""

from collections.abc import Iterator
from pathlib import Path

from spoteval.clock import Now
from spoteval.config.guest import GuestConfig
from spoteval.config.shared import ConfigError
from spoteval.config.window import window_error
from spoteval.control.boot import recorded_boot
from spoteval.control.disk import prove
from spoteval.control.disk_adopt import entry_of
from spoteval.control.disk_look import look_at
from spoteval.control.dropins import credential_names, dropins
from spoteval.control.fstab import checked
from spoteval.control.runlife import harness_refuses
from spoteval.control.secrets import read_secret
from spoteval.control.setting_up import present
from spoteval.harness.plans import container_filters
from spoteval.notice.open import open_notices
from spoteval.paths import DurablePaths, HostPaths
from spoteval.publication.needles import needles_of
from spoteval.report.agents import AGENTS, is_running
from spoteval.report.check import Check, fail, ok, warn
from spoteval.report.check_clock import clock_check
from spoteval.report.check_docker import docker_check
from spoteval.report.check_metadata import metadata_check
from spoteval.report.check_server import server_checks
from spoteval.report.check_store import folder_check, guest_rights, probed
from spoteval.report.check_units import Wanted, dropin_check, guest_units, is_this_host
from spoteval.run import RunRecord
from spoteval.shape import ShapeError, Unreadable
from spoteval.store.contract import Store

_FSTAB = Path("/etc/fstab")
_NOT_OURS_TO_MOUNT = ("overlay", "9p", "virtiofs")  # a container's, by whoever runs it
_HOMES = ("HOME", "XDG_DATA_HOME")


def guest_checks(
    config: GuestConfig, paths: HostPaths, store: Store | None, now: Now
) -> Iterator[Check]:
    """Everything that can be looked at without starting anything; `store` None: there is none to be asked."""
    yield from _window(config)
    yield from _provider(config)
    yield from _credentials(config, paths)
    yield from _disk(config)
    yield from _home(config)
    for server in config.servers:
        yield from server_checks(server)
    yield from _harness(config, now)
    if store is not None:
        yield from probed(store, config.instance, paths.state, now)
        yield from guest_rights(store, config.instance)
        yield from folder_check(store)
    if config.provider != "local":
        yield from metadata_check()
    if config.provider != "local" and _has_containers(config):
        yield from docker_check(config.disk.path)
    yield clock_check(now)
    if is_this_host(paths):
        running = frozenset(agent for agent in AGENTS if is_running(paths.run / f"{agent}.lock"))
        yield from guest_units(Wanted(config.notice_window_s, config.disk.path, running))
        there = present(credential_names(config), paths.credentials)
        yield from dropin_check(dropins(config, paths.credentials, there), "guest")
    else:
        yield warn("units", "not known here: no systemd runs these directories")
    yield from _agents(paths)


def _window(config: GuestConfig) -> Iterator[Check]:
    if (why := window_error(config)) is not None:
        yield fail("shutdown", f"{config.path}: {why}", 2)
        return
    yield ok("shutdown", f"the stop plan fits {config.notice_window_s:g} s ({config.provider})")


def _provider(config: GuestConfig) -> Iterator[Check]:
    try:
        open_notices(config.provider, config.provider_table)
    except ShapeError as error:
        yield fail("provider", f"{config.path}: {error}", 2)


def _credentials(config: GuestConfig, paths: HostPaths) -> Iterator[Check]:
    names = [server.credential for server in config.servers if server.credential]
    names += config.run.secret_env.values() if config.run is not None else ()
    for name in dict.fromkeys(names):
        try:
            secret = read_secret(paths.credentials, name)
        except ConfigError as error:
            yield fail("credential", str(error), 2)
        else:
            yield ok("credential", f"{paths.credentials / name}")
            yield from (warn("credential", why) for why in needles_of({name: [secret]}).ignored)


def _disk(config: GuestConfig) -> Iterator[Check]:
    found = prove(config)
    if isinstance(found, Unreadable):
        yield fail("disk", found.why)
        return
    yield ok("disk", f"{config.disk.path}: proved by its {config.disk.identity}")
    yield from mount_check(config.disk.path)
    boot = recorded_boot(found.paths)
    if isinstance(boot, Unreadable):
        yield warn("boot", boot.why)
    else:
        yield ok("boot", f"number {boot.seq}, session {boot.session}")


def mount_check(point: Path, fstab: Path = _FSTAB) -> Iterator[Check]:
    """Whether the mount line lets a machine without its disk come up; nothing where mounts are not by such a table."""
    look = look_at(point)
    if look.mount is None or not fstab.exists() or look.mount.kind in _NOT_OURS_TO_MOUNT:
        return
    found = checked(fstab.read_text(), entry_of(look))
    if found.ok:
        yield ok("mount", found.says)
    else:
        yield warn("mount", f"{fstab}: {found.says} (spoteval setup guest --write-fstab)")


def _home(config: GuestConfig) -> Iterator[Check]:
    """The harness keeps finished episodes below HOME until it flushes them: it must outlive the boot disk."""
    if config.run is None:
        return
    home = DurablePaths(config.disk.path).run("<run>").work / "home"
    outside = [
        f"[run.env] {name} {config.run.env[name]}"
        for name in _HOMES
        if name in config.run.env and not _below(config.run.env[name], config.disk.path)
    ]
    for text in outside:
        yield warn("home", f"{text}: not on the durable disk, so it is not used: {home} is")
    if not outside:
        yield ok("home", f"of the harness: {home}")


def _harness(config: GuestConfig, now: Now) -> Iterator[Check]:
    if config.run is None:
        yield warn("run", f"{config.path}: no [run], so no run can be made")
        return
    record = RunRecord("check", config.instance, 1, now.wall, config.run)
    if (why := harness_refuses(record)) is not None:
        yield fail("run", why)
    else:
        yield ok("run", f"harness {config.run.harness}, settlement {config.run.settlement}")


def _agents(paths: HostPaths) -> Iterator[Check]:
    for agent in AGENTS:
        if not is_running(paths.run / f"{agent}.lock"):
            yield warn("agent", f"{agent} does not run (systemctl enable --now spoteval-{agent})")


def _has_containers(config: GuestConfig) -> bool:
    plan = config.run
    return plan is not None and bool(plan.containers or container_filters(plan.harness))


def _below(path: str, disk: Path) -> bool:
    return Path(path).is_relative_to(disk)
