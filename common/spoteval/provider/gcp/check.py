"""What `check` asks Compute Engine: rights on the VM by its own test, and settings that would make a stop an end."""

from collections.abc import Iterator

from spoteval.provider.contract import Finding
from spoteval.provider.gcp.provider import zone_of
from spoteval.provider.gcp.settings import GcpSettings
from spoteval.provider.gcp.zone import Vm, Zone
from spoteval.provider.shared import Shared
from spoteval.settings.keys import settings_in
from spoteval.shape import Table, Unreadable

CHECK_S = 15.0
REQUIRED = ("compute.instances.get", "compute.instances.start", "compute.instances.stop")
LISTS = (
    (
        "instances",
        "compute.instances.list",
        "each VM of the zone is looked at by a call of its own",
    ),
    ("operations", "compute.zoneOperations.list", "why it stopped is not known"),
)
_GROUP = "created-by"


def gcp_findings(table: Table, shared: Shared) -> list[Finding]:
    """Rights first, then the VM's own settings. Raises as `gcp_provider` does."""
    settings = settings_in(GcpSettings, table)
    zone = zone_of(settings, shared)
    zone.batch.add(settings.id)
    found = [*_rights(zone, settings.id), *(_listing(zone, *one) for one in LISTS)]
    vm = zone.batch.look(settings.id, CHECK_S)
    return found if isinstance(vm, Unreadable) else [*found, _machine(zone, vm), *_set_up(vm)]


def _rights(zone: Zone, name: str) -> Iterator[Finding]:
    allowed = zone.allowed(name, list(REQUIRED), CHECK_S)
    for right in REQUIRED:
        if isinstance(allowed, Unreadable):
            yield Finding("unknown", right, f"could not be tried ({allowed.why})")
        elif right in allowed:
            yield Finding("ok", right, "allowed")
        else:
            yield Finding("missing", right, "not allowed: add it")


def _listing(zone: Zone, what: str, right: str, loss: str) -> Finding:
    may = zone.may_list(what, CHECK_S)
    if isinstance(may, Unreadable):
        return Finding("unknown", right, f"could not be tried ({may.why})")
    return Finding("ok", right, "allowed") if may else Finding("lacking", right, loss)


def _machine(zone: Zone, vm: Vm) -> Finding:
    right = "compute.machineTypes.get"
    found = zone.machine_type(vm, CHECK_S)
    if isinstance(found, Unreadable):
        text = f"what it costs by Google's catalogue is not known ({found.why}): set price"
        return Finding("lacking", right, text)
    return Finding("ok", right, "allowed")


def _set_up(vm: Vm) -> Iterator[Finding]:
    """An end instead of a stop, and who else starts it."""
    scheduling = vm.get("scheduling") or {}
    action = scheduling.get("instanceTerminationAction")
    if scheduling.get("provisioningModel") == "SPOT" and action != "STOP":
        text = f"{action or 'not set'}: must be STOP, or the VM is deleted when it is taken"
        yield Finding("missing", "termination action", text)
    items = (vm.get("metadata") or {}).get("items") or ()
    group = [str(one.get("value")) for one in items if one.get("key") == _GROUP]
    if group:
        text = "a managed instance group replaces what is stopped: take the VM out of it"
        yield Finding("competing", "instance group", text)
