"""What can block, so that it is asked beside the loop: the GPUs' driver, and the model servers."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from spoteval.clock import Mark, Now, elapsed_s
from spoteval.config.guest import GuestConfig
from spoteval.control import children
from spoteval.control.children import Ask, Reply
from spoteval.control.worker import Working
from spoteval.machine.gpu import gpu_share
from spoteval.shape import Reading, ShapeError, Table, Unreadable
from spoteval_agents.idle_guard.seen import Seen

EYES, LOAD_CHILD_S = "eyes", 30.0
AGAIN_S = 10.0
"""How long apart looks are while the end is near."""


@dataclass(slots=True)
class Eyes:
    """The newest answers, and how to get newer ones."""

    worker: Working
    wants_gpu: bool
    servers: tuple[str, ...]
    ask: Ask = children.ask
    gpu: Callable[[], Reading[float]] = gpu_share
    _at: Mark | None = field(default=None, init=False)
    _seen: Mapping[str, object] = field(default_factory=dict, init=False)

    def look(self, seen: Seen, every_s: float, now: Now) -> Seen:
        """`seen` with the newest answers; begins to get newer ones where these are older than `every_s`."""
        if not (self.wants_gpu or self.servers):
            return seen
        age_s = self._take(now)
        if age_s is None or age_s >= every_s:
            self.worker.start(EYES, self._asked)
            age_s = self._take(now)  # a worker may have done it at once
        found = Table(self._seen, EYES)
        return replace(
            seen,
            gpu=_share(found) if self.wants_gpu else None,
            servers=tuple((name, _count(found, name)) for name in self.servers),
            eyes_age_s=age_s,
        )

    def _take(self, now: Now) -> float | None:
        """The age of the newest answers, after what came in."""
        said = self.worker.take(EYES)
        if said is not None:
            self._at, self._seen = now.mark, _parsed(said)
        return elapsed_s(self._at, now) if self._at is not None else None

    def _asked(self) -> Reading[str]:
        """Blocks up to the deadlines of both."""
        found: dict[str, object] = {}
        if self.wants_gpu:
            share = self.gpu()
            found["gpu"] = {"why": share.why} if isinstance(share, Unreadable) else {"share": share}
        if self.servers:
            found["servers"] = _replied(self.ask(["server", "load"], LOAD_CHILD_S))
        return json.dumps(found)


def eyes_of(config: GuestConfig, worker: Working) -> Eyes:
    """What of this there is on this host. A local node has no GPUs of its own."""
    wants_gpu = config.idle.gpu and config.provider != "local"
    return Eyes(worker, wants_gpu, tuple(server.name for server in config.servers))


def _replied(reply: Reading[Reply]) -> dict[str, object]:
    if isinstance(reply, Unreadable):
        return {"why": reply.why}
    return dict(reply.body.values)


def _parsed(said: Reading[str]) -> Mapping[str, object]:
    if isinstance(said, Unreadable):
        lost = {"why": said.why}
        return {"gpu": lost, "servers": lost}
    found = json.loads(said)
    return found if isinstance(found, dict) else {}


def _share(found: Table) -> Reading[float | None]:
    """None before the first answer."""
    if not found.values:
        return None
    try:
        table = found.table("gpu")
        why = table.maybe_text("why")
        return Unreadable(why) if why is not None else table.number("share")
    except ShapeError as error:
        return Unreadable(str(error))


def _count(found: Table, server: str) -> Reading[int | None]:
    if not found.values:
        return None
    try:
        table = found.table("servers")
        if (why := table.maybe_text("why")) is not None:
            return Unreadable(why)
        one = table.table("servers").table(server)
        if (why := one.maybe_text("why")) is not None:
            return Unreadable(why)
        count = one.maybe_number("in_flight")
        return None if count is None else int(count)
    except ShapeError as error:
        return Unreadable(str(error))
