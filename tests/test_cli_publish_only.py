"""`spoteval start --publish-only`: what is left after the end of a run, without resuming it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cli_hosts import Hosts, made_hosts
from fake_provider import FakeProvider
from follower_world import Guest
from spoteval.control.holds import fetch, look, place
from spoteval.files import touch, write_record
from spoteval.hold import Hold
from spoteval.provider.contract import Observation, Reply, State
from spoteval.shape import Reading
from spoteval_agents.publication_follower.cycle import cycle
from test_cli_stop_start import with_provider

S = State
AT = datetime(2026, 12, 1, 3, tzinfo=UTC)
END = Hold(
    id="end-20261201T030000-ab12",
    instance="gpu-1",
    reason="run swe is over: deadline",
    by="end-handler",
    at=AT,
    ensure_stopped=True,
)


@pytest.fixture
def hosts(tmp_path: Path) -> Hosts:
    """A run is over: the end-handler's hold stands."""
    found = made_hosts(tmp_path)
    found.booted()
    place(found.store, END)
    return found


def standing(hosts: Hosts) -> tuple[Hold, ...]:
    """The holds that stand, as the restarter reads them."""
    return fetch(hosts.store, "gpu-1", look(hosts.store, "gpu-1").standing)


def test_it_starts_under_a_hold_that_stops_it_again(
    hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end's hold would have it stopped within minutes: one with more time stands in its place."""
    provider = with_provider(monkeypatch, FakeProvider([S.STOPPED, S.RUNNING]))
    done = hosts.restarter("start", "gpu-1", "--publish-only", "--within", "2h")
    (hold,) = standing(hosts)
    assert done.code == 0, done.err
    assert hold.id.startswith("publish-")
    assert (hold.ensure_stopped, hold.stop_after_s, hold.by) == (True, 7200.0, "ana")
    assert provider.calls == ["start"]
    lines = done.err.splitlines()
    assert lines[0] == f"held by {hold.id} (read) in the place of {END.id}"
    assert lines[-1] == (
        f"publishing what is left; off when idle, at the latest after 2h: {hold.id} stands"
    )


def test_at_no_moment_does_nothing_hold(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed in the start call, its hold stands; typed again, that one gives way to the next."""
    provider = with_provider(monkeypatch, FakeProvider([S.STOPPED, S.STOPPED, S.RUNNING]))
    start, seen = provider.start, list[tuple[str, ...]]()

    def killed(deadline_s: float) -> Reply:
        seen.append(tuple(hold.id for hold in standing(hosts)))
        raise KeyboardInterrupt

    monkeypatch.setattr(provider, "start", killed)
    assert hosts.restarter("start", "gpu-1", "--publish-only").code == 130
    monkeypatch.setattr(provider, "start", start)
    assert hosts.restarter("start", "gpu-1", "--publish-only").code == 0
    (hold,) = standing(hosts)
    assert len(seen[0]) == 1
    assert seen[0][0] != hold.id


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (
            replace(END, id="idle-1", by="idle-guard"),
            "held by idle-1, which is not the end of a run",
        ),
        (replace(END, id="op-1", by="ana"), "held by op-1, which is not the end of a run"),
    ],
)
def test_another_hold_is_nobodys_to_pass(
    hosts: Hosts, monkeypatch: pytest.MonkeyPatch, more: Hold, why: str
) -> None:
    """A person's, and that of an idle machine, whose run is not over."""
    provider = with_provider(monkeypatch, FakeProvider([S.STOPPED]))
    place(hosts.store, more)
    done = hosts.restarter("start", "gpu-1", "--publish-only")
    assert (done.code, done.err) == (3, f"start: {why}\n")
    assert provider.calls == []
    assert len(standing(hosts)) == 2


def test_a_try_that_the_idle_guard_ended_can_be_made_again(
    hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its hold came after the end: the run is over, and the guest hold keeps it so."""
    idle = replace(END, id="idle-2", by="idle-guard", at=AT + timedelta(hours=1))
    provider = with_provider(monkeypatch, FakeProvider([S.STOPPED, S.RUNNING]))
    place(hosts.store, idle)
    assert hosts.restarter("start", "gpu-1", "--publish-only").code == 0
    assert provider.calls == ["start"]
    assert [hold.id.partition("-")[0] for hold in standing(hosts)] == ["publish"]


def test_a_file_that_is_touched_meanwhile_stays(
    hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a person's hold: only a person lifts it, and nothing is started over it."""
    provider = with_provider(monkeypatch, FakeProvider([S.STOPPED, S.RUNNING]))
    observe = provider.observe

    def touched(deadline_s: float) -> Reading[Observation]:
        touch(hosts.instance.hold, "ben")
        return observe(deadline_s)

    monkeypatch.setattr(provider, "observe", touched)
    done = hosts.restarter("start", "gpu-1", "--publish-only")
    assert hosts.instance.hold.exists()
    assert (done.code, provider.calls) == (3, [])
    assert 'held: "ben" (rm ' in done.err
    assert [hold.id for hold in standing(hosts)] == [END.id]


def test_a_touched_file_holds_it_too(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """As any start."""
    provider = with_provider(monkeypatch, FakeProvider([S.STOPPED]))
    touch(hosts.instance.hold, "ana")
    done = hosts.restarter("start", "gpu-1", "--publish-only")
    assert (done.code, provider.calls) == (3, [])
    assert 'held: "ana" (rm ' in done.err


def test_without_an_end_it_is_a_plain_start_that_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guest would resume its run."""
    hosts = made_hosts(tmp_path)
    hosts.booted()
    with_provider(monkeypatch, FakeProvider([S.STOPPED]))
    done = hosts.restarter("start", "gpu-1", "--publish-only")
    assert done.code == 3
    assert "no hold of the end-handler stands" in done.err


def test_the_next_boot_publishes_what_is_left_under_the_guest_hold(tmp_path: Path) -> None:
    """The run has its end, its guest hold stands: an episode that was not published comes into the store."""
    guest = Guest(tmp_path)
    guest.finish("left-over")
    write_record(guest.paths.end, {"run": "swe"})
    touch(guest.disk.guest_hold, "run swe is over: deadline")
    guest.reboot("s2")
    cycle(guest.world, guest.memory)
    assert guest.has("episodes/left-over/1/MANIFEST.json")
