"""`spoteval stop` typed on the guest itself."""

from contextlib import suppress

from spoteval.cli.active import active_record
from spoteval.cli.common import Host, disk_of, fresh_id, store_of, who
from spoteval.cli.output import step
from spoteval.cli.passing import ask_pass
from spoteval.cli.runstop import stop_active
from spoteval.clock import read_now
from spoteval.config.guest import GuestConfig
from spoteval.control.enders import Ender, mark_proved, write_intent
from spoteval.control.handhold import hold_object
from spoteval.control.refused import Failed, Refused
from spoteval.control.requests import FINAL
from spoteval.control.runlife import hold_guest
from spoteval.files import touch
from spoteval.hold import Hold
from spoteval.interruption import OPERATOR
from spoteval.machine.session import this_session
from spoteval.paths import DurablePaths
from spoteval.store.contract import StoreError

STOP_AFTER_S = 600.0
"""The restarter stops the machine itself where the steps below have not done it by then."""
PASS_WITHIN_S = 60.0


def stop_here(
    host: Host, config: GuestConfig, instance: str | None, reason: str, *, no_resume: bool
) -> dict[str, object]:
    """Hold proved, guest hold if asked, the run's own stop, a last pass, power off.

    Raises Failed where the hold cannot be proved: then nothing was stopped.
    """
    if instance not in (None, config.instance):
        raise Refused(f'"{instance}": this guest is "{config.instance}" and stops no other')
    disk = disk_of(config)
    hold = _hold(config.instance, reason, no_resume)
    strength = _proved(host, hold)
    step(f"held: {hold.id} ({strength}), and stopped by the restarter if this fails")
    _say_so(host, disk, hold, strength)
    if no_resume:
        hold_guest(disk, f"{reason} ({who()})")
        step(f"guest hold: {disk.guest_hold}")
    touch(host.paths.draining, "spoteval stop")  # or boot-resume starts the run again
    step(_stop_run(host, disk, reason))
    step(_last_pass(disk))
    touch(host.paths.poweroff, f"spoteval stop: {reason}")
    step("power off asked")
    return {
        "instance": config.instance,
        "hold": hold.id,
        "strength": strength,
        "guest_hold": no_resume,
        "power": "off asked",
    }


def _proved(host: Host, hold: Hold) -> str:
    """The strength of the proof. A machine that goes off without its hold is started again within a minute."""
    try:
        return hold_object(store_of(host), hold, may_list=False)
    except StoreError as error:
        raise Failed(
            f"the restarter hold cannot be proved: {error}. Nothing was stopped"
            f" (on the restarter host: spoteval stop {hold.instance})"
        ) from error


def _hold(instance: str, reason: str, no_resume: bool) -> Hold:
    now = read_now()
    return Hold(
        id=fresh_id("stop", now),
        instance=instance,
        reason=reason,
        by=who(),
        at=now.wall,
        ensure_stopped=True,
        stop_after_s=STOP_AFTER_S,
        no_resume=no_resume,
    )


def _say_so(host: Host, disk: DurablePaths, hold: Hold, strength: str) -> None:
    """The hook reads it: the shutdown that follows is a person's, whatever else the machine's end may look like."""
    now = read_now()
    session = this_session(host.paths.session, now.boot).id
    ender = Ender("", session, OPERATOR, hold.reason, hold.id, now.mark)
    detail = {"at": now.record(), "strength": strength, "by": OPERATOR}
    with suppress(OSError):  # a full disk costs the cause, not the stop
        written = write_intent(disk.enders, ender)
        mark_proved(disk.enders, written.name, detail)


def _stop_run(host: Host, disk: DurablePaths, reason: str) -> str:
    """Whatever goes wrong here, the machine goes off: its hook stops what is left."""
    try:
        return stop_active(host, disk, active_record(disk), reason)
    except (Failed, Refused) as error:
        return f"run: {error}"
    except Exception as error:  # noqa: BLE001 - a full disk takes no marker, an adapter may not load
        return f"run: {type(error).__name__}: {error}"


def _last_pass(disk: DurablePaths) -> str:
    try:
        done = ask_pass(disk, FINAL, "stop", PASS_WITHIN_S)
    except OSError as error:
        return f"last pass: {error.strerror}; the next boot publishes the rest"
    if done is None:
        return (
            f"last pass: no answer within {PASS_WITHIN_S:.0f} s; the next boot publishes the rest"
        )
    return f"last pass: {done.published} published, {done.backlog} left"
