"""EC2's API for one region and identity: one attempt a call, and a hard end for each."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from spoteval import __version__
from spoteval.clock import Now, monotonic_s
from spoteval.provider.aws.errors import STALE, code_of, refusal
from spoteval.provider.aws.keys import Keys, session_with
from spoteval.provider.aws.states import Described
from spoteval.provider.batch import Batch
from spoteval.provider.within import Patience
from spoteval.shape import Reading, ShapeError, Unreadable

T = TypeVar("T")

MOST_IDS = 200
"""Values of one filter."""
_CONNECT_S, _READ_S = 5.0, 10.0
_FAILED = Exception
"""An answer that botocore cannot parse is none of its own errors, and a field that is missing a KeyError."""


class Ec2:
    """What the instances of one region and identity have in common."""

    def __init__(
        self, region: str, keys: Keys, endpoint_url: str | None, clock: Callable[[], Now]
    ) -> None:
        """Sends nothing. The client is made now: that takes longer than a look may, on a busy host."""
        self._keys = keys
        self._patience = Patience()
        self._client = _client(region, keys, endpoint_url)
        self.batch: Batch[Described] = Batch(self._look, clock)

    def look(self, ask: Callable[[Any], T], deadline_s: float) -> Reading[T]:
        """A question, once more with newer keys where the old ones are refused."""
        until_s = monotonic_s() + deadline_s

        def asked() -> Reading[T]:
            try:
                return self._tried(ask, until_s)
            except _FAILED as error:
                return refusal(error)

        return self._patience.within(deadline_s, asked)

    def call(self, ask: Callable[[Any], T], deadline_s: float) -> Reading[T | Exception]:
        """A start or stop: exactly one request, whatever comes of it; an error is returned."""

        def called() -> Reading[T | Exception]:
            try:
                return ask(self._client)
            except _FAILED as error:
                if code_of(error) in STALE:
                    self._keys.refused()
                return error

        return self._patience.within(deadline_s, called)

    def _tried(self, ask: Callable[[Any], T], until_s: float) -> T:
        try:
            return ask(self._client)
        except ClientError as error:
            if code_of(error) not in STALE or monotonic_s() >= until_s:
                raise
            self._keys.refused()
            return ask(self._client)

    def _look(
        self, ids: tuple[str, ...], deadline_s: float
    ) -> Reading[Mapping[str, Reading[Described]]]:
        found: dict[str, Reading[Described]] = {}
        until_s = monotonic_s() + deadline_s
        for first in range(0, len(ids), MOST_IDS):
            part = ids[first : first + MOST_IDS]
            answer = self.look(partial(_described, ids=part), until_s - monotonic_s())
            if isinstance(answer, Unreadable):
                return answer
            spot = [name for name, one in answer.items() if one.is_spot]
            requests = self._requests(spot, until_s - monotonic_s()) if spot else {}
            for name, one in answer.items():
                found[name] = Described(one.instance, requests.get(name))
        return found

    def _requests(self, ids: Sequence[str], left_s: float) -> Mapping[str, Mapping[str, Any]]:
        """The spot request of each. Without them the instances' own reasons must do: nothing else is lost."""
        answer = self.look(lambda client: dict(_requested(client, ids)), left_s)
        return {} if isinstance(answer, Unreadable) else answer


def _client(region: str, keys: Keys, endpoint_url: str | None) -> Any:
    """Raises ShapeError where none can be made of that."""
    config = Config(
        connect_timeout=_CONNECT_S,
        read_timeout=_READ_S,
        # With its default botocore sends a StartInstances that met a 500 three times.
        retries={"total_max_attempts": 1, "mode": "standard"},
        user_agent_extra=f"spoteval/{__version__}",
    )
    try:
        return session_with(keys).create_client(
            "ec2", region_name=region, endpoint_url=endpoint_url, config=config
        )
    except (BotoCoreError, ValueError) as error:
        raise ShapeError(
            f'region "{region}": no client can be made ({type(error).__name__})'
        ) from error


def _described(client: Any, ids: Sequence[str]) -> dict[str, Described]:
    """By a filter: of ids that are asked for by name, one that is gone makes the whole call fail."""
    wanted = [{"Name": "instance-id", "Values": list(ids)}]
    pages = client.get_paginator("describe_instances").paginate(Filters=wanted)
    return {
        one["InstanceId"]: Described(one)
        for page in pages
        for reservation in page["Reservations"]
        for one in reservation["Instances"]
    }


def _requested(client: Any, ids: Sequence[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The newest request of an instance is the one that counts; there is one at a time."""
    wanted = [{"Name": "instance-id", "Values": list(ids)}]
    answer = client.describe_spot_instance_requests(Filters=wanted)
    for one in answer["SpotInstanceRequests"]:
        if "InstanceId" in one:
            yield one["InstanceId"], one
