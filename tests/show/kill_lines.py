"""Lines that stand on the kills: each agent killed at each of its writes, the end held against an undisturbed one."""

import json
from collections.abc import Iterator, Mapping

from show.lines import Line, Missing, judged, needs_full, short
from show.stage import Stage, output

AGENTS = (
    "shutdown-hook",
    "boot-resume",
    "publication-follower",
    "idle-guard",
    "end-handler",
)


def kills(stage: Stage) -> Iterator[Line]:
    """A line for each agent, with the number of its writes."""
    program, file = stage.root / "tests" / "kills" / "run", stage.scratch / "kills.json"
    if not program.exists():
        raise Missing("tests/kills/run does not exist")
    if stage.ci:
        yield needs_full("kill -9 at every numbered write")
        return
    argv = [str(program), "--json", str(file), "--keep", str(stage.scratch / "kills")]
    argv += ["--full"] if stage.full else []
    done = output(argv, stage.root)
    if not file.exists():
        raise Missing(f"tests/kills/run: exit {done.returncode}: {done.stderr.strip()[-200:]}")
    found = json.loads(file.read_text())
    for name in AGENTS:
        yield killed(name, found.get("agents", {}))


def killed(name: str, agents: Mapping[str, Mapping[str, object]]) -> Line:
    """ok when the agent was killed at every write that its run has, and each end was the undisturbed one."""
    what, found = f"kill -9 of {name}", agents.get(name)
    if found is None:
        return short(what, "not killed")
    points, done, wrong = (found.get(key) for key in ("points", "killed", "wrong"))
    good = isinstance(points, int) and 0 < points == done and wrong == []
    figure = f"at {done} of {points} numbered writes, the children's included, same end"
    return judged(good, what, figure if not wrong else f"{figure} but: {wrong}"[:400])
