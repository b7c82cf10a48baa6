"""One EC2 instance behind the contract."""

from collections.abc import Callable
from typing import Any

from spoteval.clock import Now
from spoteval.machine.metadata import ADDRESS, Metadata
from spoteval.provider.aws.client import Ec2
from spoteval.provider.aws.errors import reply_of
from spoteval.provider.aws.keys import file_keys, role_keys
from spoteval.provider.aws.settings import AwsSettings
from spoteval.provider.aws.states import Described, observed
from spoteval.provider.configured import configured
from spoteval.provider.contract import Observation, Price, Reply
from spoteval.provider.shared import Shared
from spoteval.settings.access_keys import AccessKeys, parse_keys
from spoteval.settings.keys import settings_in
from spoteval.shape import Reading, ShapeError, Table, Unreadable

_PRODUCTS = ("Linux/UNIX", "Linux/UNIX (Amazon VPC)")


class AwsProvider:
    """EC2 describes all instances of its region in one look; a start or stop is one request."""

    def __init__(
        self, name: str, settings: AwsSettings, ec2: Ec2, clock: Callable[[], Now]
    ) -> None:
        self._name, self._settings, self._ec2, self._clock = name, settings, ec2, clock
        self._seen: Described | None = None
        ec2.batch.add(settings.id)

    @property
    def cancels(self) -> bool:
        """EC2 refuses to stop what is still pending (IncorrectInstanceState)."""
        return False

    def observe(self, deadline_s: float) -> Reading[Observation]:
        """As the last shared look has it."""
        found = self._ec2.batch.look(self._settings.id, deadline_s)
        if isinstance(found, Unreadable):
            return found
        self._seen = found
        return observed(found)

    def start(self, deadline_s: float) -> Reply:
        """StartInstances, once."""
        return self._call(
            lambda ec2: ec2.start_instances(InstanceIds=[self._settings.id]), deadline_s
        )

    def stop(self, deadline_s: float) -> Reply:
        """StopInstances, once."""
        return self._call(
            lambda ec2: ec2.stop_instances(InstanceIds=[self._settings.id]), deadline_s
        )

    def price(self, deadline_s: float) -> Reading[Price]:
        """The spot price in force in its zone, or what was typed."""
        if self._settings.price is not None:
            return configured(self._settings.price)
        seen = self._seen
        if seen is None:
            return Unreadable("price: the instance was not seen yet")
        if not seen.is_spot:
            return Unreadable(f"price: on demand, so set price in [instance.{self._name}]")
        rows = self._ec2.look(lambda ec2: _history(ec2, seen, self._clock()), deadline_s)
        return rows if isinstance(rows, Unreadable) else _newest(rows)

    def _call(self, ask: Callable[[Any], Any], deadline_s: float) -> Reply:
        answer = self._ec2.call(ask, deadline_s)
        self._ec2.batch.forget()
        if isinstance(answer, Unreadable):
            return Reply(ok=False, kind="unknown", detail=answer.why)
        if isinstance(answer, Exception):
            return reply_of(answer)
        return Reply(ok=True, kind="accepted")


def aws_provider(table: Table, shared: Shared) -> AwsProvider:
    """The provider of a table [instance.NAME]; raises ShapeError, or what `shared.secret` raises."""
    settings = settings_in(AwsSettings, table)
    return AwsProvider(
        table.place.rpartition(".")[2], settings, ec2_of(settings, shared), shared.clock
    )


def ec2_of(settings: AwsSettings, shared: Shared) -> Ec2:
    """The one client of a region and identity."""
    name = ("aws", settings.region, settings.identity, settings.endpoint_url, settings.metadata_url)
    return shared.one(name, lambda: _ec2(settings, shared))


def _ec2(settings: AwsSettings, shared: Shared) -> Ec2:
    if settings.identity == "instance":
        keys = role_keys(Metadata(settings.metadata_url or ADDRESS), shared.clock)
    else:
        _parsed(settings.identity, shared)  # a file that is wrong is said now
        keys = file_keys(lambda: _parsed(settings.identity, shared), shared.clock)
    return Ec2(settings.region, keys, settings.endpoint_url, shared.clock)


def _parsed(name: str, shared: Shared) -> AccessKeys:
    try:
        return parse_keys(shared.secret(name))
    except ValueError as error:
        raise ShapeError(f'credential "{name}": {error}') from error


def _history(ec2: Any, seen: Described, now: Now) -> list[dict[str, Any]]:
    """With a start of now EC2 answers what is in force now."""
    found = ec2.describe_spot_price_history(
        InstanceTypes=[seen.instance["InstanceType"]],
        ProductDescriptions=list(_PRODUCTS),
        AvailabilityZone=seen.instance["Placement"]["AvailabilityZone"],
        StartTime=now.wall,
        MaxResults=20,
    )
    return list(found["SpotPriceHistory"])


def _newest(rows: list[dict[str, Any]]) -> Reading[Price]:
    try:
        row = max(rows, key=lambda row: row["Timestamp"])
        return Price(float(row["SpotPrice"]), "USD", "hour", "spot", row["Timestamp"])
    except (ValueError, KeyError, TypeError):
        return Unreadable("price: EC2 names none for this type and zone")
