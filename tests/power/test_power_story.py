"""How a story is told: each cut at its phase, a fork lets the machine go on, a KILL ends its life."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from lab.shell import Broken
from lab.writelog import Moment
from power.plan import Cut, Life, Story
from power.story import Taken, Teller

pytestmark = pytest.mark.runs("the teller waits for what its machine says, milliseconds here")
AGENT = "agent=boot-resume decision=wait stage=server name=policy\nepisodes begin\n"
END = "agent=end-handler decision=wait stage=publish reason=complete\n"


@dataclass
class Machine:
    """One that says all of it at once, and goes off at the button or at its own end."""

    place: Path
    ends: bool = True
    did: list[str] = field(default_factory=list)
    name: str = "machine"
    is_down: bool = False
    kind: str = "nspawn"

    @property
    def console_file(self) -> Path:
        """Its console."""
        return self.place / "console"

    @property
    def durable(self) -> Path:
        """Its disk."""
        return self.place / "disk"

    def boot(self) -> None:
        """On, and all of its life on the console."""
        self.did.append("boot")
        self.is_down = False
        with self.console_file.open("a") as file:
            file.write(AGENT + (END if self.ends else ""))

    def press_button(self) -> None:
        """It takes a while."""
        self.did.append("button")

    def freeze(self) -> Moment:
        """Nothing was written."""
        self.did.append("freeze")
        return Moment(self.durable, self.durable, ())

    def thaw(self) -> None:
        """On."""
        self.did.append("thaw")

    def kill(self) -> None:
        """Off."""
        self.did.append("kill")
        self.is_down = True

    def off(self, within_s: float) -> float:
        """At once."""
        self.did.append("off")
        self.is_down = True
        return 0.0

    def console(self, most: int = 0) -> str:
        """Its last words."""
        return self.console_file.read_text()


@dataclass
class Store:
    """One whose next request is always there."""

    bucket: str = "store"
    looked: int = 0

    @property
    def puts(self) -> list[tuple[float, str]]:
        """One more at each look."""
        self.looked += 1
        return [(0.0, "runs/cut-1/episodes/1/1/answer")] * self.looked

    def copy(self, name: str) -> str:
        """Its name says of which cut it is."""
        return name


def told(machine: Machine, *lives: tuple[Cut, ...]) -> list[Taken]:
    """What is taken of a story of these lives."""
    taken: list[Taken] = []
    story = Story("s", 0, tuple(Life(cuts) for cuts in lives))
    Teller(story, cast(Any, machine), cast(Any, Store()), taken.append).play()
    return taken


def machine(tmp_path: Path, *, ends: bool = True) -> Machine:
    """One with a disk."""
    (tmp_path / "disk").write_bytes(b"disk")
    return Machine(tmp_path, ends=ends)


def test_a_fork_lets_the_machine_go_on(tmp_path: Path) -> None:
    """Held still, copied, and on; the life ends by itself."""
    own = machine(tmp_path)
    taken = told(own, (Cut(1, "run", "fork", 0.0), Cut(2, "publication", "fork", 0.0)))
    assert own.did == ["boot", "freeze", "thaw", "freeze", "thaw", "off"]
    assert [str(item.world) for item in taken] == ["s-1", "s-2"]
    assert all(item.killed is None and not item.late for item in taken)


def test_a_kill_ends_a_life(tmp_path: Path) -> None:
    """What is judged is the disk that the next life finds."""
    own = machine(tmp_path)
    taken = told(own, (Cut(1, "server-load", "kill", 0.0),), (Cut(2, "end", "fork", 0.0),))
    assert own.did[:4] == ["boot", "freeze", "kill", "thaw"]
    assert own.did[-1] == "off"
    assert taken[0].killed is not None
    assert taken[0].killed.read_bytes() == b"disk"


def test_the_button_is_pressed_once(tmp_path: Path) -> None:
    """When the run goes on; its cuts are spread over the way down."""
    own = machine(tmp_path)
    told(own, tuple(Cut(n, "shutdown", "fork", 0.001 * n) for n in range(1, 4)))
    assert own.did.count("button") == 1
    assert own.did.count("freeze") == 3


def test_a_machine_that_goes_off_before_its_phase_breaks_the_story(tmp_path: Path) -> None:
    """Nobody waits for it."""
    own = machine(tmp_path, ends=False)
    own.console_file.write_text(END)  # of an earlier life

    def boot() -> None:
        own.is_down = True

    own.boot = boot  # type: ignore[method-assign]
    with pytest.raises(Broken, match="went off"):
        told(own, (Cut(1, "end", "fork", 0.0),))
