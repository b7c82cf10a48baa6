"""Facts of a boot: object names that say something, one create-only object each."""

from collections.abc import Mapping
from datetime import datetime

from spoteval.files import encoded
from spoteval.publication.keys import fact_key
from spoteval.store.contract import Store

BOOTED = "booted"
"""The boot's first fact, with the machine's addresses."""
DRILL_STOP = "drill-stop"
"""The stop that follows in this boot is a drill's."""


def run_fact(run: str, generation: int) -> str:
    """This run is assigned to the instance."""
    return f"run-{run}-{generation}"


def ended_fact(run: str) -> str:
    """This run is over."""
    return f"ended-{run}"


def keep_fact(at: datetime) -> str:
    """In this hour something keeps the machine on."""
    return f"keep-{at:%Y%m%d%H}"


def finished_fact(threshold: int) -> str:
    """So many episodes of the run are finished."""
    return f"finished-{threshold}"


def put_fact(
    store: Store, instance: str, seq: int, session: str, name: str, body: Mapping[str, object]
) -> None:
    """Put one fact; putting it again changes nothing. Raises StoreError."""
    store.put(fact_key(instance, seq, session, name), encoded(dict(body)))
