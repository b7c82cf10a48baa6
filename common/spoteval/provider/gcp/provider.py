"""One VM of Compute Engine behind the contract."""

from collections.abc import Callable
from dataclasses import dataclass

from spoteval.clock import Now, monotonic_s
from spoteval.machine.metadata import ADDRESS, Metadata
from spoteval.provider.configured import configured
from spoteval.provider.contract import Observation, Price, Reply, State
from spoteval.provider.gcp.catalog import Catalog
from spoteval.provider.gcp.prices import Shape, price_of, shape_of
from spoteval.provider.gcp.settings import GcpSettings
from spoteval.provider.gcp.states import observed
from spoteval.provider.gcp.tokens import file_tokens, host_tokens
from spoteval.provider.gcp.zone import Vm, Zone
from spoteval.provider.http import Api
from spoteval.provider.shared import Shared
from spoteval.provider.token import Bearer
from spoteval.settings.keys import settings_in
from spoteval.shape import Reading, Table, Unreadable


@dataclass(slots=True)
class _Known:
    """What was read once of a stop or a start, and is not asked for again."""

    stopped_at: object = None
    stop: str | None = None
    operation: str | None = None
    advice: str | None = None


class GcpProvider:
    """The zone is looked at in one call; a start or stop is one request whose operation may fail later."""

    def __init__(
        self, settings: GcpSettings, zone: Zone, catalog: Catalog, clock: Callable[[], Now]
    ) -> None:
        self._settings, self._zone = settings, zone
        self._catalog, self._clock = catalog, clock
        self._known = _Known()
        self._shape: Shape | None = None
        zone.batch.add(settings.id)

    @property
    def cancels(self) -> bool:
        """A VM that is provisioned or staged can be stopped."""
        return True

    def observe(self, deadline_s: float) -> Reading[Observation]:
        """State first; what stopped it, and what became of a start, are read once each, and may be refused."""
        until_s = monotonic_s() + deadline_s
        vm = self._zone.batch.look(self._settings.id, deadline_s)
        if isinstance(vm, Unreadable):
            return vm
        plain = observed(vm, None, None)
        if plain.state is State.RUNNING:
            self._known = _Known()
        if plain.state is not State.STOPPED:
            return plain
        self._learn(vm, until_s)
        return observed(vm, self._known.stop, self._known.advice)

    def start(self, deadline_s: float) -> Reply:
        """One `start`; its operation is remembered, to learn why it failed."""
        reply, operation = self._zone.call(self._settings.id, "start", deadline_s)
        self._known.operation = operation
        return reply

    def stop(self, deadline_s: float) -> Reply:
        """One `stop`."""
        return self._zone.call(self._settings.id, "stop", deadline_s)[0]

    def price(self, deadline_s: float) -> Reading[Price]:
        """What was typed, or the sum of its parts in Google's catalogue."""
        if self._settings.price is not None:
            return configured(self._settings.price)
        until_s = monotonic_s() + deadline_s
        if self._shape is None:
            vm = self._zone.batch.look(self._settings.id, deadline_s)
            if isinstance(vm, Unreadable):
                return vm
            machine = self._zone.machine_type(vm, until_s - monotonic_s())
            if isinstance(machine, Unreadable):
                return Unreadable(f"price: its machine type is not known ({machine.why})")
            self._shape = shape_of(vm, machine)
        if self._shape is None:
            return Unreadable("price: Google does not say what the VM is made of")
        rows = self._catalog.rows(until_s - monotonic_s())
        return rows if isinstance(rows, Unreadable) else price_of(self._shape, rows, self._clock())

    def _learn(self, vm: Vm, until_s: float) -> None:
        known, stopped_at = self._known, vm.get("lastStopTimestamp")
        if stopped_at is not None and stopped_at != known.stopped_at:
            stop = self._zone.last_stop(self._settings.id, until_s - monotonic_s())
            if not isinstance(stop, Unreadable):
                known.stop, known.stopped_at = stop, stopped_at
        if known.operation is not None:
            code = self._zone.failed_with(known.operation, until_s - monotonic_s())
            if isinstance(code, str):
                known.advice, known.operation = code, None


def gcp_provider(table: Table, shared: Shared) -> GcpProvider:
    """The provider of a table [instance.NAME]; raises ShapeError, or what `shared.secret` raises."""
    settings = settings_in(GcpSettings, table)
    catalog = catalog_of(settings, shared)
    return GcpProvider(settings, zone_of(settings, shared), catalog, shared.clock)


def zone_of(settings: GcpSettings, shared: Shared) -> Zone:
    """The one client of a zone and identity; one token serves all zones."""
    place = f"projects/{settings.project}/zones/{settings.zone}"

    def made() -> Zone:
        api = Api(settings.endpoint_url)
        return Zone(api, _bearer(settings, shared), place, shared.clock)

    return shared.one(("gcp", *_own(settings), place), made)


def catalog_of(settings: GcpSettings, shared: Shared) -> Catalog:
    """The one catalogue of a region and identity."""
    region = settings.zone.rpartition("-")[0]

    def made() -> Catalog:
        api = Api(settings.catalog_url)
        return Catalog(api, _bearer(settings, shared), region, shared.clock)

    return shared.one(("gcp", *_own(settings), settings.catalog_url, region), made)


def _own(settings: GcpSettings) -> tuple[str | None, ...]:
    return settings.endpoint_url, settings.identity, settings.metadata_url


def _bearer(settings: GcpSettings, shared: Shared) -> Bearer[str]:
    name = settings.identity

    def made() -> Bearer[str]:
        if name == "instance":
            return host_tokens(Metadata(settings.metadata_url or ADDRESS), shared.clock)
        return file_tokens(name, shared.secret(name), shared.clock)

    return shared.one(("gcp", "token", *_own(settings)), made)
