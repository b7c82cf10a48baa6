"""All mutants, or a random share of them, and what is written or compared afterwards."""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from mutation.mutmut_run import MEMORY, Failed, Mutmut, program
from mutation.record import FILE, Module, Record, module_of, read, recorded, survivors, write
from mutation.scope import ROOT, fingerprint

NICENESS = 15
"""It lasts for minutes, and nobody waits for it."""


def main(argv: list[str] | None = None) -> int:
    """0: recorded, or as recorded; 1: something is not."""
    options = _parser().parse_args(argv)
    os.nice(NICENESS)
    try:
        make_environment()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"no environment for mutmut: {error}", file=sys.stderr)
        return 1
    directory = Path(tempfile.mkdtemp(prefix="mutants-", dir=MEMORY))
    mutmut = Mutmut(program(), directory)
    try:
        files = mutmut.prepare()
        run = _sampled if options.sample else _measured
        return run(mutmut, files, options)
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


def strangers(sample: Mapping[str, bool], record: Record) -> list[str]:
    """Mutants of the sample that live though the record does not list them."""
    listed = {item.mutant for item in record.survivors}
    return sorted(name for name, noticed in sample.items() if not noticed and name not in listed)


def stale(files: Mapping[str, str], before: Record | None) -> list[str]:
    """Modules of which the record says nothing, or of which it knows another file."""
    known = before.hashes if before is not None else {}
    return sorted(name for name, sha256 in files.items() if known.get(name) != sha256)


def merged(
    before: Record | None,
    files: Mapping[str, str],
    noticed: Mapping[str, bool],
    changes: Mapping[str, str],
    tool: str,
) -> Record:
    """The record with the modules of these mutants anew. `changes`: what the survivors among them are."""
    found: dict[str, list[bool]] = {}
    for mutant, is_noticed in noticed.items():
        found.setdefault(module_of(mutant), []).append(is_noticed)
    anew = {name: Module(files[name], len(all_), sum(all_)) for name, all_ in found.items()}
    modules = {**(before.modules if before is not None else {}), **anew}
    others = before.survivors if before is not None else ()
    kept = (item for item in others if item.module in files and item.module not in anew)
    return recorded(
        tool,
        {name: module for name, module in modules.items() if name in files},
        (*kept, *survivors(changes, before)),
    )


def _measured(mutmut: Mutmut, files: Mapping[str, str], options: argparse.Namespace) -> int:
    began = time.monotonic()
    before = read() if FILE.exists() else None
    todo = options.modules or stale(files, before if options.changed else None)
    names = [name for name in mutmut.generate() if module_of(name) in todo]
    noticed = mutmut.run(names)
    alive = mutmut.changes(name for name in names if not noticed[name])
    record = merged(before, files, noticed, alive, mutmut.version())
    write(record)
    minutes = (time.monotonic() - began) / 60
    print(f"{figure(record)}; {len(todo)} modules in {minutes:.0f} min; {FILE}")
    return 1 if record.unexplained else 0


def _sampled(mutmut: Mutmut, files: Mapping[str, str], options: argparse.Namespace) -> int:
    record = read()
    if record.sources != fingerprint(files):
        raise Failed("the record is of other sources")
    names = mutmut.generate()
    chosen = random.Random(options.seed).sample(names, max(1, len(names) * options.sample // 100))
    new = strangers(mutmut.run(chosen), record)
    print(
        f"{len(chosen)} of {len(names)} mutants again (seed {options.seed}), {len(new)} not as recorded"
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
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="only these (all)")
    parser.add_argument("--sample", type=int, metavar="PERCENT", help="these again, at random")
    parser.add_argument("--changed", action="store_true", help="only of files that have changed")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--keep", action="store_true", help="leave the mutated copy behind")
    return parser
