"""Provider `local`: the local cloud, spoken to through files."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import sleep
from typing import TypeVar

from spoteval.clock import Now, read_now
from spoteval.local.cloud import CloudFiles
from spoteval.provider.contract import Observation, Price, Reply, ReplyKind, State
from spoteval.settings.keys import key, settings_in
from spoteval.settings.kinds import ABSOLUTE
from spoteval.shape import Reading, ShapeError, Table, Unreadable

T = TypeVar("T")

_LOOK_EVERY_S = 0.05
_KINDS: dict[int, ReplyKind] = {
    200: "accepted",
    401: "auth",
    403: "auth",
    404: "gone",
    409: "conflict",
    429: "rate",
    503: "capacity",
}


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """What `[instance.NAME]` says of a local node."""

    cloud: Path = field(metadata=key(ABSOLUTE, "the node's directory in the local cloud"))


class LocalProvider:
    """One instance of the local cloud in `root`."""

    def __init__(
        self,
        root: Path,
        clock: Callable[[], Now] = read_now,
        pause: Callable[[float], None] = sleep,
    ) -> None:
        self._cloud = CloudFiles(root)
        self._clock = clock
        self._pause = pause

    @property
    def cancels(self) -> bool:
        """A node that is starting is off at once."""
        return True

    def observe(self, deadline_s: float) -> Reading[Observation]:  # noqa: ARG002
        """What the driver wrote last; Unreadable where no driver lives. `deadline_s` is never needed."""
        return _read(self._cloud, _observation)

    def start(self, deadline_s: float) -> Reply:
        """One start call, and its answer if it comes within `deadline_s`."""
        return self._call("start", deadline_s)

    def stop(self, deadline_s: float) -> Reply:
        """One stop call, and its answer if it comes within `deadline_s`."""
        return self._call("stop", deadline_s)

    def price(self, deadline_s: float) -> Reading[Price]:  # noqa: ARG002
        """What an hour costs now."""
        return _read(self._cloud, lambda table: _price(table.table("price"), self._clock()))

    def _call(self, verb: str, deadline_s: float) -> Reply:
        try:
            if not self._cloud.has_driver():
                return Reply(ok=False, kind="unknown", detail="no local node is running")
            call = self._cloud.ask(verb, self._clock())
        except OSError as error:
            return Reply(ok=False, kind="unknown", detail=f"{error.strerror}")
        began_s = self._clock().mono_s
        while (answer := self._cloud.answered(call)) is None:
            if self._clock().mono_s - began_s >= deadline_s:
                return Reply(ok=False, kind="unknown", detail=f"timeout:{deadline_s:g}s")
            self._pause(_LOOK_EVERY_S)
        return _reply(answer)


def local_provider(table: Table) -> LocalProvider:
    """The provider of a configuration table; raises ShapeError where `cloud` is no absolute path."""
    return LocalProvider(settings_in(LocalSettings, table).cloud)


def _read(cloud: CloudFiles, parse: Callable[[Table], T]) -> Reading[T]:
    found = cloud.read_state()
    try:
        return found if isinstance(found, Unreadable) else parse(found)
    except ShapeError as error:
        return Unreadable(str(error))


def _observation(table: Table) -> Observation:
    word = table.text("state")
    reason = table.maybe_text("stop_reason")
    return Observation(
        state=State(word) if word in State.__members__ else State.UNKNOWN,
        billed=table.flag("billed"),
        last_start=table.maybe_moment("last_start"),
        cause=reason,
        evidence="provider-reason" if reason is not None else None,
    )


def _price(table: Table, now: Now) -> Price:
    return Price(
        amount=table.number("amount"),
        currency=table.text("currency"),
        per=table.text("per"),
        kind="spot",
        as_of=now.wall,
    )


def _reply(answer: Reading[Table]) -> Reply:
    try:
        if isinstance(answer, Unreadable):
            return Reply(ok=False, kind="unknown", detail=answer.why)
        status, error = answer.whole("status"), answer.maybe_text("error") or ""
    except ShapeError as damaged:
        return Reply(ok=False, kind="unknown", detail=str(damaged))
    kind = _KINDS.get(status, "unknown")
    return Reply(ok=kind == "accepted", kind=kind, detail=error)
