"""All mutants, or a random share of them, and what is written or compared afterwards."""

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from mutation.mutmut_run import KILLED, Failed, Mutmut, program
from mutation.record import FILE, Record, read, survivors, write
from mutation.scope import MODULES, ROOT, fingerprint

SMALLEST = "spoteval_agents.restarter.observe.*"
"""All mutants are generated at the first run, whichever are tested: these are the fewest."""


def main(argv: list[str] | None = None) -> int:
    """0: recorded, or as recorded; 1: something is not."""
    options = _parser().parse_args(argv)
    try:
        make_environment()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"no environment for mutmut: {error}", file=sys.stderr)
        return 1
    directory = Path(tempfile.mkdtemp(prefix="mutants-"))
    mutmut = Mutmut(program(), directory)
    try:
        mutmut.prepare()
        return _sampled(mutmut, options) if options.sample else _whole(mutmut, options)
    except Failed as failed:
        print(failed, file=sys.stderr)
        return 1
    finally:
        if options.keep:
            print(f"kept: {directory}", file=sys.stderr)
        else:
            shutil.rmtree(directory, ignore_errors=True)


def make_environment() -> None:
    """An environment of its own for the tool. Raises CalledProcessError."""
    own = ROOT / ".venv.mutation"
    try:
        program()
    except FileNotFoundError:
        subprocess.run([sys.executable, "-m", "venv", str(own)], check=True)
        pip = [str(own / "bin" / "pip"), "install", "--quiet", "--editable"]
        subprocess.run([*pip, f"{ROOT}[test,mutation]"], check=True)


def strangers(sample: Mapping[str, int], record: Record) -> list[str]:
    """Mutants of the sample that live though the record does not list them."""
    listed = {item.mutant for item in record.survivors}
    return sorted(
        name for name, code in sample.items() if code not in KILLED and name not in listed
    )


def _whole(mutmut: Mutmut, options: argparse.Namespace) -> int:
    before, began = fingerprint(), time.monotonic()
    mutmut.run(children=options.jobs)
    if fingerprint() != before:
        raise Failed("the sources were edited meanwhile")
    codes = mutmut.results()
    alive = mutmut.changes(name for name, code in codes.items() if code not in KILLED)
    record = Record(
        tool=mutmut.version(),
        sources=before,
        modules=MODULES,
        mutants=len(codes),
        killed=len(codes) - len(alive),
        survivors=survivors(alive, read() if FILE.exists() else None),
    )
    write(record)
    print(f"{figure(record)} in {(time.monotonic() - began) / 60:.0f} min; {FILE}")
    return 1 if record.unexplained else 0


def _sampled(mutmut: Mutmut, options: argparse.Namespace) -> int:
    record = read()
    if record.sources != fingerprint():
        raise Failed("the record is of other sources")
    mutmut.run([SMALLEST], options.jobs)
    names = mutmut.names()
    chosen = random.Random(options.seed).sample(names, max(1, len(names) * options.sample // 100))
    mutmut.run(chosen, options.jobs)
    codes = mutmut.results()
    found = {name: codes[name] for name in chosen}
    new = strangers(found, record)
    print(
        f"{len(found)} of {len(names)} mutants again (seed {options.seed}), {len(new)} not as recorded"
    )
    print("\n".join(new))
    return 1 if new or len(names) != record.mutants else 0


def figure(record: Record) -> str:
    """The score in one line."""
    return (
        f"{record.killed} of {record.mutants} mutants killed ({record.score:.1%}),"
        f" {len(record.survivors)} live, {len(record.unexplained)} of them unexplained"
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tests/mutation/run")
    parser.add_argument("--sample", type=int, metavar="PERCENT", help="these again, at random")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--jobs", type=int, default=1, help="processes at once (1)")
    parser.add_argument("--keep", action="store_true", help="leave the mutated copy behind")
    return parser
