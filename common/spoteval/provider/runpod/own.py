"""A pod that stops itself, by the key that Runpod puts into its environment.

Source: docs.runpod.io/pods/templates/environment-variables and …/pods/manage-pods.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from spoteval.notice.clouds import RunpodNoticeSettings
from spoteval.provider.contract import Reply
from spoteval.provider.http import Api
from spoteval.provider.runpod.pods import action_of
from spoteval.provider.runpod.states import reply_of
from spoteval.settings.keys import settings_in
from spoteval.shape import Table, Unreadable

POD, KEY = "RUNPOD_POD_ID", "RUNPOD_API_KEY"
STOP_S = 15.0


def own_stop(table: Table, environ: Mapping[str, str]) -> Callable[[], Reply]:
    """One stop of this pod, each time it is called."""
    api = Api(settings_in(RunpodNoticeSettings, table).endpoint_url)
    pod, key = environ.get(POD, ""), environ.get(KEY, "")

    def stop() -> Reply:
        if not pod or not key:
            return Reply(ok=False, kind="auth", detail=f"no {POD} and {KEY} here")
        answer = api.ask(replace(action_of(pod, "stop"), token=key), STOP_S)
        if isinstance(answer, Unreadable):
            return Reply(ok=False, kind="unknown", detail=answer.why)
        return reply_of(answer)

    return stop
