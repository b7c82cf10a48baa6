"""A guest without systemd: its units as children of one process in the foreground, which ends them in their order."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from spoteval.clock import Now
from spoteval.decision import Decision
from spoteval.provider.contract import Reply

AGAIN_S = 60.0


class Units(Protocol):
    """The machine as its supervisor moves it."""

    def press_button(self) -> None:
        """It is to shut down in its own order."""
        ...

    def tick(self, now: Now) -> None:
        """Let it move on."""
        ...

    @property
    def poweroff_asked(self) -> bool:
        """Whether an agent wants it to be off."""
        ...

    @property
    def is_down(self) -> bool:
        """Whether a shutdown has come to its end."""
        ...


@dataclass
class Supervisor:
    """`stop_self` asks the provider to stop this container; None where it has no such call.

    The end of a container is no end of its bill: an agent that powers off means that call, which is made when all
    units have ended, and again each minute until it has effect.
    """

    units: Units
    stop_self: Callable[[], Reply] | None
    say: Callable[[Decision], object]
    why: str = ""  # what began the end
    _again_s: float = 0.0
    _told: str = ""

    def tick(self, now: Now, signal: str | None) -> bool:
        """One look; False when there is nothing left to do."""
        if not self.why and (signal is not None or self.units.poweroff_asked):
            self.why = signal or "poweroff"
            self._tell("stopping", self.why, "units are stopped in their order, the hook first")
            self.units.press_button()
        self.units.tick(now)
        if not self.units.is_down:
            return True
        if self.why != "poweroff" or self.stop_self is None:
            self._tell("ended", self.why, "all units have ended")
            return False
        return signal is None and self._stops_itself(now)

    def _stops_itself(self, now: Now) -> bool:
        if now.mono_s >= self._again_s:
            assert self.stop_self is not None
            reply = self.stop_self()
            self._again_s = now.mono_s + AGAIN_S
            if reply.ok:
                self._tell("stop-self", "accepted", "the provider was asked to stop this container")
            else:
                why = "still billed: asked again each minute; the restarter stops it under its hold"
                self._tell("stop-self", f"{reply.kind}:{reply.detail}", why)
        return True

    def _tell(self, word: str, reply: str, why: str) -> None:
        """Each change once."""
        if f"{word} {reply}" != self._told:
            self._told = f"{word} {reply}"
            key = "reply" if word == "stop-self" else "because"
            self.say(Decision(word, {key: reply}, why, "supervisor"))
