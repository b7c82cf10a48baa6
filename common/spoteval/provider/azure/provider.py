"""One Azure VM behind the contract."""

from collections.abc import Callable
from dataclasses import dataclass

from spoteval.clock import Now, monotonic_s
from spoteval.machine.metadata import ADDRESS, Metadata
from spoteval.provider.azure.arm import Arm, Vm
from spoteval.provider.azure.prices import retail_price
from spoteval.provider.azure.settings import AzureSettings
from spoteval.provider.azure.states import observed
from spoteval.provider.azure.tokens import client_tokens, host_tokens
from spoteval.provider.configured import configured
from spoteval.provider.contract import Observation, Price, Reply, State
from spoteval.provider.http import Api
from spoteval.provider.shared import Shared
from spoteval.provider.token import Bearer
from spoteval.settings.keys import settings_in
from spoteval.shape import Reading, Table, Unreadable


@dataclass(slots=True)
class _Known:
    """What was read once of a stop or a start, and is not asked for again."""

    annotation: str | None = None
    operation: str | None = None
    advice: str | None = None


class AzureProvider:
    """The subscription is looked at in one call where that is allowed; a start or stop is one request."""

    def __init__(
        self, settings: AzureSettings, arm: Arm, prices: Api, clock: Callable[[], Now]
    ) -> None:
        self._settings, self._arm, self._prices, self._clock = settings, arm, prices, clock
        self._known = _Known()
        self._size: tuple[str, str, bool] | None = None
        arm.batch.add(settings.id)

    @property
    def cancels(self) -> bool:
        """A VM that is starting can be deallocated."""
        return True

    def observe(self, deadline_s: float) -> Reading[Observation]:
        """Power state first; why it stopped, and what became of a start, may be refused."""
        until_s = monotonic_s() + deadline_s
        vm = self._arm.batch.look(self._settings.id, deadline_s)
        if isinstance(vm, Unreadable):
            return vm
        plain = observed(vm, None, None)
        if plain.state in (State.RUNNING, State.STARTING):
            self._known.annotation = self._known.advice = None
        if plain.state is not State.STOPPED:
            return plain
        self._learn(until_s)
        return observed(vm, self._known.annotation, self._known.advice)

    def start(self, deadline_s: float) -> Reply:
        """One `start`; never `restart`, which a deallocated VM refuses."""
        reply, self._known.operation = self._arm.call(self._settings.id, "start", deadline_s)
        return reply

    def stop(self, deadline_s: float) -> Reply:
        """One `deallocate`: a VM that is only powered off goes on being billed."""
        return self._arm.call(self._settings.id, "deallocate", deadline_s)[0]

    def price(self, deadline_s: float) -> Reading[Price]:
        """The retail price of its size in its region, or what was typed."""
        if self._settings.price is not None:
            return configured(self._settings.price)
        until_s = monotonic_s() + deadline_s
        if self._size is None:
            vm = self._arm.vm(self._settings.id, deadline_s)
            if isinstance(vm, Unreadable):
                return vm
            self._size = _size(vm)
        size, region, spot = self._size
        left_s = until_s - monotonic_s()
        return retail_price(self._prices, size, region, self._clock(), left_s, spot=spot)

    def _learn(self, until_s: float) -> None:
        known = self._known
        if known.annotation is None:
            found = self._arm.annotation(self._settings.id, until_s - monotonic_s())
            known.annotation = None if isinstance(found, Unreadable) else found
        if known.operation is not None:
            code = self._arm.failed_with(known.operation, until_s - monotonic_s())
            if isinstance(code, str):
                known.advice, known.operation = code, None


def azure_provider(table: Table, shared: Shared) -> AzureProvider:
    """The provider of a table [instance.NAME]; raises ShapeError, or what `shared.secret` raises."""
    settings = settings_in(AzureSettings, table)
    prices = shared.one(("azure", settings.prices_url), lambda: Api(settings.prices_url))
    return AzureProvider(settings, arm_of(settings, shared), prices, shared.clock)


def arm_of(settings: AzureSettings, shared: Shared) -> Arm:
    """The one client of a subscription and identity."""
    subscription = settings.id.split("/")[2].lower()
    own = (settings.endpoint_url, settings.identity, settings.client_id, settings.metadata_url)

    def made() -> Arm:
        bearer = shared.one(("azure", "token", *own), lambda: _bearer(settings, shared))
        return Arm(Api(settings.endpoint_url), bearer, subscription, shared.clock)

    return shared.one(("azure", *own, subscription), made)


def _bearer(settings: AzureSettings, shared: Shared) -> Bearer[str]:
    name, url = settings.identity, settings.endpoint_url
    if name == "instance":
        metadata = Metadata(settings.metadata_url or ADDRESS)
        return host_tokens(metadata, url, settings.client_id, shared.clock)
    return client_tokens(name, shared.secret(name), settings.login_url, url, shared.clock)


def _size(vm: Vm) -> tuple[str, str, bool]:
    properties = vm.get("properties") or {}
    size = str((properties.get("hardwareProfile") or {}).get("vmSize", ""))
    return size, str(vm.get("location", "")), properties.get("priority") == "Spot"
