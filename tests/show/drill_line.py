"""One drill as a line of a show."""

from collections.abc import Mapping
from typing import Any

from show.lines import Line, judged


def line_of(what: str, found: Mapping[str, Any]) -> Line:
    """ok where every expectation passed; the slowest way back beside it."""
    items = found["expectations"]
    passed = [item for item in items if item["passed"]]
    back = max((item["took_s"] or 0.0 for item in items if item["what"] == "resumed"), default=0.0)
    failed = [f"stop {item['stop']} {item['what']}" for item in items if not item["passed"]]
    figure = f"{len(passed)} of {len(items)} expectations, resumed within {back:.0f} s of its stop"
    figure += f"; not: {', '.join(failed)}" if failed else ""
    return judged(found["passed"] is True and found["code"] == 0, what, figure)
