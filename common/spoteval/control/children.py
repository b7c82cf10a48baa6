"""The command line as a child: what an agent asks of the store without loading a store client."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from spoteval.machine import process
from spoteval.machine.process import Child, Run
from spoteval.shape import Reading, Table, Unreadable

PROGRAM = "spoteval"
REFUSED = 3

Ask = Callable[[Sequence[str], float], "Reading[Reply]"]


@dataclass(frozen=True, slots=True)
class Reply:
    """What a verb answered: the object it printed, and whether it refused (exit 3) what was asked."""

    body: Table
    refused: bool = False
    said: str = ""
    """The last line it wrote for people: why it refused."""


def ask(verb: Sequence[str], within_s: float, run: Run = process.run) -> Reading[Reply]:
    """Run `spoteval VERB… --json` to its end, killed with all it started after `within_s` seconds.

    A reply comes of exit 0 with an object, and of exit 3 with or without one. All else is Unreadable:
    what was asked may or may not have been done.
    """
    done = run([PROGRAM, *verb, "--json"], within_s)
    name = " ".join([PROGRAM, *verb[:2]])
    if done.timed_out:
        return Unreadable(f"{name}: timeout:{within_s:g}s")
    body = _object(done.out)
    if done.code == REFUSED:
        return Reply(Table(body or {}, name), refused=True, said=_last_line(done.err))
    if done.code != 0:
        return Unreadable(f"{name}: {_last_line(done.err) or f'exit {done.code}'}")
    if body is None:
        return Unreadable(f"{name}: exit 0 without a JSON object")
    return Reply(Table(body, name), said=_last_line(done.err))


def done(reply: Reading[Reply]) -> Reading[str]:
    """Whether it was done; a refusal is a failure like others."""
    if isinstance(reply, Unreadable):
        return reply
    return Unreadable(f"{reply.body.place}: refused: {reply.said}") if reply.refused else "done"


def begin(verb: Sequence[str]) -> Reading[Child]:
    """Start `spoteval VERB… --json` and return at once: for what must not delay the caller.

    Keep the child and poll it, else it stays a zombie.
    """
    try:
        return process.spawn([PROGRAM, *verb, "--json"])
    except OSError as error:
        return Unreadable(f"{PROGRAM}: {error.strerror}")


def _object(text: str) -> dict[str, object] | None:
    """The JSON object in the last line of the output."""
    try:
        value = json.loads(_last_line(text))
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""
