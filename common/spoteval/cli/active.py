"""The active run of this guest, as the hidden verbs of its agents need it."""

from spoteval.control.refused import Refused
from spoteval.control.runfiles import active_run, read_run
from spoteval.harness.contract import Harness
from spoteval.harness.registry import adapter
from spoteval.paths import DurablePaths
from spoteval.run import RunRecord
from spoteval.shape import Unreadable


def active_record(disk: DurablePaths) -> RunRecord:
    """The frozen record of the active run; raises Refused where none is active or it cannot be read."""
    name = active_run(disk)
    if isinstance(name, Unreadable):
        raise Refused(name.why)
    if name is None:
        raise Refused("no run is active (spoteval run start NAME)")
    run = read_run(disk.run(name))
    if isinstance(run, Unreadable):
        raise Refused(run.why)
    return run


def adapter_of(run: RunRecord) -> Harness:
    """The run's adapter; raises Refused where what it needs is not installed."""
    kind = run.plan.harness
    try:
        return adapter(kind)
    except ImportError as error:
        raise Refused(f"harness {kind} needs {error.name} (install spoteval[{kind}])") from error
