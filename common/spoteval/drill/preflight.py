"""The preflight of a drill's run: in the first resume it has the second stop come, or waits for it.

boot-resume runs it once everything else that the run needs is there, so that this stop falls into its work.
"""

import sys
import time

from spoteval.clock import read_now
from spoteval.config.guest import GuestConfig, read_guest
from spoteval.control.boot import this_boot
from spoteval.control.disk import prove
from spoteval.control.runfiles import active_run
from spoteval.control.stores import store_from
from spoteval.drill.plan import GUEST, STOPS, is_drill
from spoteval.drill.records import disk_evidence
from spoteval.drill.stop import Stopper
from spoteval.paths import DurablePaths, HostPaths, host_paths
from spoteval.shape import Unreadable

WAIT_S = 600.0
"""A stop that has not come by then does not come; the run goes on without it."""


def main() -> int:
    """Exit 0 where the run may go on; 1 with one line where this boot, or whose run it is, cannot be read."""
    paths = host_paths()
    config = read_guest(paths.config, "")
    proof = prove(config)
    run = proof if isinstance(proof, Unreadable) else active_run(proof.paths)
    if isinstance(proof, Unreadable) or not isinstance(run, str) or not is_drill(run):
        sys.stderr.write(f"{run.why if isinstance(run, Unreadable) else 'no drill is active'}\n")
        return 1
    if len(disk_evidence(proof.paths, run).lives) != STOPS:
        return 0
    return _second_stop(config, paths, proof.paths, run, sys.argv[1])


def _second_stop(
    config: GuestConfig, paths: HostPaths, disk: DurablePaths, run: str, by: str
) -> int:
    """The machine's end ends the wait."""
    boot = this_boot(disk, paths, read_now())
    if isinstance(boot, Unreadable):
        sys.stderr.write(f"{boot.why}\n")
        return 1
    if by == GUEST:
        store = store_from(config.store, paths.credentials)
        Stopper(config, paths, disk, boot, run).stop(STOPS, store)
    time.sleep(WAIT_S)
    return 0


if __name__ == "__main__":
    sys.exit(main())
