"""The episodes' own witness of the demo, counted here again and not by the product."""

from collections.abc import Iterator

from show.lines import Line, judged
from show.stage import Demo


def counted_again(demo: Demo) -> Iterator[Line]:
    """Every intended episode ended once, and none began again after it had ended."""
    lines = (demo.kept / "witness.log").read_text().splitlines()
    ended, rerun, begins = set[str](), set[str](), 0
    for line in lines:
        word, sample, epoch = line.split()[:3]
        key = f"{sample}/{epoch}"
        begins += word == "begin"
        if word in ("begin", "end") and key in ended:
            rerun.add(key)
        if word == "end":
            ended.add(key)
    intended = demo.keys.get("episodes_intended")
    good = not rerun and len(ended) == intended and begins > len(ended)
    figure = f"{begins} begins, {len(ended)} of {intended} ended, {len(rerun)} again after the end"
    yield judged(good, "the episodes' own witness", figure)
