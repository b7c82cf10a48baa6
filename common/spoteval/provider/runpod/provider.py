"""One Runpod pod behind the contract."""

from collections.abc import Callable, Mapping
from typing import Any

from spoteval.clock import Now, monotonic_s
from spoteval.provider.configured import configured
from spoteval.provider.contract import Observation, Price, Reply, State
from spoteval.provider.http import Api
from spoteval.provider.runpod.pods import Pods
from spoteval.provider.runpod.settings import RunpodSettings
from spoteval.provider.runpod.states import observed
from spoteval.provider.shared import Shared
from spoteval.provider.token import Bearer, Token
from spoteval.settings.keys import settings_in
from spoteval.shape import Reading, ShapeError, Table, Unreadable

READ_AGAIN_S = 3600.0


class RunpodProvider:
    """All pods are looked at in one call; a start or stop is one request that says nothing of GPUs."""

    def __init__(self, settings: RunpodSettings, pods: Pods, clock: Callable[[], Now]) -> None:
        self._settings, self._pods, self._clock = settings, pods, clock
        self._change: str | None = None
        pods.batch.add(settings.id)

    @property
    def cancels(self) -> bool:
        """A pod that is provisioned or starting can be stopped; so can one that came up without GPUs."""
        return True

    def observe(self, deadline_s: float) -> Reading[Observation]:
        """State first; who stopped it is read once, and may be refused."""
        until_s = monotonic_s() + deadline_s
        pod = self._pods.batch.look(self._settings.id, deadline_s)
        if isinstance(pod, Unreadable):
            return pod
        plain = observed(pod, self._settings.gpus, None)
        if plain.state not in (State.STOPPED, State.UNRESTARTABLE):
            self._change = None
            return plain
        if self._change is None:
            told = self._pods.told(self._settings.id, until_s - monotonic_s())
            self._change = None if isinstance(told, Unreadable) else _text(told)
        return observed(pod, self._settings.gpus, self._change)

    def start(self, deadline_s: float) -> Reply:
        """One start: with a bid where one is set, else on demand."""
        own = self._settings
        if own.bid is None:
            return self._pods.act(own.id, "start", deadline_s)
        return self._pods.bid(own.id, own.bid.amount, own.gpus, deadline_s)

    def stop(self, deadline_s: float) -> Reply:
        """One `stop`."""
        return self._pods.act(self._settings.id, "stop", deadline_s)

    def price(self, deadline_s: float) -> Reading[Price]:
        """What was typed, else what Runpod asks for such GPUs now, or what is bid where that is more."""
        own = self._settings
        if own.price is not None:
            return configured(own.price)
        until_s = monotonic_s() + deadline_s
        pod = self._pods.batch.look(own.id, deadline_s)
        if isinstance(pod, Unreadable):
            return pod
        gpu = pod.get("gpu")
        kind = str(gpu.get("id", "")) if isinstance(gpu, Mapping) else ""
        secure = pod.get("cloud") == "SECURE"
        left_s = until_s - monotonic_s()
        found = self._pods.prices(kind, own.gpus, left_s, secure=secure)
        return found if isinstance(found, Unreadable) else _priced(found, own, self._clock())


def runpod_provider(table: Table, shared: Shared) -> RunpodProvider:
    """The provider of a table [instance.NAME]; raises ShapeError, or what `shared.secret` raises."""
    settings = settings_in(RunpodSettings, table)
    return RunpodProvider(settings, pods_of(settings, shared), shared.clock)


def pods_of(settings: RunpodSettings, shared: Shared) -> Pods:
    """The one client of a key. The file is read again when the key is refused: a person may have renewed it."""
    name = settings.identity
    if not shared.secret(name).strip():
        raise ShapeError(f'identity "{name}": the file must hold an API key')

    def fetch(deadline_s: float) -> Reading[Token[str]]:  # noqa: ARG001 - a file is read at once
        try:
            return Token(shared.secret(name).strip(), READ_AGAIN_S)
        except Exception as error:  # noqa: BLE001 - whatever its owner raises
            return Unreadable(f'identity "{name}": {type(error).__name__}')

    def made() -> Pods:
        return Pods(Api(settings.endpoint_url), Bearer(fetch, shared.clock), shared.clock)

    return shared.one(("runpod", settings.endpoint_url, name), made)


def _text(told: Mapping[str, Any]) -> str:
    return str(told.get("lastStatusChange") or "")


def _priced(found: Mapping[str, Any], own: RunpodSettings, now: Now) -> Reading[Price]:
    name = "uninterruptablePrice" if own.bid is None else "minimumBidPrice"
    try:
        each = float(found[name])
    except (KeyError, TypeError, ValueError):
        return Unreadable("price: Runpod names none for such GPUs")
    amount = own.gpus * (each if own.bid is None else max(each, own.bid.amount))
    return Price(amount, "USD", "hour", "list" if own.bid is None else "spot", now.wall)
