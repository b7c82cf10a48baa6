"""What `[instance.NAME]` says of an Azure VM."""

import re
from dataclasses import dataclass, field

from spoteval.provider.configured import DATED_RATE
from spoteval.settings.keys import Kind, key
from spoteval.settings.kinds import TEXT, same
from spoteval.settings.money import Money
from spoteval.shape import Table

_VM = re.compile(
    r"/subscriptions/[0-9a-fA-F-]{36}/resourceGroups/[\w().-]{1,90}"
    r"/providers/Microsoft\.Compute/virtualMachines/[\w.-]{1,80}"
)
_ALLOWED = "/subscriptions/…/resourceGroups/…/providers/Microsoft.Compute/virtualMachines/…"


def _vm_id(table: Table, name: str) -> str:
    value = table.text(name)
    if not is_vm_id(value):
        raise table.error(name, f"the VM's whole resource id, {_ALLOWED} (az vm show --query id)")
    return value


def is_vm_id(text: str) -> bool:
    """Whether it is a VM's whole resource id."""
    return _VM.fullmatch(text) is not None


VM_ID = Kind(_vm_id, same, {"type": "string", "pattern": f"^{_VM.pattern}$"}, "resource id")


@dataclass(frozen=True, slots=True)
class AzureSettings:
    """The VM, who asks, and what differs from the public cloud."""

    id: str = field(metadata=key(VM_ID, f"`{_ALLOWED}`"))
    identity: str = field(
        default="instance",
        metadata=key(
            TEXT, "`instance` (this host's managed identity), or a file with a client's secret"
        ),
    )
    client_id: str | None = field(
        default=None, metadata=key(TEXT, "of a managed identity that the user assigned")
    )
    price: Money | None = field(
        default=None, metadata=key(DATED_RATE, "in the place of Azure's retail price")
    )
    endpoint_url: str = field(
        default="https://management.azure.com",
        metadata=key(TEXT, "of Resource Manager, in another cloud than the public one"),
    )
    login_url: str = field(
        default="https://login.microsoftonline.com", metadata=key(TEXT, "where a client logs in")
    )
    prices_url: str = field(
        default="https://prices.azure.com", metadata=key(TEXT, "of the retail prices")
    )
    metadata_url: str | None = field(
        default=None, metadata=key(TEXT, "of the host's metadata service, for tests")
    )
