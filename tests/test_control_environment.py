"""control.environment: a change of what a run is measured on is a sentence; what is unknown is no change."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_model_server import settings
from guest_world import RECORD
from spoteval.control.environment import ACCEPTED, ENVIRONMENT, Standing, changes, standing
from spoteval.control.environment_facts import facts, harness_version
from spoteval.machine.gpu_names import Gpus
from spoteval.run import RunPlan
from spoteval.shape import Reading, Unreadable

OLD = {"gpu": "H200", "gpus": "8", "driver": "580.65", "model.policy": "qwen3"}
NEW = {**OLD, "gpu": "H100"}
CHANGE = "GPU changed H200 -> H100"


def seen(values: Mapping[str, str], *said: str, waits: bool = False, session: str = "s1") -> object:
    """One `environment` event."""
    detail = {"values": dict(values), "changes": list(said), "waits": waits}
    return {"kind": ENVIRONMENT, "session": session, "detail": detail}


def folded(*records: object) -> Standing:
    """What stands after these events."""
    return standing(RECORD, records)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (OLD, ()),
        (NEW, (CHANGE,)),
        ({**OLD, "gpus": "4"}, ("number of GPUs changed 8 -> 4",)),
        ({**OLD, "driver": "590.1"}, ("driver changed 580.65 -> 590.1",)),
        ({**OLD, "model.policy": "qwen4"}, ("model of policy changed qwen3 -> qwen4",)),
        ({**OLD, "model.judge": "j"}, ("model of judge changed none -> j",)),
        ({"gpu": "H200"}, ("model of policy changed qwen3 -> none",)),
        ({"model.policy": "qwen3"}, ()),
        ({**OLD, "server.policy": "vllm 0.13", "harness": "inspect 0.4"}, ()),
    ],
)
def test_changes_are_sentences(values: Mapping[str, str], said: tuple[str, ...]) -> None:
    """What was never known, or is not known now, is no change; a server that is gone is one."""
    assert changes(OLD, values) == said


def test_the_versions_of_server_and_harness_are_named() -> None:
    """By the server's name."""
    before = {"server.my.judge": "vllm 0.12", "harness": "inspect 0.3"}
    after = {"server.my.judge": "vllm 0.13", "harness": "inspect 0.4"}
    assert changes(before, after) == (
        "server my.judge changed vllm 0.12 -> vllm 0.13",
        "harness changed inspect 0.3 -> inspect 0.4",
    )


@given(st.dictionaries(st.sampled_from([*OLD, "server.x", "model.y"]), st.sampled_from("abc")))
def test_nothing_differs_from_itself(values: dict[str, str]) -> None:
    """And a first environment differs from nothing."""
    assert changes(values, values) == changes({}, values) == ()


def test_a_change_that_waits_is_not_in_force() -> None:
    """The next boot is held against what the run was measured on, not against what nobody accepted."""
    found = folded(seen(OLD), seen(NEW, CHANGE, waits=True, session="s2"))
    assert (found.in_force["gpu"], found.changes, found.boots) == ("H200", (CHANGE,), 2)
    back = folded(seen(OLD), seen(NEW, CHANGE, waits=True), seen(OLD))
    assert (back.in_force["gpu"], back.changes, back.disclosed) == ("H200", (), ())


def test_an_accepted_change_is_in_force_and_disclosed() -> None:
    """With the reason; accepting what does not wait changes nothing."""
    accepted = {"kind": ACCEPTED, "reason": "H200 sold out (ana)", "detail": {}}
    found = folded(seen(OLD), accepted, seen(NEW, CHANGE, waits=True), accepted, accepted)
    assert (found.in_force["gpu"], found.changes) == ("H100", ())
    assert found.disclosed == (f"{CHANGE}, accepted: H200 sold out (ana)",)


def test_an_exploratory_run_goes_on_and_discloses() -> None:
    """What it said is in force at once."""
    found = folded(seen(OLD), seen(NEW, CHANGE))
    assert (found.in_force["gpu"], found.changes, found.disclosed) == ("H100", (), (CHANGE,))


def test_an_unknown_in_between_hides_no_change() -> None:
    """The last known value stays in force."""
    blind = {name: value for name, value in OLD.items() if name != "gpu"}
    assert changes(folded(seen(OLD), seen(blind)).in_force, NEW) == (CHANGE,)


def test_a_model_that_left_is_forgotten_once_it_was_told() -> None:
    """Else it would be told at each boot."""
    less = {"gpu": "H200", "gpus": "8", "driver": "580.65", "model.other": "x"}
    found = folded(seen(OLD), seen(less, "…"))
    assert changes(found.in_force, less) == ()


def test_the_first_boot_is_held_against_the_frozen_harness() -> None:
    """Upgraded between `run new` and the first start: that is a change already."""
    run = replace(RECORD, versions={"directory": "1.0", "spoteval": "0.1"})
    assert standing(run, ()).in_force == {"harness": "directory 1.0"}
    assert standing(replace(RECORD, versions={"directory": "unknown"}), ()).in_force == {}


def test_damaged_events_are_passed_over() -> None:
    """A torn line costs itself."""
    odd: list[dict[str, object]] = [
        {"kind": ENVIRONMENT},
        {"kind": ENVIRONMENT, "detail": {"values": 3, "changes": 4}},
        {"kind": ENVIRONMENT, "detail": {"values": {"gpu": 5}}},
    ]
    assert folded(*odd, seen(OLD)).in_force == OLD


def plan(root: Path, harness: str = "inspect") -> RunPlan:
    """A harness in an environment of its own."""
    return RunPlan(harness, "fresh_budget", executable=str(root / "bin" / "inspect"))


def test_the_harness_is_known_without_running_it(tmp_path: Path) -> None:
    """By the records of the installed package beside its executable; else it is unknown."""
    packages = tmp_path / "lib/python3.11/site-packages"
    (packages / "inspect_ai-0.3.285.dist-info").mkdir(parents=True)
    (packages / "inspect_ai_extra-9.dist-info").mkdir()
    assert harness_version(plan(tmp_path)) == "0.3.285"
    assert harness_version(plan(tmp_path / "other")) is None
    assert harness_version(RunPlan("inspect", "fresh_budget", executable="inspect")) is None
    assert harness_version(plan(tmp_path, "directory")) is None


@pytest.mark.parametrize(
    ("look", "values", "unknown"),
    [
        (Gpus(8, "H200", "580"), {"gpu": "H200", "gpus": "8", "driver": "580"}, {}),
        (None, {"gpu": "none"}, {}),
        (Unreadable("nvidia-smi: exit 9"), {}, {"gpu": "nvidia-smi: exit 9"}),
    ],
)
def test_facts_of_the_machine(
    look: Reading[Gpus | None], values: dict[str, str], unknown: dict[str, str], tmp_path: Path
) -> None:
    """No GPU is a fact; a failure to ask is none. The models are those of the host file."""
    found, why = facts(plan(tmp_path), [settings(1)], lambda: look)
    assert found == {**values, "model.policy": "qwen3"}
    assert {name: text for name, text in why.items() if name != "harness"} == unknown
    assert "no installed package" in why["harness"]
