"""shutdown_hook: the run's containers are asked to be removed, by pattern, and only then is anything copied."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hook_world import GONE, WALL, Guest
from spoteval.clock import stamp
from spoteval.control.containers import filters_of, first_start
from spoteval.files import append_line, write_record
from spoteval.run import RunPlan, RunRecord

INSPECT = "label=com.docker.compose.project=inspect-*"


@pytest.fixture
def guest(tmp_path: Path) -> Guest:
    """A run of Inspect that this life of the machine started, on a host with Docker."""
    made = Guest(tmp_path, more='[run]\nharness = "inspect"\nsettlement = "fresh_budget"')
    frozen(made, RunPlan("inspect", "fresh_budget"))
    started(made, "5e55", 2)
    started(made, "5e55", 9)
    (tmp_path / "docker.sock").touch()
    return made


def frozen(guest: Guest, plan: RunPlan) -> None:
    """The run's record."""
    record = RunRecord("swe", "gpu-1", 1, datetime(2026, 12, 1, tzinfo=UTC), plan)
    write_record(guest.run.record, record.record())


def started(guest: Guest, session: str, minute: int) -> None:
    """An event of a start."""
    at = stamp(datetime(2026, 12, 1, 2, minute, tzinfo=UTC))
    event = {"at": at, "kind": "run-start", "source": "boot-resume", "instance": "gpu-1"}
    append_line(guest.run.events, {**event, "session": session})


def step(guest: Guest) -> tuple[bool, str]:
    """How the step went; it is there once."""
    (found,) = [item for item in guest.steps if item.name == "containers"]
    return found.ok, found.detail


def request(guest: Guest) -> dict[str, object]:
    """What was asked for."""
    body: dict[str, object] = json.loads(guest.host.remove_containers.read_text())
    return body


def test_the_harness_knows_its_own_and_the_run_may_say_others(guest: Guest) -> None:
    """Filters of the run take the place of the harness's."""
    plan = RunPlan("inspect", "fresh_budget", containers=("name=mine-*",))
    record = RunRecord("swe", "gpu-1", 1, datetime(2026, 12, 1, tzinfo=UTC), plan)
    assert filters_of(record) == ("name=mine-*",)
    frozen(guest, plan)
    guest.announce()
    guest.cycle(guest.hook())
    assert request(guest)["filters"] == ["name=mine-*"]


def test_they_are_removed_after_kill_and_before_copying(guest: Guest) -> None:
    """Whoever removes them removes the request; nothing is copied before."""
    seen: list[list[str]] = []

    def helper() -> None:
        if guest.host.remove_containers.exists():
            seen.append([item.name for item in guest.steps])
            assert request(guest)["filters"] == [INSPECT]
            assert request(guest)["by"] == "shutdown-hook"
            guest.host.remove_containers.unlink()

    guest.clock.meanwhile = helper
    guest.announce()
    guest.cycle(guest.hook())
    assert step(guest) == (True, "removed")
    (before,) = seen
    assert before[-1] == "kill"
    assert [item.name for item in guest.steps][len(before) :][:2] == ["containers", "salvage"]


def test_older_ones_are_none_of_the_runs(guest: Guest) -> None:
    """Since the first start of this life: not of an earlier one, not of a later start."""
    started(guest, "0ld", 1)
    guest.announce()
    guest.cycle(guest.hook())
    assert request(guest)["since"] == "2026-12-01T02:02:00.000Z"
    assert first_start([{"kind": "run-start", "session": "5e55"}], "5e55") is None


def test_a_life_that_started_no_run_asks_for_nothing(guest: Guest) -> None:
    """What runs in Docker is then somebody else's."""
    guest.run.events.unlink()
    guest.announce()
    guest.cycle(guest.hook())
    assert step(guest) == (True, "this life of the machine started no run")
    assert not guest.host.remove_containers.exists()


def test_without_docker_nobody_is_waited_for(guest: Guest) -> None:
    """Nor asked."""
    (guest.root / "docker.sock").unlink()
    guest.announce()
    guest.cycle(guest.hook())
    assert step(guest) == (True, "no Docker here")
    assert not guest.host.remove_containers.exists()


@pytest.mark.parametrize("harness", ["directory", "nobody-knows"])
def test_a_harness_without_containers_has_no_such_step(tmp_path: Path, harness: str) -> None:
    """Whether it starts none, or the record cannot be read."""
    made = Guest(tmp_path)
    if harness == "directory":
        frozen(made, RunPlan("directory", "fresh_budget"))
    (tmp_path / "docker.sock").touch()
    made.announce()
    made.cycle(made.hook())
    assert "containers" not in [item.name for item in made.steps]


@pytest.mark.parametrize(("in_s", "waited_s"), [(60.0, 3.5), (9.6, 0.5), (4.8, 0.0)])
def test_a_helper_that_does_not_come_costs_half_of_the_copying(
    guest: Guest, in_s: float, waited_s: float
) -> None:
    """Where nothing is copied, it is asked and not waited for. The rest of the plan goes on."""
    guest.announce(in_s)
    at: list[float] = []
    guest.clock.meanwhile = lambda: at.append(guest.clock.at_s)
    guest.units.scripts["spoteval-run.service"] = iter([frozenset([GONE])] * 10_000)
    guest.cycle(guest.hook())
    assert step(guest) == (False, "Failed: asked for, not removed in time")
    (killed,) = [n for n, item in enumerate(guest.steps) if item.name == "kill"]
    assert guest.steps[killed + 1].name == "containers"
    assert request(guest)["at"]
    assert guest.clock.at_s <= 1000 + in_s
    empty_s = {60.0: 25.0, 9.6: 3.5, 4.8: 1.5}[in_s]
    waits = [s for s in at if 1000 + empty_s < s < 1000 + empty_s + waited_s]
    assert bool(waits) == (waited_s > 0)
    assert guest.clock().wall >= WALL
