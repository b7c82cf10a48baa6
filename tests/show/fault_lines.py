"""Lines about the campaigns against a pass of the follower: kill -9, a full disk, and every fault of a proxy."""

import json
from collections.abc import Iterator, Mapping

from show.lines import Line, Missing, judged, short
from show.stage import Stage, output

PROGRAM = "tests/publication/run"
KINDS = {
    "kill": "kill -9 at every file operation and request",
    "enospc": "a full disk at every write",
    "proxy": "every fault of a proxy at every request",
}


def faults(stage: Stage) -> Iterator[Line]:
    """A line for each campaign. CI plays a sample, which the program says."""
    program = stage.root / PROGRAM
    if not program.exists():
        raise Missing(f"{PROGRAM} does not exist")
    record = stage.scratch / "faults.json"
    argv = [stage.python, str(program), "--record", str(record)]
    done = output([*argv, *([] if stage.full else ["--ci"])], stage.root)
    if not record.exists():
        raise Missing(f"{PROGRAM}: exit {done.returncode}: {done.stderr.strip()[-200:]}")
    found = json.loads(record.read_text())
    for kind, what in KINDS.items():
        yield campaign(what, found.get(kind))


def campaign(what: str, found: Mapping[str, object] | None) -> Line:
    """Every case ended well: nothing lost, torn or doubled after one clean pass."""
    if not isinstance(found, Mapping):
        return short(what, "not recorded")
    count = found.get("cases")
    wrong = {name: found.get(name) for name in ("lost", "torn", "doubled")}
    good = isinstance(count, int) and count > 0 and all(value == 0 for value in wrong.values())
    said = ", ".join(f"{value} {name}" for name, value in wrong.items())
    return judged(good, what, f"{count} cases: {said}")
