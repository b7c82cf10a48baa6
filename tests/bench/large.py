"""The measurements of tests/bench/inspect_large, their limits, and how they are shown."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.large_logs import shortened
from harness_runs import run_of
from spoteval.harness.inspect import Inspect

HERE = Path(__file__).resolve().parent
TIMES_LOG, QUIET_MS, NEWS_S, NEWS = 20.0, 20.0, 1.0, 20
FEW, SAMPLE_KB = 500, 10.0
"""Memory is flat where 5,000 samples cost the follower no more than this each over what 500 do."""


def main(argv: Sequence[str]) -> int:
    """Run, measure, print; exit 1 where a limit is broken."""
    options = _parser().parse_args(argv)
    scratch = Path(tempfile.mkdtemp(prefix="spoteval-large-", dir=options.scratch))
    try:
        found: dict[str, object] = {}
        log = options.log
        if log is None:
            found |= written(scratch / "work", options.samples)
            (log,) = (scratch / "work/logs").glob("*.eval")
        found |= followed(scratch, log)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    rows = figures(found)
    if options.json is None:
        show(found, rows)
    elif options.json == "-":
        print(json.dumps({**found, "figures": rows}))
    else:
        Path(options.json).write_text(json.dumps({**found, "figures": rows}))
    return int(not all(row["good"] for row in rows))


def written(work: Path, samples: int) -> dict[str, object]:
    """Run it; what /proc/PID/io says the process wrote, against the size of its log.

    `write_bytes` counts pages as they are dirtied for a disk, less those that were dropped before they got there;
    `wchar` is what went through write(2), most of it into pages that were dirty already.
    """
    (work / "home").mkdir(parents=True)
    executable = os.environ.get("SPOTEVAL_TEST_INSPECT") or str(
        Path(sys.executable).parent / "inspect"
    )
    args = (f"{HERE / 'large_task.py'}@large", "--model", "mockllm/model", "-T", f"n={samples}")
    run = run_of("inspect", executable=executable, args=args, concurrency=16)
    command = Inspect().command(run, work)
    env = {"PATH": os.environ["PATH"], "TMPDIR": str(work / "home"), **command.env}
    began = time.monotonic()
    with subprocess.Popen(command.argv, env=env, cwd=work) as process:
        counts = _counted(process.pid)
    if process.returncode:
        raise RuntimeError(f"inspect: exit {process.returncode}")
    (log,) = (work / "logs").glob("*.eval")
    size, reached = log.stat().st_size, counts["write_bytes"] - counts["cancelled_write_bytes"]
    return {
        "run_s": round(time.monotonic() - began, 1),
        "log_buffer": command.argv[command.argv.index("--log-buffer") + 1],
        "log_bytes": size,
        "disk_bytes": reached,
        "wchar": counts["wchar"],
        "times_log": round(reached / size, 1),
    }


def _counted(pid: int) -> Mapping[str, int]:
    """The counters of a process at its end: it is looked at once more after its exit, before it is reaped."""
    path = Path(f"/proc/{pid}/io")
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    return {
        name: int(value)
        for name, value in (line.split(": ") for line in path.read_text().splitlines())
    }


def followed(scratch: Path, log: Path) -> dict[str, object]:
    """Passes over the log but for its last samples, over the same again, and over the whole of it."""
    many = _follower(scratch, log, None)
    few = _follower(scratch, log, FEW)
    each_kb = (many["rss_kb"] - few["rss_kb"]) / max(1, many["samples"] - few["samples"])
    names = ("samples", "first_s", "quiet_ms", "news_s", "news")
    return {
        **{f"follower_{name}": many[name] for name in names},
        "follower_rss_mb": {
            int(one["samples"]): round(one["rss_kb"] / 1024, 1) for one in (few, many)
        },
        "follower_kb_per_sample": round(each_kb, 1),
    }


def _follower(scratch: Path, log: Path, samples: int | None) -> dict[str, float]:
    """In a process of its own: memory and CPU time are the follower's."""
    place = scratch / f"follower-{samples}"
    place.mkdir()
    before, after = place / "before.eval", place / "after.eval"
    shortened(log, after, samples, news=NEWS)
    shortened(log, before, samples, news=NEWS, with_news=False)
    argv = [sys.executable, str(HERE / "large_follower.py"), str(place), str(before), str(after)]
    env = {**os.environ, "PYTHONPATH": ":".join(sys.path[:3])}
    done = subprocess.run(argv, env=env, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def figures(found: Mapping[str, object]) -> list[dict[str, object]]:
    """Each figure that has a limit, with whether it keeps it; one that was not measured does not."""
    rows = [
        ("times_log", TIMES_LOG, "bytes written to the disk, in sizes of the final log"),
        ("follower_quiet_ms", QUIET_MS, "CPU of a pass that finds nothing new, in ms"),
        ("follower_news_s", NEWS_S, f"CPU of a pass that finds {NEWS} new, in s"),
        (
            "follower_kb_per_sample",
            SAMPLE_KB,
            f"memory of the follower above {FEW} samples, in KB each",
        ),
    ]
    return [_figure(found, *row) for row in rows if row[0] in found]


def _figure(found: Mapping[str, object], name: str, most: float, what: str) -> dict[str, object]:
    value = found[name]
    number = float(value) if isinstance(value, int | float) else 0.0
    good = 0 < number <= most and found.get("follower_news") == NEWS
    return {
        "what": what,
        "figure": f"{number:g}, at most {most:g} ({_beside(found, name)})",
        "good": good,
    }


def _beside(found: Mapping[str, object], name: str) -> str:
    """What the figure was made of."""
    if name == "times_log":
        return f"{found['disk_bytes']} of {found['log_bytes']}, {found['run_s']} s, wchar {found['wchar']}"
    if name == "follower_kb_per_sample":
        return f"RSS in MB: {found['follower_rss_mb']}"
    return f"{found['follower_samples']} samples in the log"


def show(found: Mapping[str, object], rows: Sequence[Mapping[str, object]]) -> None:
    """All that was measured, then a line for each limit."""
    for name, value in found.items():
        print(f"{name:<24}{value}")
    for row in rows:
        print(f"{'ok   ' if row['good'] else 'ABOVE'} {row['what']}: {row['figure']}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tests/bench/inspect_large")
    parser.add_argument("--samples", type=int, default=5000)
    parser.add_argument(
        "--json", nargs="?", const="-", metavar="FILE", help="one object, here or there"
    )
    parser.add_argument("--log", type=Path, help="an .eval file: no run, its samples are followed")
    parser.add_argument("--scratch", help="a directory on a real disk (default: the temporary one)")
    return parser
