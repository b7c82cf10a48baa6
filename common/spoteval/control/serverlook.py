"""One whole look at a server: what it answers, and where it does not, what its unit and its log say of it."""

from dataclasses import dataclass, replace
from pathlib import Path

from spoteval.config.server import ServerSettings
from spoteval.config.shared import ConfigError
from spoteval.control.asking import Patience
from spoteval.control.readiness import PATIENCE, Look, look_at
from spoteval.control.secrets import read_secret
from spoteval.control.server_kinds import SERVER_KINDS
from spoteval.control.startup_log import stage
from spoteval.machine.unit import Units, UnitState
from spoteval.shape import Unreadable


@dataclass(frozen=True, slots=True)
class Whole:
    """A look, the stage of the start by the log, and the unit's state; None where nobody can tell."""

    look: Look
    stage: str | None
    unit: UnitState | None

    def record(self) -> dict[str, object]:
        """As `spoteval server probe --json` prints it."""
        unit = self.unit
        return {
            "ready": self.look.ready,
            "refused": self.look.refused,
            "saw": self.look.saw,
            "version": self.look.version,
            "stage": self.stage,
            "restarts": unit.restarts if unit is not None else None,
            "gave_up": unit.result or unit.state if unit is not None and unit.gave_up else None,
        }


def look_whole(server: ServerSettings, credentials: Path, units: Units) -> Whole:
    """Look once. A key that cannot be read is for a person to mend, like one that is refused."""
    state = units.state(server.unit)
    unit = None if isinstance(state, Unreadable) else state
    look = _look(server, credentials)
    if look.ready:
        return Whole(look, None, unit)
    if unit is not None and not unit.known:
        saw = f"{look.saw}; there is no unit {server.unit}"
        return Whole(replace(look, saw=saw, refused=True), None, unit)
    return Whole(look, stage(units.last_lines(server.unit)), unit)


def patience_for(server: ServerSettings) -> Patience:
    """A server that loads at the first request gives the load up where the asker hangs up."""
    loads = SERVER_KINDS[server.kind].loaded is not None
    return Patience(completion_s=server.ready_within_s) if loads else PATIENCE


def _look(server: ServerSettings, credentials: Path) -> Look:
    try:
        key = read_secret(credentials, server.credential) if server.credential else None
    except ConfigError as error:
        return Look(ready=False, refused=True, saw=str(error))
    return look_at(server, key, patience_for(server))
