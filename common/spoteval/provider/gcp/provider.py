"""One VM of Compute Engine behind the contract."""

from dataclasses import dataclass

from spoteval.clock import monotonic_s
from spoteval.machine.metadata import ADDRESS, Metadata
from spoteval.provider.configured import configured
from spoteval.provider.contract import Observation, Price, Reply, State
from spoteval.provider.gcp.settings import GcpSettings
from spoteval.provider.gcp.states import observed
from spoteval.provider.gcp.tokens import file_tokens, host_tokens
from spoteval.provider.gcp.zone import Vm, Zone
from spoteval.provider.http import Api
from spoteval.provider.shared import Shared
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

    def __init__(self, name: str, settings: GcpSettings, zone: Zone) -> None:
        self._name, self._settings, self._zone = name, settings, zone
        self._known = _Known()
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

    def price(self, deadline_s: float) -> Reading[Price]:  # noqa: ARG002
        """What was typed: no API tells the price of one VM."""
        if self._settings.price is None:
            return Unreadable(f"price: none is set in [instance.{self._name}]")
        return configured(self._settings.price)

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
    return GcpProvider(table.place.rpartition(".")[2], settings, zone_of(settings, shared))


def zone_of(settings: GcpSettings, shared: Shared) -> Zone:
    """The one client of a zone and identity; one token serves all zones."""
    own = (settings.endpoint_url, settings.identity, settings.metadata_url)
    place = f"projects/{settings.project}/zones/{settings.zone}"

    def made() -> Zone:
        if settings.identity == "instance":
            metadata = Metadata(settings.metadata_url or ADDRESS)
            bearer = shared.one(("gcp", *own), lambda: host_tokens(metadata, shared.clock))
        else:
            name = settings.identity
            bearer = shared.one(
                ("gcp", *own), lambda: file_tokens(name, shared.secret(name), shared.clock)
            )
        return Zone(Api(settings.endpoint_url), bearer, place, shared.clock)

    return shared.one(("gcp", *own, place), made)
