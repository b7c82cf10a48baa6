"""Which boot this is: the number and session that the guest's facts carry."""

from dataclasses import dataclass

from spoteval.clock import Now
from spoteval.files import read_record
from spoteval.machine.session import this_session
from spoteval.paths import DurablePaths, HostPaths
from spoteval.shape import Reading, ShapeError, Unreadable


@dataclass(frozen=True, slots=True)
class Boot:
    """One boot of this disk: `seq` grows with each, `session` is one life of the machine."""

    seq: int
    session: str


def recorded_boot(disk: DurablePaths) -> Reading[Boot]:
    """The newest boot that boot-resume recorded; Unreadable where there is none."""
    found = read_record(disk.boot)
    if found is None:
        return Unreadable(f"{disk.boot}: no boot is recorded yet (boot-resume does that)")
    try:
        if isinstance(found, Unreadable):
            return found
        return Boot(found.whole("seq"), found.text("session"))
    except ShapeError as error:
        return Unreadable(str(error))


def this_boot(disk: DurablePaths, paths: HostPaths, now: Now) -> Reading[Boot]:
    """The boot that is running now; Unreadable while boot-resume has not recorded it."""
    found = recorded_boot(disk)
    if isinstance(found, Unreadable):
        return found
    session = this_session(paths.session, now.boot).id
    if found.session != session:
        return Unreadable(f"{disk.boot}: this boot is not recorded yet (boot-resume does that)")
    return found
