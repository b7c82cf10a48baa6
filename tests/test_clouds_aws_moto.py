"""Provider `aws` against moto's EC2: the wire format of somebody else's making, on the way where all goes well."""

import os
from collections.abc import Iterator
from typing import Any

import botocore.session
import pytest

from s3_server import free_port, program, running, wait_for
from spoteval.provider.aws.provider import aws_provider
from spoteval.provider.contract import Observation, Price, Unanswered
from spoteval.provider.shared import Shared
from spoteval.shape import Table

pytestmark = pytest.mark.runs("moto is a server of its own")
KEY = "[default]\naws_access_key_id = anybody\naws_secret_access_key = anything\n"
REGION = "eu-west-1"


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """moto, without users."""
    url, log = f"http://127.0.0.1:{(port := free_port())}", tmp_path_factory.mktemp("m") / "log"
    with running([program("moto_server"), "-H", "127.0.0.1", "-p", str(port)], log, os.environ):
        wait_for(f"{url}/moto-api/data.json", log)
        yield url


def provider(endpoint: str, instance_id: str) -> Any:
    """Of an instance there, with keys from a file."""
    values = {"id": instance_id, "region": REGION, "identity": "ec2", "endpoint_url": endpoint}
    return aws_provider(Table(values, "instance.gpu-1"), Shared(lambda _: KEY))


def test_a_life_on_the_wire(endpoint: str) -> None:
    """Run, seen with its addresses; stopped by a call, with its reason; started; priced."""
    ec2: Any = botocore.session.get_session().create_client(
        "ec2",
        region_name=REGION,
        endpoint_url=endpoint,
        aws_access_key_id="anybody",
        aws_secret_access_key="anything",
    )
    made = ec2.run_instances(
        ImageId="ami-12c6146b",
        InstanceType="t3.micro",
        MinCount=1,
        MaxCount=1,
        InstanceMarketOptions={"MarketType": "spot"},
    )
    one = provider(endpoint, made["Instances"][0]["InstanceId"])
    seen = one.observe(20)
    assert isinstance(seen, Observation)
    assert (seen.state, seen.billed, len(seen.addresses)) == ("RUNNING", True, 2)
    assert seen.last_start is not None
    assert one.stop(20).ok
    seen = one.observe(20)
    assert (seen.state, seen.cause, seen.auto_restart) == ("STOPPED", "user", False)
    assert seen.evidence == "Client.UserInitiatedShutdown"
    assert one.start(20).ok
    assert one.observe(20).state == "RUNNING"
    assert isinstance(one.price(20), Price)


def test_an_instance_that_is_not_there_is_gone(endpoint: str) -> None:
    """Absent from the list, and refused by name."""
    one = provider(endpoint, "i-0123456789abcdef0")
    seen = one.observe(20)
    assert isinstance(seen, Unanswered)
    assert (seen.kind, one.start(20).kind) == ("gone", "gone")
