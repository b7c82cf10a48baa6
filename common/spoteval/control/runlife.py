"""The life of a run: made, started, stopped. A first start is a resume with nothing finished."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from spoteval.clock import Now
from spoteval.config.guest import GuestConfig
from spoteval.config.shared import ConfigError
from spoteval.control.boot import Boot
from spoteval.control.facts import ended_fact, put_fact, run_fact
from spoteval.control.refused import Refused
from spoteval.control.runfiles import active_run, progress, read_run
from spoteval.control.runowner import give_work
from spoteval.control.versions import versions
from spoteval.files import read_text, remove, touch, write_new_record, write_whole
from spoteval.harness.registry import adapter
from spoteval.paths import DurablePaths
from spoteval.run import RunPlan, RunRecord, name_error
from spoteval.shape import Reading, Unreadable
from spoteval.store.contract import Store, StoreError

NOT_QUALIFIED = "label scored refused: qualification is not built yet"
STOPPED_BY = "run stop"  # how the text of a guest hold begins that `run stop` placed
_SET_UP_BY = "setup"  # and that of the keep-alive file that set-up left
_GB = 1e9


@dataclass(frozen=True, slots=True)
class Started:
    """What `start_run` did. `fact` is the assignment in the store, or what kept it from there."""

    record: RunRecord
    lifted: tuple[str, ...]
    fact: Reading[str]
    guest_hold: str | None


def new_plan(
    config: GuestConfig, disk: DurablePaths, label: str | None, like: str | None
) -> RunPlan:
    """The plan to freeze: that of the run `like`, else `[run]`; raises ConfigError and Refused."""
    plan = _record(disk, like).plan if like is not None else config.run
    if plan is None:
        raise ConfigError(f"{config.path}: [run]: missing (it is the template of a run record)")
    plan = plan if label is None else replace(plan, label=label)
    if plan.label == "scored":
        raise Refused(f"{NOT_QUALIFIED} (use --label exploratory)")
    return plan


def new_run(
    config: GuestConfig,
    disk: DurablePaths,
    name: str,
    plan: RunPlan,
    now: Now,
    ask: Callable[[RunPlan], Mapping[str, str]] = versions,
) -> RunRecord:
    """Write the record, durable and create-only. Starts nothing; raises Refused."""
    _refuse_name(disk, name)
    record = RunRecord(name, config.instance, 1, now.wall, plan)
    if (why := harness_refuses(record)) is not None:
        raise Refused(why)
    _refuse_full(config)
    record = replace(record, versions=ask(plan))
    if not write_new_record(disk.run(name).record, record.record()):
        raise Refused(_exists(name))
    return record


def start_run(
    config: GuestConfig,
    disk: DurablePaths,
    name: str,
    store: Store,
    boot: Reading[Boot],
) -> Started:
    """Make the run the active one: boot-resume watches that file. Raises Refused.

    Repeating it is safe, and puts the assignment into the store where that failed before.
    """
    record = _record(disk, name)
    if record.plan.label == "scored":
        raise Refused(NOT_QUALIFIED)
    if disk.run(name).end.exists():
        raise Refused(
            f'run "{name}" is over ({disk.run(name).end}): spoteval run new … --like {name}'
        )
    _refuse_other(disk, name)
    before = active_run(disk)
    give_work(disk.run(name).work, record.plan.user)
    write_whole(disk.active, f"{name}\n".encode())
    over = before if isinstance(before, str) and before != name else None
    fact = _assigned(store, config.instance, boot, record, over)
    return Started(record, _lift_own(disk), fact, _text(disk, "guest"))


def hold_guest(disk: DurablePaths, text: str) -> bool:
    """Place the guest hold; False where one stands already, which keeps its own reason."""
    stood = disk.guest_hold.exists()
    touch(disk.guest_hold, text)
    return not stood


def _refuse_name(disk: DurablePaths, name: str) -> None:
    """Raise Refused for what is no name, and for a name that was used."""
    if (why := name_error(name)) is not None:
        raise Refused(why)
    if disk.run(name).root.exists():
        raise Refused(_exists(name))


def _assigned(
    store: Store, instance: str, boot: Reading[Boot], record: RunRecord, over: str | None
) -> Reading[str]:
    """`over` is the run that it takes the place of: facts of one boot have no order, so it is told that it is over."""
    if isinstance(boot, Unreadable):
        return boot
    name = run_fact(record.name, record.generation)
    try:
        if over is not None:
            put_fact(store, instance, boot.seq, boot.session, ended_fact(over), {})
        put_fact(store, instance, boot.seq, boot.session, name, {"label": record.plan.label})
    except StoreError as error:
        return Unreadable(str(error))
    return name


def _lift_own(disk: DurablePaths) -> tuple[str, ...]:
    """Remove the keep-alive that set-up left and the guest hold of `run stop`; other people's stay."""
    own = ((disk.keep_alive, _SET_UP_BY), (disk.guest_hold, STOPPED_BY))
    return tuple(str(path) for path, by in own if _begins(read_text(path), by) and remove(path))


def _begins(text: Reading[str | None], by: str) -> bool:
    return isinstance(text, str) and text.startswith(by)


def _text(disk: DurablePaths, name: str) -> str | None:
    """The reason of a hold that stands; what cannot be read stands too."""
    found = read_text(disk.root / "holds" / name)
    return found.why if isinstance(found, Unreadable) else found


def _refuse_other(disk: DurablePaths, name: str) -> None:
    other = active_run(disk)
    if isinstance(other, Unreadable):
        raise Refused(f"which run is active cannot be read: {other.why} (rm {disk.active})")
    if other is None or other == name or disk.run(other).end.exists():
        return
    found = progress(disk.run(other))
    if isinstance(found, Unreadable) or not found.complete:
        raise Refused(
            f'run "{other}" is active and not over'
            f" (spoteval run stop {other}; to give it up: rm {disk.active})"
        )


def _record(disk: DurablePaths, name: str) -> RunRecord:
    if (why := name_error(name)) is not None:
        raise Refused(why)
    if not disk.run(name).root.exists():
        raise Refused(f'"{name}": no such run (spoteval run list)')
    found = read_run(disk.run(name))
    if isinstance(found, Unreadable):
        raise Refused(found.why)
    return found


def harness_refuses(record: RunRecord) -> str | None:
    """Why the run's adapter cannot honour it, or cannot be loaded; None where it can."""
    try:
        return adapter(record.plan.harness).refuses(record)
    except ImportError as error:
        return (
            f"harness {record.plan.harness} needs {error.name}: "
            f"install spoteval[{record.plan.harness}]"
        )


def _refuse_full(config: GuestConfig) -> None:
    """A run that begins on a nearly full disk loses its records first."""
    disk = os.statvfs(config.disk.path)
    free = disk.f_bavail * disk.f_frsize
    if free < config.disk.min_free_bytes:
        raise Refused(
            f"{free / _GB:.1f} GB free, [disk] min_free is {config.disk.min_free_bytes / _GB:.1f} GB:"
            " no new run",
            subject=str(config.disk.path),
        )


def _exists(name: str) -> str:
    return f'"{name}": this run exists (a name is never used again; spoteval run show {name})'
