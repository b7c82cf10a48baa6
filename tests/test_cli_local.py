"""A restarter host without a store: holds are files alone, and every verb knows it."""

from pathlib import Path

import pytest

from cli_hosts import Hosts, made_hosts, restarter_file
from fake_provider import FakeProvider, no_patience
from spoteval.files import held
from spoteval.provider.contract import State

S = State


@pytest.fixture
def hosts(tmp_path: Path) -> Hosts:
    """The restarter host has no [store]."""
    found = made_hosts(tmp_path)
    text = restarter_file(tmp_path)
    head, _, tail = text.partition(f'[store]\nurl = "file://{tmp_path / "store"}"\n')
    found.configure("restarter", f'{head}holds = ["local"]\n{tail}')
    (tmp_path / "store").rmdir()
    return found


def _provider(monkeypatch: pytest.MonkeyPatch, *states: State) -> FakeProvider:
    provider = FakeProvider(list(states))
    for verb in ("stop", "start"):
        monkeypatch.setattr(f"spoteval.cli.{verb}.provider_of", lambda *_: provider)
        monkeypatch.setattr(f"spoteval.cli.{verb}.patience", no_patience)
    return provider


def test_a_hold_is_a_file(hosts: Hosts) -> None:
    """Placed, shown and released without a store."""
    assert hosts.restarter("hold", "place", "--reason", "mine").code == 0
    shown = hosts.restarter("hold", "show").lines
    assert shown[0] == "gpu-1: held"
    assert shown[-1] == (
        '  store        none                      not used: [host] holds is ["local"]'
    )
    done = hosts.restarter("hold", "release")
    assert (done.code, done.out) == (0, f"lifted {hosts.instance.hold}\n")
    assert hosts.restarter("hold", "show").lines[0] == "gpu-1: not held"


@pytest.mark.parametrize("option", [("--ensure-stopped",), ("--no-resume",), ("--id", "x")])
def test_what_a_file_cannot_say_is_refused(hosts: Hosts, option: tuple[str, ...]) -> None:
    """Exit 3 with what does it instead, and nothing is written."""
    done = hosts.restarter("hold", "place", "--reason", "x", *option)
    assert (done.code, done.err) == (
        3,
        (
            'hold place: holds are files here ([host] holds is ["local"]): --ensure-stopped,'
            " --no-resume and --id need a store (spoteval stop holds and stops)\n"
        ),
    )
    assert not hosts.instance.hold.exists()


def test_stop_needs_no_store(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file, then the provider."""
    provider = _provider(monkeypatch, S.RUNNING, S.STOPPED)
    assert hosts.restarter("stop", "--reason", "x").code == 0
    assert (provider.calls, hosts.instance.hold.exists()) == (["stop"], True)


def test_a_manual_start_holds_by_the_file(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its hold is lifted at RUNNING; one that stands before refuses the start."""
    provider = _provider(monkeypatch, S.STOPPED, S.RUNNING)
    done = hosts.restarter("start", "--reason", "first")
    assert done.code == 0
    assert done.err.splitlines()[0] == (
        f"held by {hosts.instance.hold} (read): the restarter starts nothing meanwhile"
    )
    assert (provider.calls, hosts.instance.hold.exists()) == (["start"], False)
    hosts.restarter("hold", "place", "--reason", "mine")
    again = hosts.restarter("start")
    assert (again.code, provider.calls) == (3, ["start"])


def test_a_start_that_does_not_come_leaves_the_file(
    hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Visible and safe, as everywhere."""
    text = (hosts.base / "restarter" / "config.toml").read_text()
    hosts.configure("restarter", text.replace('start_window = "7s"', 'start_window = "1ms"'))
    _provider(monkeypatch, S.STOPPED)
    done = hosts.restarter("start", "--reason", "first")
    assert done.code == 1
    assert hosts.instance.hold.read_text() == "manual start: first (ana)"


def test_status_knows_no_run(hosts: Hosts) -> None:
    """State, holds and rules are the restarter's own; nothing is missing that could be there."""
    with held(hosts.instance.state_root / "restarter.lock"):
        done = hosts.restarter("status")
    assert done.code == 0
    assert done.lines[0].startswith("no run  gpu-1  state not seen")
    assert not any("store" in line for line in done.lines)


def test_there_is_no_register(hosts: Hosts) -> None:
    """Two hosts without a store cannot agree on anything."""
    done = hosts.restarter("restarter", "adopt")
    assert (done.code, done.err) == (
        3,
        (
            "restarter adopt: there is no register: holds are files of this host alone, and no store"
            " is set\n"
        ),
    )
