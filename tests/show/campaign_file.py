"""What a campaign of another program has found: it is run, and its record read."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from show.lines import Missing
from show.stage import Stage, output

Found = Mapping[str, Any]


def recorded(stage: Stage, program: str, *words: str, skips: int = 77) -> Found | str:
    """The record of `tests/<program>`, run with `--record`; the reason where this machine cannot play it.

    Raises Missing where there is no such program, or it left no record.
    """
    path = stage.root / "tests" / program
    file = stage.scratch / f"{program.replace('/', '-')}{''.join(words[:1])}.json"
    if not path.exists():
        raise Missing(f"tests/{program} does not exist")
    done = output([str(path), "--record", str(file), *words], stage.root)
    last = (done.stderr.strip() or done.stdout.strip())[-300:]
    if done.returncode == skips:
        return last
    if not file.exists():
        raise Missing(f"tests/{program}: exit {done.returncode}: {last}")
    found = json.loads(file.read_text())
    return found if isinstance(found, Mapping) else {}


def total(items: Sequence[Found], name: str, absent: int = 1) -> int:
    """The sum of a count over all of them; one that does not say it counts as `absent`."""
    values = (item.get(name, absent) for item in items)
    return sum(value if isinstance(value, int) else absent for value in values)
