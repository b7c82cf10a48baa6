"""What a drill shows: the run's records, its store and the episodes' own witness, beside the undisturbed run."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass

from drills.box import RUN, Box
from drills.cells import Cell
from drills.play import EPISODES, Played
from drills.seen import witnessed
from spoteval.control.holds import look
from spoteval.control.runfiles import Progress, interruptions, progress
from spoteval.demo.layout import INSTANCE
from spoteval.episode import classify, counted
from spoteval.files import read_lines
from spoteval.publication.verify import compare
from spoteval.shape import Unreadable
from spoteval.store.open import open_store

Verdicts = Mapping[str, tuple[str, str | None]]
_ENDS = {"INT": ("SIGINT", "SIGTERM", "KILL"), "TERM": ("SIGTERM",), "KILL": ("KILL",)}
"""SIGINT may need more time than a short window leaves it; the next signal then does no harm."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table. `wrong` is empty where all is as it must be."""

    window_s: int
    moment: str
    path: str
    told_by: str
    errors: str
    ended_by: str
    hook_s: float | None
    cut_short: bool
    ended_before: int
    kept: int
    rerun: int
    errors_rerun: int
    lost: int
    in_flight: int
    settled: int
    verdicts: int
    intended: int
    wrong: tuple[str, ...]

    def text(self) -> str:
        """As it is printed, below HEAD."""
        hook = "plug" if self.hook_s is None else f"{self.hook_s:.1f} s"
        figures = (
            f"{self.kept}/{self.ended_before}",
            *(str(number) for number in (self.rerun, self.lost)),
            f"{self.settled}/{self.in_flight}",
            f"{self.verdicts}/{self.intended}",
        )
        columns = [f"{self.window_s:>5}", f"{self.moment:<7}", f"{self.path:<5}"]
        columns += [f"{self.told_by:<9}", f"{self.errors:<8}", f"{self.ended_by:<8}", f"{hook:>6}"]
        columns += [f"{figure:>8}" for figure in figures]
        return "  ".join((*columns, "; ".join(self.wrong) or "ok"))

    def record(self) -> dict[str, object]:
        """For --json."""
        return {**asdict(self), "wrong": list(self.wrong)}


HEAD = (
    f"{'s':>5}  {'moment':<7}  {'path':<5}  {'told by':<9}  {'errors':<8}  {'ended by':<8}  {'hook':>6}"
    f"  {'kept':>8}  {'rerun':>8}  {'lost':>8}  {'settled':>8}  {'verdicts':>8}"
)


def row(cell: Cell, played: Played, expected: Verdicts) -> Row:
    """Count and compare; raises ValueError where the records cannot be read."""
    box, last = played.box, witnessed(played.box.paths.witness)
    found = _progress(box)
    before = played.taken[-1].ended
    done = Counter(
        str(line["episode"]).split("/", 1)[1] for line in read_lines(box.run.finished).records
    )
    cut, settled = _cut_and_settled(played, done)
    seen = verdicts(box)
    same = sum(seen.get(key) == expected.get(key) for key in expected)
    ended_by = _ended_by(box)
    return Row(
        *(cell.window_s, cell.moment, cell.path, cell.told_by, cell.errors, ended_by),
        hook_s=None if played.hook_s is None else round(played.hook_s, 2),
        cut_short=played.cut_short,
        ended_before=len(before),
        kept=sum(done[key] == 1 and key not in last.rerun for key in before),
        rerun=len(last.rerun),
        errors_rerun=len(last.errors_rerun),
        lost=len(last.ended - set(done)),
        in_flight=cut,
        settled=settled,
        verdicts=same,
        intended=EPISODES,
        wrong=tuple(_wrong(cell, played, found, ended_by)),
    )


def verdicts(box: Box) -> Verdicts:
    """Class and verdict of each episode's counted attempt."""
    found = _progress(box)
    attempts = (*found.finished, *found.cut)
    both = {}
    for key, word in classify(found.intended or (), attempts).items():
        item = counted(attempt for attempt in attempts if attempt.key == key)
        both[key] = (word, item.verdict if item is not None else None)
    return both


def _cut_and_settled(played: Played, done: Mapping[str, int]) -> tuple[int, int]:
    """Attempts that were in flight at any plug, and how many of them have exactly one line of their own.

    A sample that was safe in the milliseconds before its process could say so was not in flight.
    """
    box, last = played.box, witnessed(played.box.paths.witness)
    lines = read_lines(box.run.settlement).records
    per_attempt = Counter(str(line["native_id"]) for line in lines)
    per_key = Counter(str(line["episode"]).split("/", 1)[1] for line in lines)
    begun = Counter(key for word, key, _ in last.lines if word == "begin")
    cut = last.cut
    for key in [key for key in cut if per_key[key] < cut[key] and done.get(key)]:
        if begun[key] == cut[key]:  # it never began again, and it is finished
            cut[key] -= 1
    once = sum(min(count, per_key[key]) for key, count in cut.items() if per_key[key] == count)
    doubled = sum(count - 1 for count in per_attempt.values())
    return cut.total(), once - doubled


def _ended_by(box: Box) -> str:
    """What the last interruption's own steps say the run ended at."""
    found = sorted(box.run.interruptions.glob("*/steps.jsonl"))
    lines = read_lines(found[-1]).records if found else ()
    return ended_by((str(line["step"]), str(line["detail"])) for line in lines)


def ended_by(steps: Iterable[tuple[str, str]]) -> str:
    """The signal at which nobody was left. Where KILL found nobody any more, the last one before it: the run went
    after that one's time was up and before KILL looked."""
    last = "nobody"
    for step, detail in steps:
        if step.startswith("SIG"):
            last = step
        if (step.startswith("SIG") and detail == "0 left") or step == "kill":
            return "KILL" if step == "kill" and not detail.startswith("0 ") else last
    return "nothing"


def _wrong(cell: Cell, played: Played, found: Progress, ended_by: str) -> Iterator[str]:
    box = played.box
    if ended_by not in _ENDS[cell.path]:
        yield f"the run ended by {ended_by}"
    if cell.moment == "final" and not played.cut_short:
        yield "the plug came after the final pass"
    if not found.complete:
        yield f"{len(found.finished_keys)} of {EPISODES} finished"
    yield from _interruptions_wrong(box, len(played.taken))
    report = compare(open_store(box.paths.store_url), RUN, box.run.root)
    yield from (str(difference) for difference in report.differences)
    if any((box.paths.store / "runs" / RUN).glob("conflicts/*")):
        yield "conflicts in the store"
    if not (
        box.disk.guest_hold.exists() and look(open_store(box.paths.store_url), INSTANCE).standing
    ):
        yield "not both holds"


def _interruptions_wrong(box: Box, taken: int) -> Iterator[str]:
    """One for each time that the machine was taken, each settled; no line of an unknown one."""
    known = {name for name, item in interruptions(box.run).items() if item.counts}
    if len(known) != taken:
        yield f"{len(known)} interruptions, taken {taken} times"
    for name in known:
        if not (box.run.interruptions / name / "settled.json").exists():
            yield f"{name} is not settled"
    lines = read_lines(box.run.settlement).records
    for name in {str(line["interruption"]) for line in lines} - known:
        yield f"settled by an unknown interruption {name}"


def _progress(box: Box) -> Progress:
    found = progress(box.run)
    if isinstance(found, Unreadable):
        raise ValueError(found.why)
    return found
