"""What the service manager has in force for units: its own answer, all drop-ins included."""

from collections.abc import Mapping, Sequence

from spoteval.machine import process
from spoteval.machine.process import Run
from spoteval.shape import Reading, Unreadable

WITHIN_S = 10.0

Properties = Mapping[str, str]


def properties(
    units: Sequence[str], names: Sequence[str], run: Run = process.run
) -> Reading[Mapping[str, Properties]]:
    """These properties of each unit, by unit; Unreadable where no manager answers."""
    wanted = ",".join(["Id", *names])
    done = run(["systemctl", "show", "--property", wanted, "--", *units], WITHIN_S)
    if not done.ok:
        why = f"timeout:{WITHIN_S:g}s" if done.timed_out else " ".join(done.err.split())
        return Unreadable(f"systemctl show: {why or f'exit {done.code}'}")
    blocks = (_block(text) for text in done.out.split("\n\n") if text.strip())
    return dict(zip(units, blocks, strict=False))


def _block(text: str) -> Properties:
    return dict(line.partition("=")[::2] for line in text.strip().splitlines())
