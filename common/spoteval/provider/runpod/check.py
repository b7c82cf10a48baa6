"""What `check` asks Runpod: what the key may, by trying, and settings that would lose the disk or the start."""

from collections.abc import Iterator
from typing import Any

from spoteval.provider.contract import Finding, Unanswered
from spoteval.provider.runpod.pods import Pod, action_of
from spoteval.provider.runpod.provider import pods_of
from spoteval.provider.runpod.settings import RunpodSettings
from spoteval.provider.shared import Shared
from spoteval.settings.keys import settings_in
from spoteval.shape import Reading, Table, Unreadable

CHECK_S = 15.0
READ, WRITE, GRAPHQL = "REST: Read", "REST: Write", "GraphQL: Read"
BID = "GraphQL: Write"
_NOTHING = "none"
"""An action that there is none of: who may act is told that, who may not is refused before."""


def runpod_findings(table: Table, shared: Shared) -> list[Finding]:
    """Rights first, then the pod's own settings. Raises as `runpod_provider` does."""
    settings = settings_in(RunpodSettings, table)
    pods = pods_of(settings, shared)
    pods.batch.add(settings.id)
    pod = pods.batch.look(settings.id, CHECK_S)
    told = pods.told(settings.id, CHECK_S)
    found = [
        _may(READ, pod),
        _may(WRITE, pods.asked(action_of(settings.id, _NOTHING), CHECK_S)),
        _graphql(told, settings),
    ]
    return found if isinstance(pod, Unreadable) else [*found, *_set_up(pod, told, settings)]


def _may(right: str, answer: Reading[Any]) -> Finding:
    """`_NOTHING` is turned down for what it is, with one of these, only where the key is not."""
    if isinstance(answer, Unanswered) and answer.kind == "auth":
        return Finding("missing", right, f"the key is refused ({answer.why}): give it this")
    if isinstance(answer, Unreadable) and not answer.why.endswith(("400", "409", "422")):
        return Finding("unknown", right, f"could not be tried ({answer.why})")
    return Finding("ok", right, "the key is not refused")


def _graphql(told: Reading[Any], settings: RunpodSettings) -> Finding:
    """What may be read is tried. That a bid may be made shows when one is."""
    is_refused = isinstance(told, Unanswered) and told.kind == "auth"
    if settings.bid is not None:
        text = "an interruptible pod is started by GraphQL alone"
        if is_refused:
            return Finding("missing", BID, text)
        return Finding("unknown", BID, f"{text}: spoteval drill provider --start-stop tries it")
    if isinstance(told, Unreadable):
        text = f"why it stopped and what it costs is not known ({told.why})"
        return Finding("lacking", GRAPHQL, text)
    return Finding("ok", GRAPHQL, "the key is not refused")


def _set_up(pod: Pod, told: Reading[Any], settings: RunpodSettings) -> Iterator[Finding]:
    mounts = pod.get("mounts")
    if not mounts:
        yield Finding("missing", "volume", "the pod has none: all is lost at each stop")
    elif isinstance(mounts, dict) and not mounts.get("network"):
        text = "on the host's own disk: it survives a stop, and not the loss of the host"
        yield Finding("lacking", "volume", text)
    if pod.get("locked"):
        yield Finding("missing", "lock", "a locked pod cannot be stopped: unlock it")
    spot = not isinstance(told, Unreadable) and str(told.get("podType")) == "INTERRUPTABLE"
    if spot and settings.bid is None:
        yield Finding("missing", "bid", "an interruptible pod starts with a bid alone: set `bid`")
