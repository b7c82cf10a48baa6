"""The GPUs of this machine, by `nvidia-smi`: asked in a child with a deadline, since it hangs with its driver."""

from dataclasses import dataclass

from spoteval.machine import process
from spoteval.machine.process import NOT_FOUND, Run
from spoteval.shape import Reading, Unreadable

WITHIN_S = 20.0
"""Without persistence mode the driver starts anew for each question: some seconds on eight GPUs."""
_QUERY = ("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
_MAKER = "NVIDIA "


@dataclass(frozen=True, slots=True)
class Gpus:
    """How many, of which name (of several names all, joined by +), under which driver. None: no GPU."""

    count: int
    name: str
    driver: str


def gpus(run: Run = process.run) -> Reading[Gpus | None]:
    """The GPUs; None where the program is absent or lists none, Unreadable where it fails."""
    done = run(_QUERY, WITHIN_S)
    if done.code == NOT_FOUND:
        return None
    if not done.ok:
        why = f"timeout:{WITHIN_S:g}s" if done.timed_out else f"exit {done.code}"
        return Unreadable(f"nvidia-smi: {why}")
    rows = [line.rpartition(",") for line in done.out.splitlines() if line.strip()]
    if not rows:
        return None
    if not all(comma for _, comma, _ in rows):
        return Unreadable("nvidia-smi: an answer that is not understood")
    names = dict.fromkeys(name.strip().removeprefix(_MAKER) for name, _, _ in rows)
    drivers = dict.fromkeys(driver.strip() for _, _, driver in rows)
    return Gpus(len(rows), "+".join(names), "+".join(drivers))
