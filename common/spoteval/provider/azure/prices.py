"""What a Spot VM of a size costs an hour in a region, from Azure's retail prices: no identity is shown.

Source: learn.microsoft.com/rest/api/cost-management/retail-prices/azure-retail-prices and
learn.microsoft.com/azure/virtual-machines/spot-vms (names of Spot rows).
"""

from collections.abc import Iterable, Mapping
from typing import Any

from spoteval.clock import Now, monotonic_s, parse_stamp
from spoteval.provider.contract import Price
from spoteval.provider.http import Api, Request
from spoteval.shape import Reading, Unreadable

_MOST_PAGES = 5


def retail_price(
    api: Api, size: str, region: str, now: Now, deadline_s: float, *, spot: bool
) -> Reading[Price]:
    """The row of this size for Linux; Unreadable where there is not exactly one price."""
    until_s = monotonic_s() + deadline_s
    wanted = (
        "serviceName eq 'Virtual Machines' and priceType eq 'Consumption'"
        f" and armRegionName eq '{region}' and armSkuName eq '{size}'"
    )
    request: Request = Request("GET", "/api/retail/prices", {"$filter": wanted})
    rows: list[Mapping[str, Any]] = []
    for _ in range(_MOST_PAGES):
        answer = api.ask(request, until_s - monotonic_s())
        if isinstance(answer, Unreadable):
            return answer
        body = answer.body if answer.ok and isinstance(answer.body, dict) else {}
        rows += (one for one in body.get("Items") or () if isinstance(one, dict))
        more = body.get("NextPageLink")
        if not isinstance(more, str) or not more:
            break
        request = Request("GET", more)
    return _price(_own(rows, spot=spot), now, spot=spot)


def _own(rows: Iterable[Mapping[str, Any]], *, spot: bool) -> list[Mapping[str, Any]]:
    found = []
    for row in rows:
        name = f"{row.get('skuName')} {row.get('meterName')}"
        foreign = "Windows" in str(row.get("productName")) or "Low Priority" in name
        if not foreign and ("Spot" in name) is spot and row.get("unitOfMeasure") == "1 Hour":
            found.append(row)
    return found


def _price(rows: list[Mapping[str, Any]], now: Now, *, spot: bool) -> Reading[Price]:
    try:
        amounts = {(float(row["retailPrice"]), str(row["currencyCode"])) for row in rows}
        ((amount, currency),) = amounts
        since = max(parse_stamp(str(row["effectiveStartDate"])) for row in rows)
    except (KeyError, ValueError, TypeError):
        return Unreadable("price: Azure names not exactly one for this size and region")
    return Price(amount, currency, "hour", "spot" if spot else "list", min(since, now.wall))
