"""`spoteval run accept-environment`, what boot-resume asks of the machine, and `server weights`."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from cli_hosts import Typed, typed
from guest_world import AT, PLAN, RECORD, RUN, Guest, guest
from spoteval.control.environment import ENVIRONMENT
from spoteval.control.eventlog import log_event
from spoteval.event import Event
from spoteval.files import read_lines

CHANGE = "GPU changed H200 -> H100"
OLD, NEW = {"gpu": "H200"}, {"gpu": "H100"}
SERVER = '[[server]]\nunit = "vllm.service"\nmodel = "qwen3"\nweights = "{}"\n'


@pytest.fixture
def made(tmp_path: Path) -> Guest:
    """A guest with an active scored run and one server, whose weights lie below it."""
    found = guest(tmp_path, SERVER.format(tmp_path / "weights"))
    found.activate(replace(RECORD, plan=replace(PLAN, label="scored")))
    return found


def type_on(made: Guest, *words: str) -> Typed:
    """Type `spoteval WORDS` on the guest."""
    return typed(words, made.environment)


def saw(made: Guest, values: dict[str, str], *changes: str) -> None:
    """boot-resume put an environment on record; with changes it waits."""
    detail = {"values": values, "changes": list(changes), "waits": bool(changes)}
    event = Event(AT, ENVIRONMENT, "boot-resume", "gpu-1", "s1", detail=detail)
    log_event(made.run.events, event)


def test_accepting_is_an_event_with_its_reason(made: Guest) -> None:
    """And says what goes on; a second time there is nothing to accept."""
    saw(made, OLD)
    saw(made, NEW, CHANGE)
    done = type_on(made, "run", "accept-environment", "--reason", "H200 sold out")
    assert (done.code, done.lines[0]) == (0, f"{RUN}: {CHANGE}: accepted")
    last = read_lines(made.run.events).records[-1]
    assert (last["kind"], last["source"]) == ("environment-accepted", "operator")
    assert str(last["reason"]).startswith("H200 sold out (")
    assert last["detail"] == {"run": RUN, "changes": [CHANGE]}
    again = type_on(made, "run", "accept-environment", "--reason", "x")
    assert (again.code, again.err) == (
        3,
        f"run accept-environment: {RUN}: no change waits to be accepted (spoteval status)\n",
    )


def test_a_reason_must_be_given(made: Guest) -> None:
    """It is disclosed."""
    assert type_on(made, "run", "accept-environment").code == 2


def test_run_show_says_whether_the_environment_was_the_same(made: Guest) -> None:
    """Nothing before the first boot; then the same, a change that waits, and who accepted it."""
    assert "environment" not in type_on(made, "run", "show").out
    saw(made, OLD)
    line = "environment  GPU, driver, server, harness, model: the same over 1 boot"
    assert line in type_on(made, "run", "show").lines
    saw(made, NEW, CHANGE)
    assert f"environment  {CHANGE}: waits for a person" in type_on(made, "run", "show").lines
    type_on(made, "run", "accept-environment", "--reason", "sold out", "--json")
    assert f"environment  {CHANGE}, accepted: sold out (" in type_on(made, "run", "show").out
    shown = type_on(made, "run", "show", "--json").record["environment"]
    assert (shown["in_force"], shown["waiting"]) == (NEW, [])


@pytest.mark.runs("asks nvidia-smi")
def test_what_the_machine_is_is_an_object(made: Guest) -> None:
    """For boot-resume; a harness that is not installed beside its executable is unknown."""
    found = type_on(made, "run", "environment", "--json").record
    assert found["values"]["model.policy"] == "qwen3"
    assert "harness" in found["unknown"]
    assert "unknown: no installed package" in type_on(made, "run", "environment").out


def test_weights_are_held_against_their_sums(made: Guest) -> None:
    """None listed, as listed, not as listed; what is known is not read again."""
    folder = made.root / "weights"
    folder.mkdir()
    none = type_on(made, "server", "weights", "policy")
    assert (none.code, none.out) == (
        0,
        f"policy: there is no {folder}/SHA256SUMS: nothing is verified\n",
    )
    (folder / "a").write_bytes(b"abc")
    (folder / "SHA256SUMS").write_text(f"{hashlib.sha256(b'abc').hexdigest()}  a\n")
    first = type_on(made, "server", "weights", "policy", "--json").record
    again = type_on(made, "server", "weights", "policy", "--json").record
    assert (first["files"], first["read"], again["read"]) == (1, 1, 0)
    (folder / "a").write_bytes(b"abd")
    wrong = type_on(made, "server", "weights", "policy")
    assert (wrong.code, wrong.err) == (
        3,
        f"server weights: {folder}/a: is not what SHA256SUMS says (download it again)\n",
    )


def test_a_server_without_weights_is_refused(tmp_path: Path) -> None:
    """There is nothing to hold against anything."""
    made = guest(tmp_path, '[[server]]\nunit = "a"\nmodel = "m"\n')
    done = type_on(made, "server", "weights", "policy")
    assert (done.code, done.err) == (
        3,
        "server weights: server policy has no weights in its [[server]] table\n",
    )
