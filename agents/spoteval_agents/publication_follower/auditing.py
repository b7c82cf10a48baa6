"""One slice of the audit after a pass that left nothing over; what it finds is said once for each file."""

import math

from spoteval.paths import RunPaths
from spoteval_agents.publication_follower.audit import Audit
from spoteval_agents.publication_follower.calling import call_once
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
    memory.audit_ms = math.ceil(memory.audit.spent_s * 1000) or None
    _call(world, memory.audit, before, paths)


def _call(world: World, found: Audit, before: set[str], paths: RunPaths) -> None:
    """A person is called, and the run's own events say what was told, also before this process."""
    new, at = sorted(found.found.keys() - before), world.clock().wall
    instance, session = world.config.instance, world.session
    call_once(paths, (altered(found.found[name], instance, session, at) for name in new))
