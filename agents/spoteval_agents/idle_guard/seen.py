"""What idle-guard sees, remembers and goes by: values only."""

from dataclasses import dataclass

from spoteval.clock import Mark
from spoteval.control.enders import Ender
from spoteval.shape import Reading, Unreadable

AGENT = "idle-guard"


@dataclass(frozen=True, slots=True)
class Policy:
    """After how many idle seconds the machine ends, how often to look, and above what something is work.

    Shares are 0 to 1, `io_above` is bytes a second.
    """

    after_s: float
    cpu_above: float
    every_s: float
    gpu_above: float = 0.05
    io_above: float = 5e6
    keep_alive_warn_s: float = 43200.0


@dataclass(frozen=True, slots=True)
class Keep:
    """The keep-alive file: its text, and how long ago it was touched (None where nobody can know)."""

    text: str
    age_s: float | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """The world of one cycle. What only the disk can tell is None or empty where there is none (`disk` says why).

    Shares and rates are None where they are not known yet, or there is nothing to ask: that is no use. `known` says
    whether every one of them has been taken.
    """

    session: str
    members: Reading[int]
    cpu: Reading[float | None]
    disk: str | None = None
    complete: Reading[bool] = False
    """Whether the active run needs nothing more; also where none is active."""
    guest_hold: Reading[str | None] = None
    busy: Reading[tuple[str, ...]] = ()
    keep_alive: Reading[Keep | None] = None
    draining: bool = False
    gpu: Reading[float | None] = None
    disk_io: Reading[float | None] = None
    network: Reading[float | None] = None
    servers: tuple[tuple[str, Reading[int | None]], ...] = ()
    """Requests in flight by server."""
    logs: Reading[str | None] = None
    """What of the run's own directory changed since the last look; looked at where nothing else is in use."""
    publishing: Reading[str | None] = None
    """What the store acknowledged lately, while more is waiting."""
    logins: Reading[tuple[str, ...]] = ()
    inhibitors: Reading[tuple[str, ...]] = ()
    eyes_age_s: float | None = 0.0
    """How long ago GPUs and servers were asked; None before the first answer."""
    intents: Reading[tuple[Ender, ...]] = ()
    work: str | None = None
    failed: str | None = None
    """What the last try to prove the hold said."""

    @property
    def known(self) -> bool:
        """Whether each probe that needs time has said something."""
        return self.cpu is not None and self.eyes_age_s is not None

    @property
    def keep(self) -> Keep | None:
        """The keep-alive file where it is there and can be read."""
        return None if isinstance(self.keep_alive, Unreadable) else self.keep_alive


@dataclass(frozen=True, slots=True)
class State:
    """Since when nothing uses the machine, and since when it is on for nothing but probes that cannot be read.

    Before the first look nobody knows.
    """

    idle_since: Mark | None = None
    blind_since: Mark | None = None
