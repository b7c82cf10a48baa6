"""`spoteval drill provider`: what it reads, what it does under its own hold, and what it refuses."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from cli_hosts import Hosts, made_hosts
from fake_provider import FakeProvider, no_patience
from spoteval.clock import read_now
from spoteval.control.byhand import MANUAL_START
from spoteval.drill.provider import looks, other_id
from spoteval.event import events_from
from spoteval.files import read_lines
from spoteval.provider.contract import Finding, Reply, State, unanswered
from spoteval.shape import Table, Unreadable

S = State
NO = Reply(ok=False, kind="capacity", detail="none")


@pytest.fixture
def hosts(tmp_path: Path) -> Hosts:
    """Both hosts, this boot recorded."""
    found = made_hosts(tmp_path)
    found.booted()
    return found


def drilled(
    monkeypatch: pytest.MonkeyPatch, states: Sequence[State | str], reply: Reply | None = None
) -> FakeProvider:
    """The verb meets this provider, and does not wait."""
    fake = FakeProvider(list(states)) if reply is None else FakeProvider(list(states), reply)
    verb = "spoteval.cli.drill_provider"
    monkeypatch.setattr(f"{verb}.provider_of", lambda *_: fake)
    monkeypatch.setattr(f"{verb}.patience", no_patience)
    return fake


UP = (S.STOPPED, S.STOPPED, S.STOPPED, S.STOPPED, S.STARTING, S.RUNNING, S.STOPPING, S.STOPPED)


def test_it_only_reads(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """No call, no hold, no record."""
    fake = drilled(monkeypatch, [S.RUNNING])
    done = hosts.restarter("drill", "provider")
    assert (done.code, fake.calls, hosts.stored()) == (0, [], [])
    assert [line.split()[0] for line in done.out.splitlines()] == ["ok", "ok", "ok"]
    assert "3.21 USD/hour (spot" in done.out


def test_with_start_stop_one_of_each_under_a_hold(
    hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hold is lifted once it is off; the start is on record as a rehearsal by hand."""
    fake = drilled(monkeypatch, UP)
    done = hosts.restarter("drill", "provider", "gpu-1", "--start-stop", "--json")
    assert (done.code, fake.calls) == (0, ["start", "stop"])
    assert done.record["passed"] is True
    held, released = hosts.stored()
    assert held.rpartition("/")[2] == released.rpartition("/")[2]
    assert held.startswith("instances/gpu-1/holds/drill-")
    (event,) = events_from(read_lines(hosts.instance.events).records)
    assert (event.kind, event.detail) == (MANUAL_START, {"rehearsal": True})


@pytest.mark.parametrize(
    ("states", "calls"),
    [
        ((*UP[:5], *[S.STARTING] * 9), ["start", "stop"]),  # never RUNNING, and not known to be off
        ((*UP[:6], S.RUNNING), ["start", "stop"]),  # the stop has no effect
    ],
)
def test_what_is_not_known_to_be_off_stays_held(
    hosts: Hosts, monkeypatch: pytest.MonkeyPatch, states: Sequence[State], calls: list[str]
) -> None:
    """It is stopped in any case, and the hold stands."""
    fake = drilled(monkeypatch, states, NO)
    done = hosts.restarter("drill", "provider", "gpu-1", "--start-stop", "--within", "1ms")
    (hold,) = hosts.stored()
    assert (done.code, fake.calls) == (1, calls)
    assert f"{Path(hold).stem} stands (spoteval hold release gpu-1)" in done.err


@pytest.mark.parametrize(
    ("words", "states", "why"),
    [
        (("--start-stop",), [S.STOPPED], "name the instance that may be started and stopped"),
        (("gpu-1", "--start-stop"), [S.RUNNING], "gpu-1 is not STOPPED; nothing was asked"),
        (("gpu-1", "--start-stop"), ["timeout"], "gpu-1 is not STOPPED; nothing was asked"),
    ],
)
def test_what_it_refuses(
    hosts: Hosts,
    monkeypatch: pytest.MonkeyPatch,
    words: Sequence[str],
    states: Sequence[State | str],
    why: str,
) -> None:
    """Exit 3, and nothing was asked for."""
    fake = drilled(monkeypatch, states)
    done = hosts.restarter("drill", "provider", *words)
    assert (done.code, fake.calls, hosts.stored()) == (3, [], [])
    assert why in done.err


def test_a_hold_that_stands_is_obeyed(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else's reason counts for more."""
    fake = drilled(monkeypatch, [S.STOPPED])
    hosts.restarter("hold", "place", "gpu-1", "--reason", "tp 4")
    done = hosts.restarter("drill", "provider", "gpu-1", "--start-stop")
    assert (done.code, fake.calls) == (3, [])


@pytest.mark.parametrize(
    ("said", "word"),
    [
        (unanswered("gone"), "ok"),
        (unanswered("auth"), "open"),
        (Unreadable("what"), "open"),
    ],
)
def test_an_id_that_there_is_none_of(said: Unreadable, word: str) -> None:
    """Gone is the one answer that the restarter can use; another is no failure of the drill."""

    class Absent(FakeProvider):
        def observe(self, deadline_s: float) -> Unreadable:
            return said

    findings = [Finding("missing", "start", "add it"), Finding("lacking", "list", "slow")]
    found = list(looks(FakeProvider([S.UNKNOWN]), Absent([S.STOPPED]), findings, read_now))
    words = {one.what: one.line.split()[0] for one in found}
    assert words["an id that there is none of"] == word
    assert (words["look"], words["start"], words["list"]) == ("FAIL", "FAIL", "open")


@pytest.mark.parametrize(("name", "other"), [("gpu-1", "gpu-0"), ("gpu-0", "gpu-1")])
def test_the_other_id_is_another(name: str, other: str) -> None:
    """By its last letter."""
    assert other_id(Table({"id": name}, "instance.a")).values["id"] == other
