"""One slice of the audit after a pass that left nothing over; what it finds is said once for each file."""

from spoteval.control.eventlog import log_event, tell
from spoteval.files import read_lines
from spoteval.paths import RunPaths
from spoteval_agents.publication_follower.audit import Audit
from spoteval_agents.publication_follower.decide import altered
from spoteval_agents.publication_follower.job import World
from spoteval_agents.publication_follower.memory import Memory


def audit(world: World, memory: Memory) -> None:
    """Go on where the last slice ended, once after each regular pass. Raises OSError.

    Only a harness with a directory for each episode has its files where the witness can be held to them.
    """
    if memory.audited is None or memory.cursor is None:
        return
    (disk, paths), memory.audited = memory.audited, None
    if memory.audit is None:
        memory.audit = Audit.of(disk.publication / "audit.json", paths.root.name)
    before = set(memory.audit.found)
    if memory.audit.slice(paths.finished, paths.work / "episodes", world.clock()):
        memory.cursor.relist()
    _call(world, memory.audit, before, paths)


def _call(world: World, found: Audit, before: set[str], paths: RunPaths) -> None:
    """A person is called, and the run's own events say what was told, also before this process."""
    new = sorted(found.found.keys() - before)
    if not new:
        return
    told = {record.get("reason") for record in read_lines(paths.events).records}
    for name in new:
        now = world.clock()
        event = altered(found.found[name], world.config.instance, world.session, now.wall)
        if event.reason not in told:
            log_event(paths.events, event)
            tell(str(event.reason), warning=True)
