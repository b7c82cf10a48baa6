"""Lines that stand on mutation testing: the score of the last whole run, and some of it again."""

from collections.abc import Iterator, Mapping

from mutation.campaign import figure
from mutation.record import FILE, Record, read
from mutation.scope import fingerprint, hashes
from show.lines import Line, Missing, judged, needs_full, short
from show.stage import Stage, output

WANTED = 0.9
PERCENT = 10


def mutation(stage: Stage) -> Iterator[Line]:
    """The score, if it is of the sources as they are now; with --full, a tenth of it is measured again."""
    what = "mutants of decide and observe killed"
    try:
        record = read(stage.root / FILE.relative_to(FILE.parents[2]))
    except FileNotFoundError as error:
        raise Missing(f"no {FILE.name} (tests/mutation/run makes it)") from error
    yield judged_record(what, record, hashes(stage.root))
    again = f"{PERCENT} % of the mutants again, at random"
    if not stage.full:
        yield needs_full(again)
        return
    program = stage.root / "tests" / "mutation" / "run"
    done = output([str(program), "--sample", str(PERCENT)], stage.root)
    last = (done.stdout.strip() or done.stderr.strip() or "no output").splitlines()
    yield judged(done.returncode == 0, again, "; ".join(last)[:300])


def judged_record(what: str, record: Record, files: Mapping[str, str]) -> Line:
    """short for other sources, a score that is too low, or a survivor that nobody has explained."""
    if not record.adds_up:
        return short(what, "the record does not add up")
    if record.hashes != files:
        other = ", ".join(sorted({name for name, _ in record.hashes.items() ^ files.items()}))
        return short(what, f"the record is of other sources: {other}")
    good = record.score >= WANTED and not record.unexplained
    sources = f"sources {fingerprint(files)[:12]}"
    return judged(good, what, f"{figure(record)}; {sources}, {record.tool}")
