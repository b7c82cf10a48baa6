"""Provider `aws` against a fake EC2 under the policy of its page."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from cloud_machine import OnMachine, listening
from cloud_scenarios import Between, CloudScenarios, Forms, more
from fakes.aws import REGION, FakeEc2, FakeImds, error
from fakes.machine import GOOD, Machine, fails_later, refused
from fakes.policy import pasted_json
from fakes.server import Reply
from restarter_world import Clock, Host
from spoteval.provider.aws.provider import aws_provider
from spoteval.provider.contract import Finding, Observation
from spoteval.provider.open import check_provider
from spoteval.provider.shared import Shared
from spoteval.shape import Table

ID = "i-0123456789abcdef0"
OUTAGES = (
    Reply(503, "<html>away</html>"),
    Reply(200, "half a", then="half"),
    Reply(200, "", then="reset"),
    Reply(200, "<html>a captive portal</html>"),
    error("InternalError", 500),
)


def policy() -> dict[str, object]:
    """The page's, with the placeholders filled in."""
    found = pasted_json("aws", "Policy")
    assert isinstance(found, dict)
    return found


class AwsCloud(OnMachine):
    """One spot instance of a persistent request, in one region."""

    restarts_itself = True
    says_cause = True
    says_last_start = True

    def __init__(self, ec2: FakeEc2, imds: FakeImds, clock: Clock, machine: Machine) -> None:
        self.ec2, self.imds, self.clock, self.machine = ec2, imds, clock, machine
        self.shared = Shared(clock=clock)
        self.provider = Between(aws_provider(self.table, self.shared))

    @property
    def table(self) -> Table:
        """`[instance.gpu-1]`."""
        values = {
            "id": ID,
            "region": REGION,
            "endpoint_url": self.ec2.url,
            "metadata_url": self.imds.url,
        }
        return Table(values, "instance.gpu-1")

    def has_room(self) -> None:
        self.machine.start()

    def deletes(self) -> None:
        self.ec2.machines.clear()

    def throttles(self) -> None:
        self.ec2.goes_wrong(error("RequestLimitExceeded", 503))

    def lets_token_expire(self) -> None:
        self.ec2.key_id = self.imds.key_id = "AKIATWO"

    def denies(self) -> None:
        self.ec2.goes_wrong(error("UnauthorizedOperation", 403))

    def is_out(self, way: int) -> None:
        self.ec2.goes_wrong(OUTAGES[way % len(OUTAGES)])

    def recovers(self) -> None:
        self.ec2.recovers()

    def costs(self, amount: float | None) -> None:
        self.ec2.price = amount

    def starts(self) -> int:
        return self.ec2.starts()

    def findings(self) -> list[Finding]:
        """What `check` would say."""
        return list(check_provider("aws", self.table, Shared(clock=self.clock)))


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[AwsCloud]:
    """EC2 and the metadata service of the restarter host."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    clock = Clock()
    machine = Machine(clock)
    ec2, imds = FakeEc2({ID: machine}, policy()), FakeImds()
    with listening(ec2, imds):
        yield AwsCloud(ec2, imds, clock, machine)


class TestAws(CloudScenarios):
    """Provider `aws`."""

    CAPACITY: ClassVar[Forms] = {
        "InsufficientInstanceCapacity": refused("InsufficientInstanceCapacity", 500),
        "InsufficientHostCapacity": refused("InsufficientHostCapacity", 500),
        "InsufficientCapacity": refused("InsufficientCapacity", 500),
        "pending-then-stopped": fails_later("Server.InsufficientInstanceCapacity"),
        "internal-then-stopped": fails_later("Server.InternalError"),
    }
    QUOTA: ClassVar[Forms] = {
        code: refused(code)
        for code in ("VcpuLimitExceeded", "MaxSpotInstanceCountExceeded", "InstanceLimitExceeded")
    }


class TestAwsWithoutDetails(CloudScenarios):
    """The same without the optional rights: a price is typed then, and decisions are the same."""

    CAPACITY: ClassVar[Forms] = {"refused": refused("InsufficientInstanceCapacity", 500)}

    @pytest.fixture
    def cloud(self, cloud: AwsCloud) -> AwsCloud:
        cloud.ec2.policy = without(*OPTIONAL)
        day = {"currency": "USD", "per": "hour", "as_of": "2026-11-20"}

        def costs(amount: float | None) -> None:
            typed = {} if amount is None else {"price": {"amount": amount, **day}}
            table = Table({**cloud.table.values, **typed}, "instance.gpu-1")
            cloud.provider.inner = aws_provider(table, cloud.shared)

        cloud.costs = costs  # type: ignore[method-assign]
        return cloud


def test_a_hold_that_cannot_prevent_a_restart_says_so(cloud: AwsCloud, tmp_path: Path) -> None:
    """What EC2 has stopped it starts again, whoever holds it."""
    cloud.machine.runs(3600)
    cloud.costs(3.2)
    host = Host(tmp_path / "host")
    host.clock = cloud.clock
    host.world = replace(host.world, provider=cloud.provider, clock=cloud.clock)
    host.place("operator-1")
    says = "the provider may restart it all the same"
    assert more(host, 120) == ["held"]
    assert says not in host.paths.decisions.read_text()
    cloud.preempts()
    more(host, 3700)
    assert says in host.paths.decisions.read_text()
    assert cloud.starts() == 0


def verdicts(cloud: AwsCloud) -> dict[str, str]:
    """Verdict by right or setting."""
    return {finding.what: finding.verdict for finding in cloud.findings()}


REQUIRED = (
    "ec2:DescribeInstances",
    "ec2:DescribeSpotInstanceRequests",
    "ec2:StartInstances",
    "ec2:StopInstances",
)
OPTIONAL = ("ec2:DescribeSpotPriceHistory", "ec2:DescribeInstanceAttribute")


def without(*rights: str) -> dict[str, object]:
    """The page's policy, less these rights."""
    found = policy()
    statements = found["Statement"]
    assert isinstance(statements, list)
    for right in rights:
        assert sum(right in one["Action"] for one in statements) == 1
    for one in statements:
        one["Action"] = [action for action in one["Action"] if action not in rights]
    return found


def test_the_pasted_policy_is_enough_and_nothing_more(cloud: AwsCloud) -> None:
    """Every right of it is used, and none is missing."""
    found = verdicts(cloud)
    assert "missing" not in found.values()
    assert "lacking" not in found.values()
    actions = {one for part in policy()["Statement"] for one in part["Action"]}  # type: ignore[attr-defined]
    assert actions == {*REQUIRED, *OPTIONAL}


@pytest.mark.parametrize("right", REQUIRED)
def test_a_missing_right_is_named(cloud: AwsCloud, right: str) -> None:
    """By its own name."""
    cloud.ec2.policy = without(right)
    assert verdicts(cloud)[right] == "missing"


@pytest.mark.parametrize("right", OPTIONAL)
def test_an_optional_right_is_said_to_lack(cloud: AwsCloud, right: str) -> None:
    """And is no reason not to go on."""
    cloud.ec2.policy = without(right)
    found = verdicts(cloud)
    assert "missing" not in found.values()
    assert "lacking" in found.values()


def test_check_refuses_what_would_end_the_instance(cloud: AwsCloud) -> None:
    """A poweroff or an interruption that terminates, a request that cannot be stopped."""
    cloud.ec2.shutdown = "terminate"
    assert verdicts(cloud)["shutdown behaviour"] == "missing"
    cloud.ec2.shutdown, cloud.ec2.on_interruption = "stop", "terminate"
    assert verdicts(cloud)["spot request"] == "missing"
    cloud.ec2.on_interruption, cloud.ec2.kind = "stop", "one-time"
    assert verdicts(cloud)["spot request"] == "missing"


def test_complaint_22_check_names_who_else_restarts_it(cloud: AwsCloud) -> None:
    """EC2 itself, and an auto scaling group."""
    cloud.ec2.tags = [{"key": "aws:autoscaling:groupName", "value": "evals"}]
    found = verdicts(cloud)
    assert (found["spot request"], found["auto scaling group"]) == ("competing", "competing")


def test_complaint_17_one_look_for_all_instances_of_a_region(cloud: AwsCloud) -> None:
    """However many there are: one DescribeInstances and one for their requests; none while EC2 wants fewer."""
    table = Table({**cloud.table.values, "id": "i-2"}, "instance.gpu-2")
    cloud.ec2.machines["i-2"] = Machine(cloud.clock)
    other = aws_provider(table, cloud.shared)
    for provider in (cloud.provider, other, cloud.provider, other):
        assert isinstance(provider.observe(5), Observation)
    assert len(cloud.ec2.asked) == 2
    cloud.throttles()
    cloud.clock.seconds += 10
    for _ in range(10):
        assert getattr(other.observe(5), "kind", None) == "rate"
        cloud.clock.seconds += 1
    assert len(cloud.ec2.asked) == 3


def test_a_cancelled_request_can_never_be_started_again(cloud: AwsCloud) -> None:
    """It can only be terminated."""
    cloud.machine.weather.starts = [GOOD]
    cloud.ec2.cancelled = True
    seen = cloud.provider.observe(5)
    assert getattr(seen, "state", None) == "UNRESTARTABLE"
