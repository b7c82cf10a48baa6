"""How a story ended: what is compared with the undisturbed one, on the disk, in the store, and by the witness."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

from drills.box import RUN, Box
from spoteval.control.enders import enders
from spoteval.control.holds import look
from spoteval.control.runfiles import interruptions, progress
from spoteval.demo.layout import INSTANCE
from spoteval.demo.truth import read_witness
from spoteval.episode import classify, counted
from spoteval.event import NEEDS_YOU, events_from
from spoteval.files import read_lines, read_record
from spoteval.publication.listing import Fact
from spoteval.publication.verify import compare
from spoteval.report.needs import open_needs
from spoteval.shape import Unreadable
from spoteval.store.open import open_store

Names = tuple[str, ...]
CALL = NEEDS_YOU
"""A child that was killed may be told to a person at once, and that be over soon after: what is compared is who is
still called at the end."""


@dataclass(frozen=True, slots=True)
class End:
    """Sorted names, each once for each time that it is there: a second one shows."""

    machine: str
    over: bool
    guest_hold: bool
    episodes: Names
    """key class verdict, of the counted attempt."""
    finished: Names
    settled: Names
    interruptions: Names
    published: Names
    differences: Names
    holds: Names
    enders: Names
    facts: Names
    events: Names
    needs: Names
    """What a person is still asked for."""
    witness: Names
    damaged: Names

    def unlike(self, other: "End") -> Names:
        """Where the two differ, in words."""
        pairs = ((f.name, getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        return tuple(
            f"{name}: {mine} not {theirs}" for name, mine, theirs in pairs if mine != theirs
        )


def end_of(box: Box) -> End:
    """Everything that is compared, read from the files of a machine that is off."""
    listing = look(open_store(box.paths.store_url), INSTANCE)
    seen = read_witness(box.paths.witness)
    return End(
        machine=box.state,
        over=box.run.end.exists(),
        guest_hold=box.disk.guest_hold.exists(),
        episodes=_episodes(box),
        finished=_sorted(line["episode"] for line in read_lines(box.run.finished).records),
        settled=_sorted(line["episode"] for line in read_lines(box.run.settlement).records),
        interruptions=_sorted(_interruptions(box)),
        published=_sorted(_published(box.paths.store)),
        differences=_differences(box),
        holds=_sorted(hold.partition("-")[0] for hold in listing.standing),
        enders=_enders(box),
        facts=_sorted({f"{f.seq} {f.name}" for f in listing.facts if _is_sure(f)}),
        events=_sorted({line["kind"] for line in read_lines(box.run.events).records} - {CALL}),
        needs=_sorted(_needs(box)),
        witness=_sorted([*seen.ended, f"rerun {seen.rerun}"]),
        damaged=_sorted(_damaged(box.disk.root)),
    )


def _is_sure(fact: Fact) -> bool:
    """What a child was telling the store when the machine went may have come there or not: of the life that was cut
    its notice, and of the last life the beginning of its episodes, which are soon over."""
    return fact.name != ("notice" if fact.seq == 1 else "first-episode")


def _needs(box: Box) -> Iterator[str]:
    logs = (box.disk.root / "events.jsonl", box.run.events)
    events = (event for log in logs for event in events_from(read_lines(log).records))
    return (need.text for need in open_needs(events, unpublished=None))


def _episodes(box: Box) -> Names:
    found = progress(box.run)
    if isinstance(found, Unreadable):
        return (found.why,)
    attempts = (*found.finished, *found.cut)
    names = []
    for key, word in classify(found.intended or (), attempts).items():
        item = counted(attempt for attempt in attempts if attempt.key == key)
        names.append(f"{key} {word} {item.verdict if item is not None else None}")
    return _sorted(names)


def _interruptions(box: Box) -> Iterator[str]:
    """Those that counted, and whether each is settled: a restart of our own is none."""
    for name, item in interruptions(box.run).items():
        if item.counts:
            settled = (box.run.interruptions / name / "settled.json").exists()
            yield f"{item.cause} {'settled' if settled else 'open'}"


def _published(store: Path) -> Iterator[str]:
    root = store / "runs" / RUN
    for path in root.glob("episodes/*/*/MANIFEST.json"):
        yield str(path.parent.relative_to(root / "episodes"))
    for path in root.glob("conflicts/**/*"):
        yield str(path.relative_to(root))


def _differences(box: Box) -> Names:
    if not box.run.record.exists():
        return ()
    report = compare(open_store(box.paths.store_url), RUN, box.run.root)
    return _sorted(report.differences)


def _enders(box: Box) -> Names:
    found = enders(box.disk.enders)
    if isinstance(found, Unreadable):
        return (found.why,)
    words = (f"{i.agent} {'proved' if i.proved else 'owed'}" for i in found if not i.withdrawn)
    return _sorted(words)


def _damaged(root: Path) -> Iterator[str]:
    """Records that cannot be read, and torn lines."""
    for path in root.rglob("*"):
        if "work" in path.parts or path.name.startswith(".") or not path.is_file():
            continue
        if path.suffix == ".json" and path.parent.name != "spare":
            found = read_record(path)
            if isinstance(found, Unreadable):
                yield found.why
        if path.suffix == ".jsonl" and read_lines(path).torn:
            yield str(path)


def _sorted(names: object) -> Names:
    return tuple(sorted(str(name) for name in names))  # type: ignore[attr-defined]
