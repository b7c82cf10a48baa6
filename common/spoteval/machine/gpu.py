"""How busy the GPUs are, as the driver's own tool says."""

from spoteval.machine import process
from spoteval.machine.process import Run
from spoteval.shape import Reading, Unreadable

QUERY = ("nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits")
WITHIN_S = 10.0
"""A driver that hangs makes its tool hang."""


def gpu_share(run: Run = process.run) -> Reading[float]:
    """The share, 0 to 1, of the last sample period in which the busiest GPU ran something. Blocks up to WITHIN_S."""
    done = run(QUERY, WITHIN_S)
    if done.timed_out:
        return Unreadable(f"nvidia-smi: timeout:{WITHIN_S:g}s")
    if not done.ok:
        said = done.err.strip() or done.out.strip() or f"exit {done.code}"
        return Unreadable(said if said.startswith("nvidia-smi") else f"nvidia-smi: {said}")
    return _busiest(done.out)


def _busiest(text: str) -> Reading[float]:
    """With MIG the driver answers [N/A]: then nobody knows."""
    try:
        shares = [int(line) / 100 for line in text.splitlines() if line.strip()]
    except ValueError:
        return Unreadable(f'nvidia-smi: "{text.splitlines()[0].strip()}" is no percentage')
    return max(shares) if shares else Unreadable("nvidia-smi: no GPU is listed")
