"""What `check` asks Resource Manager: rights as the roles have them, and settings that would make a stop an end."""

import fnmatch
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from spoteval.provider.azure.arm import Arm, Vm
from spoteval.provider.azure.provider import arm_of
from spoteval.provider.azure.settings import AzureSettings
from spoteval.provider.contract import Finding
from spoteval.provider.shared import Shared
from spoteval.settings.keys import settings_in
from spoteval.shape import Reading, Table, Unreadable

CHECK_S = 15.0
_VM = "Microsoft.Compute/virtualMachines"
REQUIRED = (
    f"{_VM}/read",
    f"{_VM}/instanceView/read",
    f"{_VM}/start/action",
    f"{_VM}/deallocate/action",
)
OPTIONAL = "Microsoft.Compute/locations/operations/read"


def azure_findings(table: Table, shared: Shared) -> list[Finding]:
    """Rights first, then the VM's own settings. Raises as `azure_provider` does."""
    settings = settings_in(AzureSettings, table)
    arm = arm_of(settings, shared)
    arm.batch.add(settings.id)
    found = [*_rights(arm.permissions(settings.id, CHECK_S)), _health(arm, settings.id)]
    vm = arm.vm(settings.id, CHECK_S)
    return found if isinstance(vm, Unreadable) else [*found, *_set_up(vm)]


def _rights(roles: Reading[list[Mapping[str, Any]]]) -> Iterator[Finding]:
    for right in (*REQUIRED, OPTIONAL):
        if isinstance(roles, Unreadable):
            yield Finding("unknown", right, f"could not be tried ({roles.why})")
        elif _allows(roles, right):
            yield Finding("ok", right, "allowed")
        elif right == OPTIONAL:
            yield Finding("lacking", right, "why a start came to nothing is not known")
        else:
            yield Finding("missing", right, "not allowed: add it")


def _allows(roles: Iterable[Mapping[str, Any]], right: str) -> bool:
    return any(_has(one, "actions", right) and not _has(one, "notActions", right) for one in roles)


def _has(role: Mapping[str, Any], name: str, right: str) -> bool:
    patterns = (str(one).lower() for one in role.get(name) or ())
    return any(fnmatch.fnmatchcase(right.lower(), pattern) for pattern in patterns)


def _health(arm: Arm, vm: str) -> Finding:
    what = "resource health"
    found = arm.annotation(vm, CHECK_S)
    if isinstance(found, Unreadable):
        return Finding("lacking", what, f"why it stopped is not known ({found.why})")
    return Finding("ok", what, "says why it stopped")


def _set_up(vm: Vm) -> Iterator[Finding]:
    """An end instead of a stop, and who else starts it."""
    properties = vm.get("properties") or {}
    policy = properties.get("evictionPolicy")
    if properties.get("priority") == "Spot" and policy != "Deallocate":
        text = f"{policy or 'not set'}: must be Deallocate, or the VM is deleted when it is evicted"
        yield Finding("missing", "eviction policy", text)
    if properties.get("virtualMachineScaleSet"):
        text = "the VM is part of one: it must not replace or restore what is deallocated"
        yield Finding("competing", "scale set", text)
