"""A VM that deallocates itself: one that is only powered off stays allocated, and billed.

Source: learn.microsoft.com/azure/virtual-machines/states-billing and …/instance-metadata-service.
"""

from collections.abc import Callable, Mapping

from spoteval.clock import read_now
from spoteval.machine.metadata import ADDRESS, Metadata
from spoteval.notice.clouds import AzureNoticeSettings
from spoteval.provider.azure.arm import VERSION
from spoteval.provider.azure.settings import is_vm_id
from spoteval.provider.azure.states import refusal, reply_of
from spoteval.provider.azure.tokens import host_tokens
from spoteval.provider.cloud_call import Caller
from spoteval.provider.contract import Reply
from spoteval.provider.http import Api, Request
from spoteval.settings.keys import settings_in
from spoteval.shape import Table, Unreadable

STOP_S, ASK_S = 15.0, 5.0
_ID = "/metadata/instance/compute/resourceId?api-version=2021-02-01&format=text"


def own_stop(table: Table, environ: Mapping[str, str]) -> Callable[[], Reply]:  # noqa: ARG001 - one signature
    """One deallocate of this VM by its own managed identity, each time it is called."""
    own = settings_in(AzureNoticeSettings, table)
    metadata = Metadata(own.metadata_url or ADDRESS)
    bearer = host_tokens(metadata, own.endpoint_url, own.client_id, read_now)
    caller = Caller(Api(own.endpoint_url), bearer, refusal)

    def stop() -> Reply:
        told = metadata.get(_ID, {"Metadata": "true"}, ASK_S)
        if isinstance(told, Unreadable):
            return Reply(ok=False, kind="unknown", detail=told.why)
        vm = told.text.strip()
        if told.status != 200 or not is_vm_id(vm):
            detail = f"metadata: no id of this machine (status {told.status})"
            return Reply(ok=False, kind="unknown", detail=detail)
        request = Request("POST", f"{vm}/deallocate", {"api-version": VERSION})
        return caller.call(request, reply_of, STOP_S)

    return stop
