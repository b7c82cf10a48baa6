"""`spoteval restarter adopt`: one word moves an instance from one restarter host to another."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli_hosts import Hosts, made_hosts
from spoteval.clock import read_now
from spoteval.control.holds import look
from spoteval.control.owner import owner_of, register
from spoteval.event import events_from
from spoteval.files import held, read_lines
from spoteval.store.contract import Put
from spoteval.store.file import FileStore

_OTHER = "0b000000-0000-4000-8000-000000000002"
_TWO_POLLS = "its restarter starts nothing for two polls (2 s); another one says decision=not-owner"


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    """Both hosts, the restarter at work."""
    found = made_hosts(tmp_path)
    with held(found.instance.state_root / "restarter.lock"):
        yield found


def _identity(hosts: Hosts) -> str:
    return (hosts.instance.state_root / "identity").read_text().strip()


def test_what_nobody_owned_is_adopted(hosts: Hosts) -> None:
    """The first entry of the register is this host's."""
    done = hosts.restarter("restarter", "adopt")
    assert (done.code, done.err) == (0, "")
    assert done.lines == ["gpu-1: adopted, number 1; nobody owned it before", _TWO_POLLS]
    owner = owner_of(look(hosts.store, "gpu-1"))
    assert owner is not None
    assert (owner.number, owner.identity) == (1, _identity(hosts))


def test_taking_over_names_who_owned_it(hosts: Hosts) -> None:
    """Who and for how long; an event says it, and by whom it was typed."""
    register(hosts.store, "gpu-1", _OTHER, read_now().wall)
    done = hosts.restarter("restarter", "adopt", "gpu-1")
    assert done.lines[0] == "gpu-1: adopted, number 2; before, 0b000000 owned it for 0 s"
    (event,) = events_from(read_lines(hosts.instance.events).records)
    assert (event.kind, event.source, event.reason) == (
        "adopted",
        "operator",
        "adopted by hand (ana)",
    )
    assert event.detail == {"number": 2, "before": _OTHER}


def test_adopting_again_changes_nothing(hosts: Hosts) -> None:
    """One entry, one event, however often it is typed."""
    hosts.restarter("restarter", "adopt")
    again = hosts.restarter("restarter", "adopt", "--json")
    assert again.record == {
        "instance": "gpu-1",
        "number": 1,
        "identity": _identity(hosts),
        "before": _identity(hosts),
        "changed": False,
    }
    assert hosts.restarter("restarter", "adopt").lines[0] == (
        "gpu-1: owned by this host already (number 1)"
    )
    assert len(look(hosts.store, "gpu-1").owners) == 1
    assert len(read_lines(hosts.instance.events).records) == 1


def test_who_is_overtaken_fails(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two at once: the one whose entry is not the greatest hears it, exit 1."""
    own = "ffffffff-ffff-4fff-bfff-ffffffffffff"
    plain = FileStore.put

    def racing(store: FileStore, key: str, data: bytes) -> Put:
        plain(store, f"instances/gpu-1/owner/000001-{own}.json", data)
        return plain(store, key, data)

    monkeypatch.setattr(FileStore, "put", racing)
    done = hosts.restarter("restarter", "adopt")
    assert (done.code, done.err) == (
        1,
        (
            "restarter adopt: gpu-1: ffffffff took it over at the same moment"
            " (again: spoteval restarter adopt gpu-1)\n"
        ),
    )


def test_every_instance_is_adopted_with_all(hosts: Hosts) -> None:
    """Without a name it is the only one; with --all it is each."""
    text = (hosts.base / "restarter" / "config.toml").read_text()
    hosts.configure(
        "restarter", text + '\n[instance.gpu-2]\nprovider = "local"\nid = "b"\ncloud = "/nowhere"\n'
    )
    assert hosts.restarter("restarter", "adopt").err == (
        "restarter adopt: name an instance (configured: gpu-1, gpu-2)\n"
    )
    assert hosts.restarter("restarter", "adopt", "gpu-1", "--all").err == (
        'restarter adopt: "gpu-1" and --all: name one instance, or all\n'
    )
    done = hosts.restarter("restarter", "adopt", "--all")
    assert [line.split(":")[0] for line in done.lines[:2]] == ["gpu-1", "gpu-2"]


def test_a_host_without_a_restarter_says_so(tmp_path: Path) -> None:
    """It owns the instance all the same: who moves a host adopts first."""
    done = made_hosts(tmp_path).restarter("restarter", "adopt")
    assert done.lines[1] == "no restarter runs here: systemctl enable --now spoteval-restarter"


def test_a_damaged_identity_adopts_nothing(hosts: Hosts) -> None:
    """Exit 3, with what to do; the register is as it was."""
    (hosts.instance.state_root / "identity").write_text("")
    done = hosts.restarter("restarter", "adopt")
    assert (done.code, done.err) == (
        3,
        (
            f"restarter adopt: {hosts.instance.state_root}/identity: damaged"
            " (rm it, then: spoteval restarter adopt)\n"
        ),
    )
    assert hosts.stored() == []


def test_it_is_typed_on_the_restarter_host(hosts: Hosts) -> None:
    """A guest owns nothing."""
    assert hosts.guest("restarter", "adopt").err == (
        "restarter adopt: this is a guest; it is typed on the restarter host\n"
    )
