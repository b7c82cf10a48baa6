"""Google's public catalogue of prices, read at most once a day for each region: it has tens of thousands of rows."""

from collections.abc import Callable

from spoteval.clock import Now, monotonic_s
from spoteval.provider.cloud_call import Caller
from spoteval.provider.contract import unanswered
from spoteval.provider.gcp.prices import Row, own_rows
from spoteval.provider.gcp.states import refusal
from spoteval.provider.http import Api, Request
from spoteval.provider.token import Bearer
from spoteval.shape import Reading, Unreadable

GOOD_FOR_S, AGAIN_S = 86_400.0, 600.0
"""Spot prices change once a day at most; what failed is not asked for at each poll."""
MOST_PAGES = 20
_SKUS = "/v1/services/6F81-5844-456A/skus"


class Catalog:
    """The rows of one region."""

    def __init__(
        self, api: Api, bearer: Bearer[str], region: str, clock: Callable[[], Now]
    ) -> None:
        self._caller = Caller(api, bearer, refusal)
        self._region, self._clock = region, clock
        self._found: Reading[list[Row]] = Unreadable("price: not read yet")
        self._until_s = 0.0

    def rows(self, deadline_s: float) -> Reading[list[Row]]:
        """Those of today, or why there are none."""
        now_s = self._clock().mono_s
        if now_s >= self._until_s:
            self._found = self._read(deadline_s)
            is_bad = isinstance(self._found, Unreadable)
            self._until_s = now_s + (AGAIN_S if is_bad else GOOD_FOR_S)
        return self._found

    def _read(self, deadline_s: float) -> Reading[list[Row]]:
        until_s = monotonic_s() + deadline_s
        found: list[Row] = []
        query = {"currencyCode": "USD", "pageSize": "5000"}
        for _ in range(MOST_PAGES):
            answer = self._caller.look(Request("GET", _SKUS, query), until_s - monotonic_s())
            if isinstance(answer, Unreadable):
                return answer
            body = answer.body if isinstance(answer.body, dict) else {}
            rows = body.get("skus")
            if not isinstance(rows, list):
                return unanswered("unknown", "no list of prices")
            found += own_rows((one for one in rows if isinstance(one, dict)), self._region)
            token = body.get("nextPageToken")
            if not isinstance(token, str) or not token:
                return found
            query = query | {"pageToken": token}
        return unanswered("unknown", f"more than {MOST_PAGES} pages of prices")
