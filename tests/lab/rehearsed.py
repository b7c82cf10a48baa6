"""A drill of a forced stop on real machines: a person types it on a host, and again when the machine is back."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from lab.market import Cloud
from lab.nspawn import Said, until
from lab.person import Plan
from lab.shell import Broken
from lab.world import Kit, set_up, world
from show.drill_line import line_of
from show.lines import Line

WHAT = "drill forced-stop on nspawn"
BACK_S, WHOLE_S = 180.0, 900.0
ONE_BOOT = "umount /proc/sys/kernel/random/boot_id"
"""nspawn gives a machine a boot id of its own, which a unit with ProtectKernelTunables= does not see: typed commands
and the restarter would take each other's marks for those of another boot."""


class Typed(Protocol):
    """A machine of any kind, at whose shell a person types."""

    def up(self, within_s: float = ...) -> None:
        """Wait until it has booted. Raises Broken."""

    def type(self, line: str, limit_s: float = ...) -> Said:
        """What came of a line. Raises Broken."""
        ...

    def must(self, line: str, limit_s: float = ...) -> str:
        """The output of a line that has to succeed. Raises Broken."""
        ...


class Machines(Protocol):
    """Both hosts and the cloud."""

    @property
    def guest(self) -> Typed:
        """The one that is stopped."""
        ...

    @property
    def restarter(self) -> Typed:
        """The one that starts it again."""
        ...

    @property
    def cloud(self) -> Cloud:
        """What the provider would say."""
        ...


def lines(place: Path, kit: Kit) -> Iterator[Line]:
    """By the guest, then by the restarter host, on the same two machines."""
    with world(place, kit, Plan(window_s=60)) as lab:
        lab.restarter.must(ONE_BOOT)
        set_up(lab)
        agents = "spoteval-shutdown-hook spoteval-boot-resume spoteval-publication-follower"
        lab.guest.must(f"systemctl is-active {agents}")
        yield line_of(f"{WHAT}, by the guest", by_guest(lab))
        yield line_of(f"{WHAT}, by the restarter", by_restarter(lab))


def by_restarter(lab: Machines) -> Mapping[str, Any]:
    """Its run is made on the guest before, once the end of the last one is on record."""
    make = "spoteval drill forced-stop --run-only"
    until(lambda: lab.guest.type(make).code == 0, BACK_S, "the drill's run")
    said = lab.restarter.type("spoteval drill forced-stop --within 15min --json", WHOLE_S)
    return answered(said.code, said.out, said.err)


def by_guest(lab: Machines) -> Mapping[str, Any]:
    """Typed again each time the machine is back: it ends under whoever watches."""
    lab.guest.must("spoteval drill forced-stop", WHOLE_S)
    lab.cloud.becomes("STOPPED", BACK_S)
    found: list[Mapping[str, Any]] = []

    def is_judged() -> bool:
        if (said := _typed(lab.guest)) is not None:
            found.append(said)
        return bool(found)

    until(is_judged, WHOLE_S, "the drill's end")
    return found[-1]


def _typed(guest: Typed) -> Mapping[str, Any] | None:
    """What it answered; None where the machine went off meanwhile, or is off."""
    try:
        guest.up(BACK_S)
        said = guest.type("spoteval drill forced-stop --within 15min --json", WHOLE_S)
        return answered(said.code, said.out, said.err)
    except Broken:
        return None


def answered(code: int, out: str, err: str) -> Mapping[str, Any]:
    """The JSON object and the exit code. Raises Broken where there is none."""
    try:
        return {"code": code, "err": err, **json.loads(out)}
    except ValueError as error:
        raise Broken(f"drill forced-stop: exit {code}: {err.strip()[-300:]}") from error
