"""A guest that asks its provider to stop it before it powers off, where an off machine is billed."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from fakes.azure import FakeArm, FakeAzureMetadata, error
from fakes.machine import Machine
from fakes.policy import pasted_json
from fakes.server import Reply
from restarter_world import Clock
from spoteval.cli.stop_self import stop_self
from spoteval.control.poweroff import PowerOff
from spoteval.machine.process import Child
from spoteval.provider.own import own_stop
from spoteval.shape import Reading, Table, Unreadable

DEALLOCATE = set(pasted_json("azure", "The guest's own role")["Actions"])


class Process:
    """A child that ends when it is told to."""

    def __init__(self) -> None:
        self.code: int | None = None

    def poll(self) -> int | None:
        return self.code


def asked(path: Path, provider: str, child: object) -> tuple[PowerOff, list[Sequence[str]]]:
    """What ends the machine, and the verbs that it began."""
    begun: list[Sequence[str]] = []

    def begin(verb: Sequence[str]) -> Reading[Child]:
        begun.append(verb)
        return child  # type: ignore[return-value]  # a stand-in for both

    return PowerOff(provider, path, begin), begun


@pytest.mark.parametrize("provider", ["aws", "gcp", "nebius", "local", "command", "runpod"])
def test_elsewhere_power_off_is_asked_for_at_once(tmp_path: Path, provider: str) -> None:
    """No child, no wait. In a pod the supervisor asks the provider, when all has ended."""
    power, begun = asked(tmp_path / "poweroff", provider, Process())
    power.ask("idle")
    assert (begun, (tmp_path / "poweroff").read_text().strip()) == ([], "idle")


def test_on_azure_a_child_asks_first_and_powers_off(tmp_path: Path) -> None:
    """Begun once, however often it is wanted; one that has ended without is made up for."""
    path, child = tmp_path / "poweroff", Process()
    power, begun = asked(path, "azure", child)
    for _ in range(3):
        power.ask("idle")
    assert (begun, path.exists()) == ([["stop-self", "idle"]], False)
    child.code = 1
    power.ask("idle")
    assert path.exists()


def test_a_child_that_cannot_be_begun_delays_nothing(tmp_path: Path) -> None:
    """A full process table keeps no machine on."""
    power, _ = asked(tmp_path / "poweroff", "azure", Unreadable("no more processes"))
    power.ask("idle")
    assert (tmp_path / "poweroff").exists()


@pytest.mark.parametrize(
    ("actions", "answer", "kind"),
    [
        (DEALLOCATE, None, "accepted"),
        (set(), None, "auth"),
        (DEALLOCATE, error(500, "InternalServerError"), "unknown"),
        (DEALLOCATE, Reply(200, "", then="reset"), "unknown"),
    ],
)
def test_an_azure_vm_deallocates_itself(actions: set[str], answer: Reply | None, kind: str) -> None:
    """One request with its own identity, for itself alone."""
    machine = Machine(Clock())
    machine.runs()
    arm, metadata = FakeArm({"gpu-1": machine}, actions), FakeAzureMetadata()
    if answer is not None:
        arm.goes_wrong(answer)
    with ExitStack() as stack:
        stack.enter_context(arm.listening())
        stack.enter_context(metadata.listening())
        table = Table({"endpoint_url": arm.url, "metadata_url": metadata.url}, "provider")
        stop = own_stop("azure", table, {})
        assert stop is not None
        assert stop().kind == kind
        assert arm.count("POST", "/deallocate") == 1
        assert machine.state == ("STOPPING" if kind == "accepted" else "RUNNING")
        metadata.goes_wrong(Reply(404))
        assert not stop().ok


@pytest.mark.parametrize("answers", [True, False])
def test_the_verb_powers_off_whatever_the_answer(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    answers: bool,
) -> None:
    """Without one it says that the machine is still billed."""
    machine = Machine(Clock())
    machine.runs()
    arm, metadata = (
        FakeArm({"gpu-1": machine}, DEALLOCATE if answers else set()),
        FakeAzureMetadata(),
    )
    with ExitStack() as stack:
        stack.enter_context(arm.listening())
        stack.enter_context(metadata.listening())
        own = f'kind = "azure"\nendpoint_url = "{arm.url}"\nmetadata_url = "{metadata.url}"'
        path = tmp_path / "config.toml"
        path.write_text(
            f'[host]\nrole = "guest"\ninstance = "gpu-1"\n[disk]\npath = "{tmp_path}/durable"\n'
            f'identity = "sentinel"\n[provider]\n{own}\n[store]\nurl = "file://{tmp_path}/store"\n'
        )
        monkeypatch.setenv("SPOTEVAL_CONFIG", str(path))
        monkeypatch.setenv("SPOTEVAL_RUN_DIRECTORY", str(tmp_path / "run"))
        (tmp_path / "run").mkdir()
        stop_self.main(["idle", "--json"], standalone_mode=False)
    assert (tmp_path / "run" / "poweroff").read_text().strip() == "idle"
    assert ("billed until" in capfd.readouterr().err) is not answers
    assert arm.count("POST", "/deallocate") == 1
