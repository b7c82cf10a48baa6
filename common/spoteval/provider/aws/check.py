"""What `check` asks EC2: each right by a dry run, and settings that would make a stop an end."""

from collections.abc import Callable, Iterator
from typing import Any

from spoteval.provider.aws.client import Ec2
from spoteval.provider.aws.errors import DRY_RUN, code_of
from spoteval.provider.aws.provider import ec2_of
from spoteval.provider.aws.settings import AwsSettings
from spoteval.provider.aws.states import Described
from spoteval.provider.contract import Finding
from spoteval.provider.shared import Shared
from spoteval.settings.keys import settings_in
from spoteval.shape import Table, Unreadable

CHECK_S = 15.0
_GROUP = "aws:autoscaling:groupName"
Ask = Callable[[Any], Any]


def aws_findings(table: Table, shared: Shared) -> list[Finding]:
    """Rights first, then what the instance and its spot request are set to. Raises as `aws_provider` does."""
    settings = settings_in(AwsSettings, table)
    ec2 = ec2_of(settings, shared)
    ec2.batch.add(settings.id)
    found = [_right(ec2, *one) for one in _rights(settings.id)]
    seen = ec2.batch.look(settings.id, CHECK_S)
    if not isinstance(seen, Unreadable):
        found += _set_up(seen)
    found += _behaviour(ec2, settings.id)
    return found


def _rights(name: str) -> Iterator[tuple[str, str, Ask]]:
    """Right, what is lost without it (empty: it is required), and the call that needs it."""
    yield "ec2:DescribeInstances", "", lambda ec2: ec2.describe_instances(DryRun=True)
    requests = lambda ec2: ec2.describe_spot_instance_requests(DryRun=True)  # noqa: E731
    yield "ec2:DescribeSpotInstanceRequests", "", requests
    yield "ec2:StartInstances", "", lambda ec2: ec2.start_instances(InstanceIds=[name], DryRun=True)
    yield "ec2:StopInstances", "", lambda ec2: ec2.stop_instances(InstanceIds=[name], DryRun=True)
    price = "no price is read; set price in its table"
    history = lambda ec2: ec2.describe_spot_price_history(DryRun=True)  # noqa: E731
    yield "ec2:DescribeSpotPriceHistory", price, history


def _right(ec2: Ec2, right: str, loss: str, ask: Ask) -> Finding:
    """A dry run answers with an error either way: which one is the answer."""
    answer = ec2.call(ask, CHECK_S)
    code = code_of(answer) if isinstance(answer, Exception) else ""
    if code == DRY_RUN:
        return Finding("ok", right, "allowed")
    if code in ("UnauthorizedOperation", "AccessDenied"):
        return Finding("lacking" if loss else "missing", right, loss or "not allowed: add it")
    why = answer.why if isinstance(answer, Unreadable) else code or type(answer).__name__
    return Finding("unknown", right, f"could not be tried ({why})")


def _set_up(seen: Described) -> Iterator[Finding]:
    """What else moves this instance, and what would end it."""
    group = [one["Value"] for one in seen.instance.get("Tags", []) if one["Key"] == _GROUP]
    if group:
        text = f"{group[0]} replaces what is stopped: take the instance out of it"
        yield Finding("competing", "auto scaling group", text)
    request = seen.request
    if request is None:
        return
    if request.get("Type") != "persistent":
        yield Finding("missing", "spot request", "one-time: EC2 refuses to stop such an instance")
    elif request.get("InstanceInterruptionBehavior") != "stop":
        behaviour = request.get("InstanceInterruptionBehavior")
        text = f"on interruption: {behaviour}; must be stop, or the instance is lost"
        yield Finding("missing", "spot request", text)
    else:
        text = "persistent: after its own stop only EC2 restarts it, also under a hold of the restarter"
        yield Finding("competing", "spot request", text)


def _behaviour(ec2: Ec2, name: str) -> Iterator[Finding]:
    """A guest's poweroff must stop it. Reading that is one more right, and optional."""
    what = "shutdown behaviour"
    attribute = "instanceInitiatedShutdownBehavior"
    ask = lambda ec2: ec2.describe_instance_attribute(InstanceId=name, Attribute=attribute)  # noqa: E731
    answer = ec2.look(ask, CHECK_S)
    if isinstance(answer, Unreadable):
        text = "not known (ec2:DescribeInstanceAttribute): must be stop, or a poweroff ends it"
        yield Finding("lacking", what, text)
        return
    value = answer["InstanceInitiatedShutdownBehavior"].get("Value", "stop")
    if value == "stop":
        yield Finding("ok", what, "stop")
    else:
        yield Finding(
            "missing", what, f"{value}: a poweroff of the guest would end it; must be stop"
        )
