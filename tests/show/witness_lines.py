"""The episodes' own witness of the demo, counted here again and not by the product."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from show.lines import Line, judged
from show.stage import Demo


@dataclass(slots=True)
class Counted:
    """What the lines say, by episode."""

    begins: int = 0
    ended: set[str] = field(default_factory=set)
    again: set[str] = field(default_factory=set)
    """Ended, and then began or ended once more."""
    last: dict[str, str] = field(default_factory=dict)
    """The process in which each episode began last."""
    newest: str = ""
    """The process that began an episode last."""

    @property
    def stopped(self) -> set[str]:
        """Never ended, and in a process that a later one took over from.

        Inspect writes a sample's record first and tells its hooks then: a stop in between leaves an episode that is
        finished and has no end here. That its record is whole is for the line about verdicts to show.
        """
        return {
            key
            for key, process in self.last.items()
            if key not in self.ended and process != self.newest
        }


def counted(lines: Sequence[str]) -> Counted:
    """Read `begin|end|cut <sample> <epoch> <pid> <time>` in the order they were written."""
    seen = Counted()
    for line in lines:
        word, sample, epoch, process = line.split()[:4]
        key = f"{sample}/{epoch}"
        if word in ("begin", "end") and key in seen.ended:
            seen.again.add(key)
        if word == "begin":
            seen.begins += 1
            seen.last[key] = seen.newest = process
        if word == "end":
            seen.ended.add(key)
    return seen


def counted_again(demo: Demo) -> Iterator[Line]:
    """Every intended episode ended once, or was on record as its process was stopped; none began after its end."""
    seen = counted((demo.kept / "witness.log").read_text().splitlines())
    ended, stopped = len(seen.ended), len(seen.stopped)
    intended = demo.keys.get("episodes_intended")
    good = not seen.again and ended + stopped == intended and seen.begins > ended
    told = f", {stopped} on record as their process was stopped" if stopped else ""
    figure = f"{seen.begins} begins, {ended} of {intended} ended{told}"
    yield judged(
        good, "the episodes' own witness", f"{figure}, {len(seen.again)} again after the end"
    )
