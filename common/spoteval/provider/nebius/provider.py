"""One Nebius VM behind the contract."""

from dataclasses import dataclass, replace

from spoteval.clock import monotonic_s
from spoteval.machine.metadata import ADDRESS, Metadata
from spoteval.provider.configured import configured
from spoteval.provider.contract import Observation, Price, Reply, State
from spoteval.provider.nebius.account import Account
from spoteval.provider.nebius.capacity import Advisor
from spoteval.provider.nebius.client import Client, loaded, start_of, stop_of
from spoteval.provider.nebius.settings import NebiusSettings
from spoteval.provider.nebius.states import Vm, observed, stopped_by
from spoteval.provider.nebius.tokens import file_tokens, host_tokens
from spoteval.provider.shared import Shared
from spoteval.provider.token import Bearer
from spoteval.settings.keys import settings_in
from spoteval.shape import Reading, Table, Unreadable


@dataclass(slots=True)
class _Known:
    """What was read once of a stop, and is not asked for again."""

    is_read: bool = False
    stop: str | None = None
    advice: str | None = None


class NebiusProvider:
    """All instances are looked at in one call; a start or stop is one request whose operation may fail later."""

    def __init__(
        self, name: str, settings: NebiusSettings, account: Account, advisor: Advisor | None
    ) -> None:
        self._name, self._settings, self._account = name, settings, account
        self._advisor = advisor
        self._known = _Known()
        account.batch.add(settings.id)

    @property
    def cancels(self) -> bool:
        """A VM that is starting can be stopped."""
        return True

    def observe(self, deadline_s: float) -> Reading[Observation]:
        """State first; who asked for a stop, and what became of a start, may be refused."""
        until_s = monotonic_s() + deadline_s
        vm = self._account.batch.look(self._settings.id, deadline_s)
        if isinstance(vm, Unreadable):
            return vm
        if observed(vm, None, None).state is not State.STOPPED:
            self._known = _Known()
            return observed(vm, None, None)
        if not self._known.is_read:
            self._learn(until_s)
        return observed(vm, self._known.stop, self._advised(vm, until_s))

    def start(self, deadline_s: float) -> Reply:
        """One `Start`."""
        self._known = _Known()
        return self._account.call(start_of(self._settings.id), deadline_s)

    def stop(self, deadline_s: float) -> Reply:
        """One `Stop`."""
        return self._account.call(stop_of(self._settings.id), deadline_s)

    def price(self, deadline_s: float) -> Reading[Price]:
        """What was typed, else what Nebius' calculator says."""
        if self._settings.price is not None:
            return configured(self._settings.price)
        found = self._account.price(self._settings.id, deadline_s)
        if not isinstance(found, Unreadable):
            return found
        return replace(found, why=f"{found.why} (or set price in [instance.{self._name}])")

    def _advised(self, vm: Vm, until_s: float) -> str | None:
        """What became of the last start, else how much room there is said to be."""
        if self._known.advice is not None or self._advisor is None:
            return self._known.advice
        region = self._settings.region or ""
        return self._advisor.word(vm, region, until_s - monotonic_s())

    def _learn(self, until_s: float) -> None:
        """From the operations of the VM: the one call that tells both."""
        found = self._account.operations(self._settings.id, until_s - monotonic_s())
        if isinstance(found, Unreadable):
            return
        newest = max(found, key=lambda one: str(one.at), default=None)
        refused = newest.refused if newest is not None else None
        self._known = _Known(
            is_read=True,
            stop=stopped_by(found),
            advice=refused.word if refused is not None else None,
        )


def nebius_provider(table: Table, shared: Shared) -> NebiusProvider:
    """The provider of a table [instance.NAME]; raises ShapeError, or what `shared.secret` raises."""
    settings = settings_in(NebiusSettings, table)
    if settings.tenant is not None and settings.region is None:
        raise table.error("region", "the VM's own, such as `eu-north1`: advice of a tenant has all")
    name, account = table.place.rpartition(".")[2], account_of(settings, shared)
    return NebiusProvider(name, settings, account, advisor_of(settings, account, shared))


def advisor_of(settings: NebiusSettings, account: Account, shared: Shared) -> Advisor | None:
    """The one advisor of a tenant; None where none is named."""
    tenant = settings.tenant
    if tenant is None:
        return None
    own = ("nebius-advice", id(account), tenant)
    return shared.one(own, lambda: Advisor(account.client, tenant, shared.clock))


def account_of(settings: NebiusSettings, shared: Shared) -> Account:
    """The one client of an identity. Without the vendor's package nothing is asked of anybody."""
    loaded()
    own = ("nebius", settings.endpoint_url, settings.identity, settings.metadata_url)

    def made() -> Account:
        return Account(Client(_bearer(settings, shared), settings.endpoint_url), shared.clock)

    return shared.one(own, made)


def _bearer(settings: NebiusSettings, shared: Shared) -> Bearer[str]:
    name = settings.identity
    if name == "instance":
        return host_tokens(Metadata(settings.metadata_url or ADDRESS), shared.clock)
    return file_tokens(name, shared.secret(name), settings.login_url, shared.clock)
