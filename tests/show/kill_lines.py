"""Lines that stand on the kills: each agent killed at each of its writes, the end held against an undisturbed one."""

import json
from collections.abc import Iterator, Mapping

from show.lines import Line, Missing, judged, needs_full, say, short
from show.stage import Stage, output

AGENTS = (
    "shutdown-hook",
    "boot-resume",
    "publication-follower",
    "idle-guard",
    "end-handler",
    "run",
)
MOST_BEYOND = 0.1


def kills(stage: Stage) -> Iterator[Line]:
    """A line for each agent, with the number of its writes."""
    program, file = stage.root / "tests" / "kills" / "run", stage.scratch / "kills.json"
    if not program.exists():
        raise Missing("tests/kills/run does not exist")
    if not stage.full:
        yield needs_full("kill -9 at every numbered write")
        return
    argv = [str(program), "--record", str(file), "--keep", str(stage.scratch / "kills")]
    done = output(argv, stage.root)
    if not file.exists():
        raise Missing(f"tests/kills/run: exit {done.returncode}: {done.stderr.strip()[-200:]}")
    found = json.loads(file.read_text())
    say(f"kills: {found.get('took_s', 0) / 60:.0f} min, sources {str(found.get('sources'))[:12]}")
    for name in AGENTS:
        yield killed(name, found.get("agents", {}))


def killed(name: str, agents: Mapping[str, Mapping[str, object]]) -> Line:
    """ok when the agent was killed at every write that its run has, and each end was the undisturbed one.

    A run that was slower wrote a little more often: numbers that others never come to are said, and must be few.
    """
    what, found = f"kill -9 of {name}", agents.get(name)
    if found is None:
        return short(what, "not killed")
    points, done, beyond, again = (
        _count(found, key) for key in ("points", "killed", "beyond", "again")
    )
    wrong = found.get("wrong")
    good = 0 < points == done + beyond and beyond <= MOST_BEYOND * points and wrong == []
    figure = f"at {done} of {points} numbered writes, the children's included, same end"
    figure += f"; {beyond} more never come to in two plays each" if beyond else ""
    figure += f"; {again} at a second try" if again else ""
    return judged(good, what, figure if not wrong else f"{figure} but: {wrong}"[:400])


def _count(found: Mapping[str, object], key: str) -> int:
    value = found.get(key)
    return value if isinstance(value, int) else 0
