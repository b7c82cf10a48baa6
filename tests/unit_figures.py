"""What systemd itself says of the unit files: whether they are right, and how exposed each service is."""

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from spoteval.machine import process

UNITS = Path(__file__).parent.parent / "units"
AGENT, HELPER = 2.0, 3.0
"""Most that `systemd-analyze security` may give an agent, and a helper that is root; a bare unit has 9.6."""
ABOVE = {"spoteval-boot-resume.service": 2.6}
"""What cannot be had for less: its relaxed lines say why, and each costs what is printed."""
RUN = "spoteval-run.service"
HELPERS = (
    "spoteval-poweroff",
    "spoteval-start-run",
    "spoteval-remove-containers",
    "spoteval-fence",
)
COSTS = {
    "SystemCallFilter=~@clock": "adjtimex",
    "ProtectClock=": "adjtimex",
    "SystemCallFilter=~@privileged": "adjtimex",
    "SystemCallFilter=~@resources": "preflight",
    "PrivateDevices=": "GPUs",
    "DeviceAllow=": "GPUs",
    "SupplementaryGroups=": "servers' journal",
    "AmbientCapabilities=": "stops the run",
    "CapabilityBoundingSet=~CAP_KILL": "stops the run",
    "PrivateUsers=": "stops the run",
    "ProtectProc=": "start of PID 1",
    "ProcSubset=": "boot id",
    "RestrictAddressFamilies=~AF_NETLINK": "addresses",
}


@dataclass(frozen=True, slots=True)
class Exposure:
    """One service's level, lower is better, and what of it each missing lock costs."""

    level: float
    costs: tuple[tuple[str, float], ...]

    def reasons(self) -> str:
        """What the service needs, with what that costs, dearest first."""
        found: dict[str, float] = {}
        for name, cost in self.costs:
            if name in COSTS:
                found[COSTS[name]] = found.get(COSTS[name], 0.0) + cost
        dearest = sorted(found.items(), key=lambda item: -item[1])
        return ", ".join(f"{why} {cost:.1f}" for why, cost in dearest)


def services() -> list[str]:
    """All services, by name."""
    return sorted(path.name for path in UNITS.glob("*.service"))


def limit(name: str) -> float | None:
    """Most that this service may have; None for the run's, which is the harness's to fill."""
    if name == RUN:
        return None
    is_helper = name.removesuffix(".service") in HELPERS
    return ABOVE.get(name, HELPER if is_helper else AGENT)


def copies(folder: Path) -> list[str]:
    """The units with programs that exist here: systemd-analyze refuses others."""
    for path in UNITS.iterdir():
        if path.is_file():
            text = re.sub(r"(?m)^(Exec\w+=[-+]*)spoteval\S*", r"\1/bin/true", path.read_text())
            (folder / path.name).write_text(text)
    return [str(path) for path in sorted(folder.iterdir())]


def has_analyze() -> bool:
    """Whether systemd's own judge is here."""
    return shutil.which("systemd-analyze") is not None


def complaints(folder: Path) -> str:
    """What `systemd-analyze verify` finds to say about all units; empty when nothing."""
    done = process.run(["systemd-analyze", "verify", "--man=no", *copies(folder)], 60)
    said = (done.out + done.err).strip()
    return said or ("" if done.ok else f"exit {done.code}")


def exposure(name: str, folder: Path) -> Exposure:
    """One service as `systemd-analyze security` sees it; `folder` holds the copies."""
    asked = ["systemd-analyze", "security", "--offline=true"]
    path = str(folder / name)
    level = re.search(r"exposure level .*: ([\d.]+) ", process.run([*asked, path], 60).out)
    parts = process.run([*asked, "--json=short", path], 60).out
    assert level is not None, name
    costs = [(part["name"], float(part["exposure"] or 0)) for part in json.loads(parts)]
    return Exposure(float(level[1]), tuple((what, cost) for what, cost in costs if cost))
