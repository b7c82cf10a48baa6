"""Requests to the publication follower, and its answers: files on the durable disk."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from spoteval.clock import Mark, Now, elapsed_s
from spoteval.files import read_record, remove, write_new_record
from spoteval.paths import DurablePaths
from spoteval.shape import Reading, ShapeError, Table, Unreadable

SOON = "pass"
FINAL = "final"
KINDS = (SOON, FINAL)
KEPT_S = 600.0
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
    return tuple(request for request, answered in _requests(paths.requests) if not answered)


def reply(paths: DurablePaths, request: str, said: Answer) -> None:
    """Answer a request, once. Raises OSError."""
    write_new_record(paths.requests / f"{request}{_DONE}", said.record())


def prune(paths: DurablePaths, now: Now) -> None:
    """Remove what was answered and asked more than KEPT_S ago, the request first: an answer alone asks for nothing."""
    for request, answered in _requests(paths.requests):
        waited_s = elapsed_s(request.at, now)
        if answered and waited_s is not None and waited_s > KEPT_S:
            remove(paths.requests / f"{request.id}.json")
            remove(paths.requests / f"{request.id}{_DONE}")


def _requests(folder: Path) -> Iterator[tuple[Request, bool]]:
    """Every readable request by name, and whether it is answered."""
    names = {path.name for path in folder.glob("[!.]*.json")} if folder.is_dir() else set()
    for name in sorted(names):
        request_id = name.removesuffix(".json")
        request = None if name.endswith(_DONE) else _request(folder, request_id)
        if request is not None:
            yield request, f"{request_id}{_DONE}" in names


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
