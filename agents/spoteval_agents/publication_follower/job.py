"""From the disk and the host file to a job: which run, which epoch, by which adapter."""

from collections.abc import Callable
from dataclasses import dataclass

from spoteval.clock import Now, stamp
from spoteval.config.guest import GuestConfig
from spoteval.control.epochs import claimed
from spoteval.control.runfiles import active_run, read_run
from spoteval.decision import Decision
from spoteval.episode import Part
from spoteval.files import write_new_record
from spoteval.harness.contract import Harness, Survey
from spoteval.harness.directory import Directory
from spoteval.harness.directory_cursor import DirectoryCursor
from spoteval.paths import DurablePaths, RunPaths
from spoteval.run import RunRecord
from spoteval.shape import Unreadable
from spoteval.store.contract import Store
from spoteval.store.pace import Pace
from spoteval.store.s3_parts import PART_BYTES
from spoteval_agents.publication_follower.decide import nothing
from spoteval_agents.publication_follower.journal import Journal
from spoteval_agents.publication_follower.lanes import Lanes
from spoteval_agents.publication_follower.ledger import PUBLISHED, WITNESSED
from spoteval_agents.publication_follower.memory import Memory
from spoteval_agents.publication_follower.passing import Job
from spoteval_agents.publication_follower.screen import Screen
from spoteval_agents.publication_follower.sending import Target
from spoteval_agents.publication_follower.work import Kind

GoOn = Callable[[int], bool]


LONGEST_PUT_S = 30


def _never() -> bool:
    return False


def _nothing() -> None:
    """Nobody listens."""


def _nothing_secret(record: RunRecord) -> Screen:  # noqa: ARG001
    return Screen()


@dataclass(frozen=True, slots=True)
class World:
    """What the follower looks at and acts on. `interrupted` says whether it was told to stop."""

    config: GuestConfig
    store: Store
    session: str
    clock: Callable[[], Now]
    adapter: Callable[[str], Harness]
    read_part: Callable[[Part], bytes]
    interrupted: Callable[[], bool] = _never
    screen: Callable[[RunRecord], Screen] = _nothing_secret
    pace: Pace | None = None
    """How fast the store gets bytes, but in a final pass."""
    alive: Callable[[], None] = _nothing
    """Told whenever the store took something."""

    @property
    def parts_above_bytes(self) -> int:
        """From where on a file goes in parts: as set, and so that no single put takes longer than half a minute."""
        most = self.config.multipart_above_bytes
        if self.pace is None:
            return most
        return min(most, max(PART_BYTES, self.pace.rate_bytes_s * LONGEST_PUT_S))


def active_record(disk: DurablePaths) -> RunRecord | Decision:
    """The record of the active run, or the line that says why there is none."""
    name = active_run(disk)
    if isinstance(name, Unreadable):
        return nothing("unreadable", name.why)
    if name is None:
        return nothing("no-run", "no run is active")
    record = read_run(disk.run(name))
    return nothing("unreadable", record.why) if isinstance(record, Unreadable) else record


def make_job(
    world: World,
    memory: Memory,
    disk: DurablePaths,
    record: RunRecord,
    kind: Kind,
    go_on: GoOn,
    store: Store,
) -> Job:
    """What the pass is about. Raises KeyError or ImportError where there is no adapter for the harness."""
    paths = disk.run(record.name)
    epoch = claimed(paths, world.session)
    journal = memory.journal(disk, world.store.url)
    _meet(journal, disk, paths)
    target = Target(
        store=store,
        journal=journal,
        run=record.name,
        host=world.config.instance,
        epoch=epoch if epoch is not None else 0,
        paths=paths,
        read_part=world.read_part,
        screen=memory.screen(record, world.screen),
        go_on=lambda: go_on(0),
        parts_above=world.parts_above_bytes,
    )
    survey = Survey()
    if kind is not Kind.LAST:
        survey = _survey(world, memory, target, record)
        _freeze(paths, survey, world.clock())
    count = getattr(world.store, "lanes", 1)
    if memory.lanes is None or memory.lanes.count != count:
        memory.lanes = Lanes(count)
    every_s = world.config.state_every_s
    return Job(
        target,
        record,
        survey,
        world.session,
        kind,
        go_on,
        memory.lanes,
        every_s,
        alive=world.alive,
    )


def _meet(journal: Journal, disk: DurablePaths, paths: RunPaths) -> None:
    """A journal knows all that was put of a run which it meets before anything was.

    The note beside it tells, should the journal be lost, that something may have been put before.
    """
    run = paths.root.name
    note = disk.publication / "met" / f"{run}.json"
    if not note.exists() and write_new_record(note, {"run": run}) and not paths.finished.exists():
        journal.meet(run)


def _survey(world: World, memory: Memory, target: Target, record: RunRecord) -> Survey:
    """What the harness's files say; of a harness that keeps a directory for each episode, only what is news."""
    adapter, paths = world.adapter(record.plan.harness), target.paths
    if not isinstance(adapter, Directory):
        return adapter.survey(record, paths.work)
    if memory.cursor is None:
        ledger = target.journal.ledger(target.run)
        witness = memory.witness(target)
        witness.read()

        def is_closed(episode: str, native_id: str) -> bool:
            name = (episode, native_id)
            return ledger.has(name, WITNESSED | PUBLISHED) and not witness.keeps(name)

        memory.cursor = DirectoryCursor(is_closed)
    wall_ns = int(world.clock().wall.timestamp() * 1e9)
    asked = not paths.intended.exists()
    return memory.cursor.survey(record, paths.work, intended=asked, wall_ns=wall_ns)


def _freeze(paths: RunPaths, survey: Survey, now: Now) -> None:
    """The intended episodes, once, as soon as the harness's own header tells them."""
    if survey.intended is not None and not paths.intended.exists():
        body = {"episodes": list(survey.intended), "at": stamp(now.wall)}
        write_new_record(paths.intended, body)
