"""Cases that need a kernel of its own: a disk that is not there, a power-off that hangs, a clock that nobody set."""

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from power.ends_stage import FORCED_S, IDLE_S, PLAN, PUBLISH_S, End, Stage, last_said, said

BOOT_S, DEVICE_S, HOLD_S, LIMIT_S = 400.0, 60.0, 900.0, 200.0
FINAL_S = 90.0
"""What systemd gives the processes that are left, once it no longer waits for units."""
RUN_STOPS_S, END_PASS_S = 600.0, 120.0
_DEATHLESS = """\
[Service]
ExecStart=
ExecStart=/bin/bash -c "trap '' TERM; python3 -m spoteval.local.model_server --port ${PORT} --model stand-in \
--key-file %d/model-key & while :; do sleep 1; done"
TimeoutStopSec=infinity
SendSIGKILL=no
"""


def missing_disk(stage: Stage) -> End:
    """Booted without its durable disk: the boot goes on, the idle-guard sees no run and ends the machine."""
    machine = stage.qemu(stage.guest(), PLAN, disk=False)
    try:
        machine.boot()
        began_s = time.monotonic()
        first_s = said(machine, r"agent=idle-guard decision=", BOOT_S)
        machine.off(IDLE_S + HOLD_S + FORCED_S + 60.0)
        off_s, whole_s = time.monotonic() - first_s, time.monotonic() - began_s
        line = last_said(machine, r"agent=idle-guard decision=(stop|hold|intent|idle)")
    finally:
        machine.remove()
    figure = (
        f"off {off_s:.0f} s after the guard's first look, {whole_s:.0f} s after power-on; {line}"
    )
    return End("qemu", figure, round(off_s, 1), IDLE_S + HOLD_S + FORCED_S)


def server_that_will_not_die(stage: Stage) -> End:
    """A model server that ignores TERM and that systemd may not kill, at the power button."""
    found = stage.guest()
    own = found.layers[-1] / "etc" / "systemd" / "system" / "policy.service.d"
    own.mkdir(parents=True)
    (own / "deathless.conf").write_text(_DEATHLESS)
    machine = stage.qemu(found, replace(PLAN, pace=20.0))
    try:
        machine.boot()
        said(machine, r"episodes begin", BOOT_S)
        machine.press_button()
        pressed_s = time.monotonic()
        machine.off(FORCED_S + 2 * FINAL_S + 60.0)
        off_s = time.monotonic() - pressed_s
    finally:
        machine.remove()
    forced = "forced" if off_s >= FORCED_S else "NOT forced: it died"
    figure = f"off {off_s:.0f} s after the power button, {forced}"
    wrong = [] if off_s >= FORCED_S else ["the server died"]
    return End("qemu", figure, round(off_s, 1), FORCED_S + FINAL_S + 10.0, wrong)


def clock_never_right(stage: Stage) -> End:
    """Past its deadline by a clock that is not synchronised: what counts is how long the machine was up."""
    deadline = datetime.now(UTC) + timedelta(seconds=LIMIT_S)
    plan = replace(PLAN, pace=60.0, deadline=f"{deadline:%Y-%m-%dT%H:%M:%SZ}")
    machine = stage.qemu(stage.guest(plan), plan)
    try:
        machine.boot()
        began_s = said(machine, r"agent=end-handler decision=wait stage=complete", BOOT_S)
        bound_s = LIMIT_S + RUN_STOPS_S + PUBLISH_S + END_PASS_S + HOLD_S + FORCED_S
        machine.off(bound_s)
        off_s = time.monotonic() - began_s
        waited = last_said(machine, r"the clock is not synchronised: the deadline counts as")
        ended = last_said(machine, r"agent=end-handler decision=end .*reason=deadline")
    finally:
        machine.remove()
    wrong = [text for text in (waited, ended) if text == "never said"]
    figure = f"off {off_s:.0f} s after the end-handler's first look, allowed to be up {LIMIT_S:.0f} s; {waited}"
    return End("qemu", figure, round(off_s, 1), bound_s, wrong)
