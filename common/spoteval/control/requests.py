"""Requests to the publication follower, and its answers: files on the durable disk."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from spoteval.clock import Mark, Now, elapsed_s
from spoteval.files import read_record, remove, write_new_record
from spoteval.paths import DurablePaths
from spoteval.shape import Reading, ShapeError, Table, Unreadable

SOON = "pass"
FINAL = "final"
KINDS = (SOON, FINAL)
KEPT_S = 120.0
"""How long a request and its answer are kept: whoever asked has read it, or is gone."""

_DONE = ".done.json"


@dataclass(frozen=True, slots=True)
class Request:
    """One request: a `pass` soon, or a `final` one that has everything in the store, within `deadline_s` of `at`."""

    id: str
    kind: str
    by: str
    deadline_s: float
    at: Mark

    def left_s(self, now: Now) -> float:
        """Seconds until its deadline; 0 where it is past, or nobody can know."""
        waited_s = elapsed_s(self.at, now)
        return 0.0 if waited_s is None else max(0.0, self.deadline_s - waited_s)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a pass did: episodes published and left over, and everything that is left in `backlog`."""

    published: int
    left: int
    backlog: int
    withheld: int
    took_s: float

    def record(self) -> dict[str, object]:
        """The answer as a JSON object."""
        return {
            "published": self.published,
            "left": self.left,
            "backlog": self.backlog,
            "withheld": self.withheld,
            "took_s": round(self.took_s, 3),
        }


def ask(paths: DurablePaths, kind: str, by: str, deadline_s: float, now: Now) -> str:
    """Put a request and return its id. Raises OSError, and ValueError for a kind that is none."""
    if kind not in KINDS:
        raise ValueError(f'"{kind}": a request is {" | ".join(KINDS)}')
    request = f"{now.wall:%Y%m%dT%H%M%S}-{by}-{os.urandom(4).hex()}"
    body = {"kind": kind, "by": by, "deadline_s": deadline_s, "at": now.record()}
    write_new_record(paths.requests / f"{request}.json", body)
    return request


def answer(paths: DurablePaths, request: str) -> Reading[Answer | None]:
    """The answer to a request; None while there is none."""
    table = read_record(paths.requests / f"{request}{_DONE}")
    if table is None or isinstance(table, Unreadable):
        return table
    try:
        return Answer(
            published=table.whole("published"),
            left=table.whole("left"),
            backlog=table.whole("backlog"),
            withheld=table.whole("withheld"),
            took_s=table.number("took_s"),
        )
    except ShapeError as error:
        return Unreadable(str(error))


def pending(paths: DurablePaths) -> tuple[Request, ...]:
    """Requests without an answer, oldest first. One that is damaged asks for nothing."""
    waiting, _ = _ids(paths.requests)
    return _requests(paths.requests, waiting)


def reply(paths: DurablePaths, request: str, said: Answer) -> None:
    """Answer a request, once. Raises OSError."""
    write_new_record(paths.requests / f"{request}{_DONE}", said.record())


def prune(paths: DurablePaths, now: Now) -> None:
    """Remove what was answered and asked more than KEPT_S ago, the request first: an answer alone asks for nothing."""
    _, answered = _ids(paths.requests)
    for request in _requests(paths.requests, answered):
        waited_s = elapsed_s(request.at, now)
        if waited_s is not None and waited_s > KEPT_S:
            remove(paths.requests / f"{request.id}.json")
            remove(paths.requests / f"{request.id}{_DONE}")


def _ids(folder: Path) -> tuple[list[str], list[str]]:
    """Ids without and with an answer, by name alone."""
    names = {path.name for path in folder.glob("[!.]*.json")} if folder.is_dir() else set()
    ids = [name.removesuffix(".json") for name in sorted(names) if not name.endswith(_DONE)]
    answered = [request_id for request_id in ids if f"{request_id}{_DONE}" in names]
    return [request_id for request_id in ids if request_id not in answered], answered


def _requests(folder: Path, ids: Iterable[str]) -> tuple[Request, ...]:
    found = (_request(folder, request_id) for request_id in ids)
    return tuple(request for request in found if request is not None)


def _request(folder: Path, request_id: str) -> Request | None:
    table = read_record(folder / f"{request_id}.json")
    if not isinstance(table, Table):
        return None
    try:
        return Request(
            id=request_id,
            kind=table.choice("kind", KINDS),
            by=table.text("by"),
            deadline_s=table.number("deadline_s"),
            at=table.mark("at"),
        )
    except ShapeError:
        return None
