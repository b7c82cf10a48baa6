"""One machine in QEMU that is cut: held still, its disk and store copied, then it goes on or dies."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from lab import disk as disks
from lab.nspawn import until
from lab.qemu import Qemu
from lab.shell import Broken
from lab.writelog import Moment
from power.plan import SPREAD_S, Cut, Life, Phase, Story
from power.plugged import Plugged
from power.worlds import World

COMES_S, ENDS_S, LOOK_S = 400.0, 600.0, 0.02
_BEGINS: dict[Phase, str] = {
    "boot-resume": r"agent=boot-resume",
    "server-load": r"agent=boot-resume decision=\S+ stage=server",
    "run": r"episodes begin",
    "end": r"agent=end-handler decision=(end|wait stage=(?!complete|disk|run))",
}
"""The first line on the console of a life that a phase is known by."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What a cut took: the disk's moment, the store's copy, and the last word of the agents before it.

    `killed` is a copy of the disk that the machine itself goes on with.
    """

    cut: Cut
    moment: Moment
    killed: Path | None
    world: World
    at_s: float
    said: str
    late: bool


@dataclass(slots=True)
class Told:
    """What is known of the life that goes on."""

    since: int
    began_s: float
    pressed_s: float | None = None
    puts: int = 0
    seen: dict[Phase, float] = field(default_factory=dict)


class Teller:
    """Plays a story. `take` gets each cut as it comes; a machine is never waited for by it."""

    def __init__(
        self, story: Story, machine: Qemu | Plugged, world: World, take: Callable[[Taken], None]
    ) -> None:
        self._story, self._machine, self._world, self._take = story, machine, world, take

    def play(self) -> None:
        """All lives; the last one ends by itself. Raises Broken."""
        for life in self._story.lives:
            self._live(life)

    def _live(self, life: Life) -> None:
        console = self._machine.console_file
        told = Told(console.stat().st_size if console.exists() else 0, time.monotonic())
        self._machine.boot()
        for cut in life.cuts:
            self._cut(cut, told)
        if not life.is_killed:
            self._machine.off(ENDS_S)

    def _cut(self, cut: Cut, told: Told) -> None:
        due_s = self._begins(cut.phase, told) + cut.share * SPREAD_S[self._machine.kind][cut.phase]
        until(
            lambda: time.monotonic() >= due_s or self._machine.is_down,
            COMES_S,
            "the cut",
            every_s=0.005,
        )
        late = self._machine.is_down
        moment = self._machine.freeze()
        copy = self._world.copy(f"{self._story.name}-{cut.number}")
        said, at_s = self._last_word(told), time.monotonic() - told.began_s
        killed = self._kill(cut) if cut.by == "kill" else None
        self._machine.thaw()
        self._take(Taken(cut, moment, killed, copy, round(at_s, 2), said, late))

    def _kill(self, cut: Cut) -> Path:
        self._machine.kill()
        return disks.copy(self._machine.durable, self._machine.place / f"killed-{cut.number}")

    def _begins(self, phase: Phase, told: Told) -> float:
        """When a phase of this life began, by this host's clock; waits for it."""
        if phase == "start":
            return told.began_s
        if phase == "publication":
            return self._next_put(told)
        if phase == "shutdown":
            return self._pressed(told)
        if phase not in told.seen:
            pattern = re.compile(_BEGINS[phase].encode())
            until(
                lambda: pattern.search(self._console(told)) or self._gone(),
                COMES_S,
                f"{phase} to begin",
                self._machine.console,
                every_s=LOOK_S,
            )
            told.seen[phase] = time.monotonic()
        return told.seen[phase]

    def _pressed(self, told: Told) -> float:
        if told.pressed_s is None:
            self._begins("run", told)
            self._machine.press_button()
            told.pressed_s = time.monotonic()
        return told.pressed_s

    def _next_put(self, told: Told) -> float:
        """The next part or manifest of an episode that the store takes: one that nobody has waited for."""
        told.puts = len(self._world.puts)

        def there() -> bool:
            return any("/episodes/" in key for _, key in self._world.puts[told.puts :])

        until(
            lambda: there() or self._gone(),
            COMES_S,
            "a publication",
            self._machine.console,
            every_s=0.002,
        )
        return time.monotonic()

    def _gone(self) -> bool:
        if self._machine.is_down:
            raise Broken(f"{self._machine.name} went off: {self._machine.console(3000)}")
        return False

    def _console(self, told: Told) -> bytes:
        path: Path = self._machine.console_file
        if not path.exists():
            return b""
        with path.open("rb") as file:
            file.seek(told.since)
            return file.read()

    def _last_word(self, told: Told) -> str:
        found = re.findall(rb"agent=[^\r\n]*", self._console(told))
        return found[-1].decode(errors="replace")[:160] if found else "none yet"
