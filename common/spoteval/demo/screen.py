"""What the demo shows while it runs: a line for each thing worth telling, and a strip that grows."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from spoteval.clock import read_now
from spoteval.demo.account import all_events, cloud_state
from spoteval.demo.layout import EPISODES, DemoPaths
from spoteval.demo.truth import in_flight, read_witness, refused
from spoteval.event import NEEDS_YOU, Event
from spoteval.line import flat
from spoteval.report.timeline import pieces, strip

_CELLS = 32
"""With time and counts beside it, the line then fits 80 columns."""
_PLAIN_EVERY_S = 20.0
"""Without a terminal the strip cannot be redrawn in place, so it is printed now and then."""


@dataclass(slots=True)
class Screen:
    """Draws on standard output; in place on a terminal."""

    began: datetime
    terminal: bool = field(default_factory=sys.stdout.isatty)
    _told: set[tuple[datetime, str]] = field(default_factory=set)
    _drawn: datetime | None = None

    def look(self, paths: DemoPaths) -> None:
        """Tell what is new and redraw the strip."""
        now, events = read_now().wall, all_events(paths)
        for at, text in news(events):
            # Two hosts write: an older event may come into sight after a newer one.
            if (at, text) not in self._told:
                self._line(f"     {_clock(at, self.began)}  {text}", stays=True)
                self._told.add((at, text))
        waited = self._drawn is None or (now - self._drawn).total_seconds() >= _PLAIN_EVERY_S
        if self.terminal or waited:
            self._drawn = now
            self._line(
                f"     {_clock(now, self.began)}  {_strip(paths, events, now)}",
                stays=not self.terminal,
            )

    def say(self, text: str) -> None:
        """A line that stays."""
        self._line(text, stays=True)

    def _line(self, text: str, stays: bool) -> None:
        clear = "\r\x1b[K" if self.terminal else ""
        sys.stdout.write(f"{clear}{text}" + ("\n" if stays else ""))
        sys.stdout.flush()


def news(events: Iterable[Event]) -> list[tuple[datetime, str]]:
    """The moments worth a line of their own, in order."""
    told: list[tuple[datetime, str]] = []
    failed: Event | None = None
    for event in events:
        if event.kind == "start-answered":
            failed = event if refused(event) else None
        text = _text(event, failed)
        if text is not None:
            told.append((event.at, text))
        if event.kind == "running":
            failed = None
    return told


def _text(event: Event, failed: Event | None) -> str | None:
    if event.kind == "running" and failed is not None:
        later_s = (event.at - failed.at).total_seconds()
        return f"start: answered an error, RUNNING {later_s:.0f} s later: counted as started"
    if event.kind == "capacity-failure":
        return "start: no capacity; the next try comes after a pause"
    if event.kind == "stopped" and event.detail.get("cause", event.reason) == "preempted":
        return "preempted"
    if event.kind == "interrupted":
        return "notice: run stopped, episodes in flight marked, a last pass made"
    if event.kind == NEEDS_YOU:
        return f"needs you: {flat(event.reason or '')}"
    if event.kind == "first-episode":
        return "episodes run"
    if event.kind != "end":
        return None
    pending = event.detail.get("pending")
    published = "published" if pending == 0 else f"not published: {pending or 'nobody knows'}"
    return f"complete: {published}; then both holds, power off"


def _strip(paths: DemoPaths, events: tuple[Event, ...], now: datetime) -> str:
    seen = read_witness(paths.witness)
    done = len(seen.ended)
    flying = in_flight(paths.witness) if cloud_state(paths.cloud) == "RUNNING" else 0
    counts = f"{done} done · {flying} in flight · {EPISODES - done - flying} to go"
    return f"{newest(strip(pieces(events, now), _CELLS).cells, _CELLS)}   {counts}"


def newest(cells: str, most: int) -> str:
    """The newest part of a strip that is too long to be redrawn in place: a wrapped line cannot be."""
    return cells if len(cells) <= most else "…" + cells[1 - most :]


def _clock(at: datetime, began: datetime) -> str:
    minutes, seconds = divmod(max(0, int((at - began).total_seconds())), 60)
    return f"{minutes:02d}:{seconds:02d}"
