"""The call by which a guest stops itself, on providers where a power off does not end the bill."""

from collections.abc import Callable, Mapping

from spoteval.provider.contract import Reply
from spoteval.shape import Table

OwnStop = Callable[[], Reply]
Make = Callable[[Table, Mapping[str, str]], OwnStop]

BEFORE_POWER = frozenset(["azure"])
"""Of these an agent asks for the stop itself, before the power goes, and with it the network. In a container without
systemd its supervisor asks, after all else has ended.
"""


def _azure(table: Table, environ: Mapping[str, str]) -> OwnStop:
    from spoteval.provider.azure.own import own_stop

    return own_stop(table, environ)


def _runpod(table: Table, environ: Mapping[str, str]) -> OwnStop:
    from spoteval.provider.runpod.own import own_stop

    return own_stop(table, environ)


_KINDS: Mapping[str, Make] = {"azure": _azure, "runpod": _runpod}


def own_stop(kind: str, table: Table, environ: Mapping[str, str]) -> OwnStop | None:
    """One request for its own stop, each time it is called; None where a power off is the stop.

    `table` is `[provider]` of the guest; raises ShapeError where it is wrong.
    """
    make = _KINDS.get(kind)
    return None if make is None else make(table, environ)
