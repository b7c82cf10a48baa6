"""Calls for a person: each once, as the run's own events tell, also across processes."""

from collections.abc import Iterable

from spoteval.control.eventlog import log_event
from spoteval.event import Event
from spoteval.files import read_lines
from spoteval.paths import RunPaths
from spoteval_agents.publication_follower.decide import conflicting, withheld
from spoteval_agents.publication_follower.job import World
from spoteval_agents.publication_follower.memory import Memory
from spoteval_agents.publication_follower.passing import Job
from spoteval_agents.publication_follower.work import Outcome


def call_once(paths: RunPaths, events: Iterable[Event]) -> None:
    """Log those that were not logged before. Raises OSError."""
    wanted = list(events)
    told = {record.get("reason") for record in read_lines(paths.events).records} if wanted else ()
    for event in wanted:
        if event.reason not in told:
            log_event(paths.events, event)


def call_for_files(world: World, memory: Memory, job: Job, outcome: Outcome) -> None:
    """What holds a secret, and what met another's publication. Raises OSError."""
    at, run = world.clock().wall, job.target.run
    paths, instance = job.target.paths, world.config.instance
    held = outcome.withheld.items()
    call_once(paths, (withheld(name, it.why, instance, world.session, at) for name, it in held))
    found = {name: aside for name, aside in job.target.journal.conflicts.items() if name[0] == run}
    if len(found) != memory.conflicts:
        events = [conflicting(prefix, instance, world.session, at) for prefix in found.values()]
        call_once(paths, events)
        memory.conflicts = len(found)
