"""What `check` asks Nebius: the state, the permits of the identity where it may read them, and the recovery policy."""

from collections.abc import Iterator
from typing import Any

from spoteval.provider.contract import Finding, Unanswered
from spoteval.provider.nebius.account import Account
from spoteval.provider.nebius.permits import roles_for
from spoteval.provider.nebius.provider import account_of, advisor_of
from spoteval.provider.nebius.settings import NebiusSettings
from spoteval.provider.nebius.states import FAIL, RECOVERY, Vm
from spoteval.provider.shared import Shared
from spoteval.settings.keys import settings_in
from spoteval.shape import Reading, Table, Unreadable

CHECK_S = 15.0
ROLE = "editor"
_STARTS = (ROLE, "admin")
_TRY = "spoteval drill provider --start-stop tries it"


def nebius_findings(table: Table, shared: Shared) -> list[Finding]:
    """Rights first, then the VM's own settings. Raises as `nebius_provider` does."""
    settings = settings_in(NebiusSettings, table)
    account = account_of(settings, shared)
    account.batch.add(settings.id)
    vm = account.batch.look(settings.id, CHECK_S)
    if isinstance(vm, Unreadable):
        return [_unseen(vm)]
    return [
        Finding("ok", "viewer", "the VM can be looked at"),
        _starts(account, settings.id, vm),
        _operations(account, settings.id),
        *_told(settings, account, shared),
        *_set_up(vm),
    ]


def _unseen(error: Unreadable) -> Finding:
    """Without a look nothing else can be tried."""
    if isinstance(error, Unanswered) and error.kind == "auth":
        return Finding("missing", ROLE, f"not allowed to look at the VM ({error.why}): add it")
    return Finding("unknown", ROLE, f"could not be tried ({error.why})")


def _starts(account: Account, name: str, vm: Vm) -> Finding:
    """There is no role for starting alone, and no call that tries a start without one."""
    roles: Reading[frozenset[str]] = roles_for(account.client, (name, vm.project), CHECK_S)
    if isinstance(roles, Unreadable):
        text = f"the permits of this identity could not be read ({roles.why}): {_TRY}"
        return Finding("unknown", ROLE, text)
    if roles & set(_STARTS):
        return Finding("ok", ROLE, "may start and stop it")
    held = ", ".join(sorted(roles)) or "none"
    return Finding("missing", ROLE, f"roles on the VM or its project: {held}; add {ROLE}")


def _operations(account: Account, name: str) -> Finding:
    found: Any = account.operations(name, CHECK_S)
    if isinstance(found, Unreadable):
        text = f"who stopped it and why a start failed is not known ({found.why})"
        return Finding("lacking", "operations", text)
    return Finding("ok", "operations", "say who asked for a stop")


def _told(settings: NebiusSettings, account: Account, shared: Shared) -> Iterator[Finding]:
    """What is shown and not needed: a price, where none is typed, and advice, where it is wanted."""
    if settings.price is None:
        price = account.price(settings.id, CHECK_S)
        if isinstance(price, Unreadable):
            text = f"Nebius' calculator does not say ({price.why}): set price in its table"
            yield Finding("lacking", "price", text)
        else:
            yield Finding("ok", "price", "Nebius' calculator says one")
    advisor = advisor_of(settings, account, shared)
    if advisor is not None:
        advice = advisor.look(CHECK_S)
        if isinstance(advice, Unreadable):
            text = f"how much room there is stays unknown ({advice.why})"
            yield Finding("lacking", "capacity advice", text)
        else:
            yield Finding("ok", "capacity advice", "is told")


def _set_up(vm: Vm) -> Iterator[Finding]:
    """A poweroff of the guest must end it: with another policy it counts as a failure, and is undone."""
    policy = RECOVERY.get(vm.recovery, str(vm.recovery))
    if vm.recovery == FAIL:
        yield Finding("ok", "recovery policy", policy)
        return
    text = (
        f"is {policy}: power off would be restarted and billed; create the VM with FAIL"
        " (it cannot be changed)"
    )
    yield Finding("missing", "recovery policy", text)
