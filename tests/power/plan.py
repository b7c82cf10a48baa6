"""The cuts of the campaign: four stories of 25, and a short one for every change. Which instants, a seed says."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

Phase = Literal["start", "boot-resume", "server-load", "run", "publication", "shutdown", "end"]
By = Literal["fork", "kill"]

SPREAD_S: Mapping[str, Mapping[Phase, float]] = {
    "qemu": {
        "start": 25.0,
        "boot-resume": 9.0,
        "server-load": 6.0,
        "run": 9.0,
        "publication": 0.05,
        "shutdown": 14.0,
        "end": 9.0,
    },
    "nspawn": {
        "start": 5.0,
        "boot-resume": 3.0,
        "server-load": 3.0,
        "run": 6.0,
        "publication": 0.03,
        "shutdown": 6.0,
        "end": 4.0,
    },
}
"""Over how many seconds from its beginning the cuts of a phase are spread, by what the machine runs on. A publication
is one request: each cut has one of its own."""

# Each word is a life: its cuts in order. A capital is a KILL, which ends the life; "b" at its end is the power button,
# also where no cut is made on the way down.
_LETTERS: Mapping[str, Phase] = {
    "s": "start",
    "r": "boot-resume",
    "l": "server-load",
    "w": "run",
    "p": "publication",
    "d": "shutdown",
    "e": "end",
}
STORIES = (
    "sS lwwppdddD rrR rwpddd reeee",
    "slL rwwppddddd rrlwwppeeeE r",
    "slwwW rrpppddddD rrwwppeeee",
    "slwwppP rrwddddd rrpppeeeee",
)
SHORT = "wpD re"
EACH = 25


@dataclass(frozen=True, slots=True)
class Cut:
    """One cut, at this share of what its phase takes. A fork leaves the machine running."""

    number: int
    phase: Phase
    by: By
    share: float

    @property
    def name(self) -> str:
        """As the record has it."""
        return str(self.number)


@dataclass(frozen=True, slots=True)
class Life:
    """From power-on to off: its cuts in the order of time."""

    cuts: tuple[Cut, ...]

    @property
    def is_shut_down(self) -> bool:
        """Whether somebody presses the power button."""
        return any(cut.phase == "shutdown" for cut in self.cuts)

    @property
    def is_killed(self) -> bool:
        """Whether it ends by a KILL."""
        return any(cut.by == "kill" for cut in self.cuts)


@dataclass(frozen=True, slots=True)
class Story:
    """The lives of one machine; the last one comes to the end of the run."""

    name: str
    seed: int
    lives: tuple[Life, ...]

    @property
    def cuts(self) -> tuple[Cut, ...]:
        """All of them."""
        return tuple(cut for life in self.lives for cut in life.cuts)


def stories() -> tuple[Story, ...]:
    """The full set: cuts 1 to 100."""
    return tuple(_story(f"story-{n + 1}", n, text, 1 + EACH * n) for n, text in enumerate(STORIES))


def short_story() -> Story:
    """What every change must pass: each kind of cut that a story has."""
    return _story("short", 100, SHORT, 1)


def _story(name: str, seed: int, text: str, first: int) -> Story:
    drawn = random.Random(f"power:{seed}")
    lives: list[Life] = []
    for word in text.split():
        lives.append(Life(tuple(_cuts(word, first, drawn))))
        first += len(word)
    return Story(name, seed, tuple(lives))


def _cuts(word: str, first: int, drawn: random.Random) -> Iterator[Cut]:
    """Spread evenly over their phase, and anywhere in their share of it; a KILL comes last."""
    for place, letter in enumerate(word):
        phase = _LETTERS[letter.lower()]
        same = [other for other in word if other.lower() == letter.lower()]
        index = sum(other.lower() == letter.lower() for other in word[:place])
        by: By = "kill" if letter.isupper() else "fork"
        yield Cut(first + place, phase, by, round((index + drawn.random()) / len(same), 4))
