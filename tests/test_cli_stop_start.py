"""`spoteval stop` and `spoteval start`."""

import errno
import os
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

from cli_hosts import Hosts, made_hosts, restarter_file
from fake_provider import FakeProvider, no_patience
from spoteval.clock import Now, read_now
from spoteval.control.byhand import is_off, watch
from spoteval.control.enders import Ender, enders
from spoteval.control.eventlog import log_event
from spoteval.event import Event, events_from
from spoteval.files import held, read_lines, touch
from spoteval.loop import Wake
from spoteval.provider.contract import Reply, State
from spoteval.shape import Unreadable

S = State
_NOT_OFF = (
    "gpu-1 is not off 0 s after its stop was asked for (RUNNING): held, and it may be billed;"
    " look at the provider"
)


@pytest.fixture
def hosts(tmp_path: Path) -> Hosts:
    """Both hosts, this boot recorded."""
    found = made_hosts(tmp_path)
    found.booted()
    return found


def with_provider(monkeypatch: pytest.MonkeyPatch, provider: FakeProvider) -> FakeProvider:
    """The commands meet this provider, and do not wait."""
    for verb in ("stop", "start"):
        monkeypatch.setattr(f"spoteval.cli.{verb}.provider_of", lambda *_: provider)
        monkeypatch.setattr(f"spoteval.cli.{verb}.patience", no_patience)
    return provider


def events(hosts: Hosts) -> tuple[Event, ...]:
    """What the restarter host has on record."""
    return events_from(read_lines(hosts.instance.events).records)


def test_stop_holds_first_and_says_stopped_last(
    hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hold, read back, stop, and STOPPED only once the provider says so."""
    provider = with_provider(
        monkeypatch, FakeProvider([S.RUNNING, "timeout:10s", S.STOPPING, S.STOPPED])
    )
    done = hosts.restarter("stop", "gpu-1", "--reason", "tp 4 -> 8")
    assert done.code == 0
    assert done.err.splitlines() == [
        f'held: {hosts.instance.hold} "tp 4 -> 8 (ana)", read back',
        "stop asked: accepted; ^C leaves hold and stop as they are",
        "STOPPED, not billed, after 0 s",
    ]
    assert done.out == "to go on: spoteval hold release gpu-1\n"
    assert provider.calls == ["stop"]
    assert hosts.instance.hold.exists()
    (event,) = events(hosts)
    assert (event.kind, event.source, event.reason) == ("manual-stop", "operator", "tp 4 -> 8")


class Ticking:
    """A clock that only the waiting moves."""

    def __init__(self) -> None:
        self.began = self.now = read_now()

    def read(self) -> Now:
        """The present moment."""
        return self.now

    def wait(self, timeout_s: float) -> Wake:
        """Time passes."""
        self.now = replace(self.now, mono_s=self.now.mono_s + timeout_s)
        return Wake("time")


@pytest.mark.parametrize(
    ("states", "billed", "reached", "took_s", "word"),
    [
        ([S.RUNNING, S.STOPPED], False, True, 4.0, "STOPPED"),
        ([S.RUNNING, S.RUNNING, S.RUNNING, S.STOPPED], False, True, 10.0, "STOPPED"),
        ([S.STOPPED], True, False, 10.0, "STOPPED"),
        ([S.RUNNING, "timeout:10s"], False, False, 10.0, "unknown: timeout:10s"),
    ],
)
def test_watching(
    states: list[State | str], billed: bool, reached: bool, took_s: float, word: str
) -> None:
    """Looks every 4 s for 10 s, the last one at 10; stopped but billed is not off, unknown is nothing."""
    provider, clock = FakeProvider(states, billed_while_stopped=billed), Ticking()
    found = watch(provider, is_off, 10.0, 4.0, clock, clock.read)
    assert (found.reached, round(found.took_s, 6), found.word) == (reached, took_s, word)


def test_a_stop_that_does_not_come_keeps_the_hold(
    hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 1 with the last state seen; the hold stands."""
    with_provider(
        monkeypatch, FakeProvider([S.RUNNING], Reply(ok=False, kind="auth", detail="403"))
    )
    monkeypatch.setattr("spoteval.cli.stop.WITHIN_S", 0.0)
    done = hosts.restarter("stop", "--reason", "x")
    assert done.code == 1
    assert done.err.splitlines()[1:] == [
        "stop asked: auth: 403; ^C leaves hold and stop as they are",
        f"<4>needs you: gpu-1: {_NOT_OFF}",
        f"stop: {_NOT_OFF} (again: spoteval stop gpu-1)",
    ]
    assert "STOPPED" not in done.err
    assert hosts.instance.hold.exists()


def test_a_stop_that_does_not_come_is_a_line_in_status(
    hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until the instance is off, status asks for a person."""
    with_provider(monkeypatch, FakeProvider([S.RUNNING]))
    monkeypatch.setattr("spoteval.cli.stop.WITHIN_S", 0.0)
    hosts.restarter("stop", "--reason", "x")
    with held(hosts.instance.state_root / "restarter.lock"):
        found = hosts.restarter("status", "--json")
        assert (found.code, found.record["second_line"]) == (
            1,
            f"needs you: {_NOT_OFF} → spoteval stop gpu-1",
        )
        off = Event(read_now().wall, "stopped", "restarter", "gpu-1", reason="user")
        log_event(hosts.instance.events, off)
        assert hosts.restarter("status").code == 0


def test_no_resume_without_ssh_does_nothing(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 3 with the line to type on the guest, before anything is done."""
    provider = with_provider(monkeypatch, FakeProvider([S.RUNNING]))
    done = hosts.restarter("stop", "gpu-1", "--reason", "x", "--no-resume")
    assert (done.code, done.err) == (
        3,
        (
            "stop gpu-1 --no-resume: cannot place the guest hold: no ssh in [instance.gpu-1]. On the"
            " guest: sudo touch /mnt/durable/spoteval/holds/guest. Nothing was done\n"
        ),
    )
    assert (provider.calls, hosts.instance.hold.exists(), events(hosts)) == ([], False, ())


def _ssh(hosts: Hosts, script: str) -> str:
    """A program `ssh` in front of all others; returns the PATH."""
    program = hosts.base / "bin" / "ssh"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    hosts.configure("restarter", restarter_file(hosts.base, 'ssh = "eval@10.0.0.7"'))
    return f"{program.parent}:{os.environ['PATH']}"


@pytest.mark.runs("ssh, which is a script here")
def test_no_resume_places_the_guest_hold_between_hold_and_stop(
    hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the guest's own command through ssh, its words quoted for the shell there."""
    provider = with_provider(monkeypatch, FakeProvider([S.STOPPED]))
    path = _ssh(hosts, f'printf "%s\\n" "$@" > {hosts.base}/said')
    done = hosts.restarter("stop", "gpu-1", "--reason", "tp 4 -> 8", "--no-resume", PATH=path)
    assert done.code == 0
    assert done.err.splitlines()[1] == "guest hold: eval@10.0.0.7"
    assert done.out == (
        "to go on: spoteval hold release gpu-1, and on the guest: rm"
        " /mnt/durable/spoteval/holds/guest\n"
    )
    assert (hosts.base / "said").read_text().splitlines()[-2:] == [
        "eval@10.0.0.7",
        "sudo spoteval hold place --guest --reason 'tp 4 -> 8' --by ana",
    ]
    assert provider.calls == ["stop"]


@pytest.mark.runs("ssh, which is a script here")
def test_a_guest_that_does_not_answer_is_not_stopped(
    hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The restarter hold stands, the machine runs on: nothing is worse than before."""
    provider = with_provider(monkeypatch, FakeProvider([S.RUNNING]))
    path = _ssh(hosts, "echo connection refused >&2; exit 255")
    done = hosts.restarter("stop", "--reason", "x", "--no-resume", PATH=path)
    assert done.code == 1
    assert done.err.splitlines()[-1] == (
        "stop: the guest hold could not be placed by ssh eval@10.0.0.7: connection refused."
        " The restarter hold stands, nothing was stopped"
    )
    assert provider.calls == []


def test_stop_on_the_guest(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hold proved with ensure_stopped, guest hold, draining, last pass asked, power off asked."""
    monkeypatch.setattr("spoteval.cli.passing.patience", no_patience)
    monkeypatch.setattr("spoteval.cli.stop_guest.PASS_WITHIN_S", 0.0)
    done = hosts.guest("stop", "gpu-1", "--reason", "tp 4 -> 8", "--no-resume")
    (hold,) = hosts.laptop("hold", "show", "gpu-1", "--json").record["store"]
    assert done.code == 0
    assert done.err.splitlines() == [
        f"held: {hold['id']} (proved), and stopped by the restarter if this fails",
        f"guest hold: {hosts.disk.guest_hold}",
        "run: no run is active (spoteval run start NAME)",
        "last pass: no answer within 0 s; the next boot publishes the rest",
        "power off asked",
    ]
    assert (hold["ensure_stopped"], hold["stop_after_s"], hold["no_resume"]) == (True, 600.0, True)
    assert hosts.disk.guest_hold.read_text() == "tp 4 -> 8 (ana)"
    run = hosts.base / "node" / "run"
    assert (run / "draining").exists()
    assert (run / "poweroff").exists()
    (ender,) = _enders(hosts)
    assert (ender.agent, ender.proved) == ("operator", True)


def _enders(hosts: Hosts) -> tuple[Ender, ...]:
    """What the hook reads of who stops this machine."""
    found = enders(hosts.disk.enders)
    assert isinstance(found, tuple)
    return found


def test_a_full_disk_keeps_no_machine_on(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the marker nor the request is taken: the hook stops the run, and the machine goes off."""

    def full(*_: object) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("spoteval.cli.stop_guest.stop_active", full)
    monkeypatch.setattr("spoteval.cli.stop_guest.active_record", lambda _: None)
    monkeypatch.setattr("spoteval.cli.stop_guest.ask_pass", full)
    done = hosts.guest("stop", "gpu-1", "--reason", "full")
    assert (done.code, done.err.splitlines()[1:]) == (
        0,
        [
            "run: OSError: [Errno 28] No space left on device",
            "last pass: No space left on device; the next boot publishes the rest",
            "power off asked",
        ],
    )
    assert (hosts.base / "node" / "run" / "poweroff").exists()


def test_stop_on_the_guest_needs_its_hold(hosts: Hosts) -> None:
    """A store that is away: nothing is stopped, or the restarter would start the machine again."""
    (hosts.base / "store").rmdir()
    done = hosts.guest("stop", "--reason", "x")
    assert done.code == 1
    assert done.err.startswith("stop: the restarter hold cannot be proved: file://")
    assert done.err.endswith(". Nothing was stopped (on the restarter host: spoteval stop gpu-1)\n")
    assert sorted(path.name for path in (hosts.base / "node" / "run").iterdir()) == ["session"]
    assert not hosts.disk.guest_hold.exists()


def test_start_holds_watches_and_releases(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that answered an error is watched all the same; the own hold is lifted at RUNNING."""
    states: list[State | str] = [S.STOPPED, S.STARTING, S.RUNNING]
    error = Reply(ok=False, kind="unknown", detail="500")
    provider = with_provider(monkeypatch, FakeProvider(states, error))
    done = hosts.restarter("start", "gpu-1", "--reason", "first", "--json")
    name = done.record["hold"]
    assert done.err.splitlines() == [
        f"held by {name} (read): the restarter starts nothing meanwhile",
        "price: 3.21 USD/hour (spot)",
        "start asked: unknown: 500",
        "RUNNING after 0.0 s",
        f"released {name}: the restarter takes over",
    ]
    assert (done.code, provider.calls) == (0, ["start"])
    assert hosts.stored() == [
        f"instances/gpu-1/holds/{name}.json",
        f"instances/gpu-1/releases/{name}.json",
    ]
    (event,) = events(hosts)
    assert event.kind == "manual-start"
    assert event.price is not None
    assert (event.price["amount"], event.price["kind"]) == (3.21, "spot")


def test_a_start_that_does_not_come_keeps_its_hold(
    hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not RUNNING within the window: exit 1, the hold stands, visible and safe."""
    provider = with_provider(monkeypatch, FakeProvider([S.STOPPED]))
    hosts.configure(
        "restarter",
        restarter_file(hosts.base).replace('start_window = "7s"', 'start_window = "1ms"'),
    )
    done = hosts.restarter("start")
    (key,) = hosts.stored()
    name = Path(key).stem
    assert done.code == 1
    assert done.err.splitlines()[-1] == (
        f"start: gpu-1 is not RUNNING after 0 s (STOPPED); the hold {name} stands"
        " (spoteval hold release gpu-1)"
    )
    assert provider.calls == ["start"]


def test_a_start_that_is_killed_half_way_leaves_its_hold(
    hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever ends it while it watches, the hold is in the store already."""
    provider = with_provider(monkeypatch, FakeProvider([S.STOPPED]))

    def killed(deadline_s: float) -> Reply:
        raise KeyboardInterrupt

    monkeypatch.setattr(provider, "start", killed)
    done = hosts.restarter("start")
    assert (done.code, done.err.splitlines()[-1]) == (130, "start: stopped by the keyboard")
    assert [key.split("/")[2] for key in hosts.stored()] == ["holds"]


@pytest.mark.parametrize("where", ["file", "store", "no directory"])
def test_start_is_refused_under_a_hold(
    hosts: Hosts, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """Any hold, also the one that nobody can read: exit 3, nothing asked."""
    provider = with_provider(monkeypatch, FakeProvider([S.STOPPED]))
    lines = {
        "file": 'start: held: "tp 4 -> 8" (spoteval hold release gpu-1)',
        "store": "start: held: end-1 (spoteval hold release gpu-1)",
        "no directory": (
            f"start: {hosts.instance.hold.parent}: no such directory, which counts as a hold"
        ),
    }
    if where == "file":
        touch(hosts.instance.hold, "tp 4 -> 8")
    elif where == "store":
        hosts.guest("hold", "place", "--reason", "complete", "--id", "end-1")
    else:
        hosts.instance.hold.parent.rmdir()
    done = hosts.restarter("start")
    assert (done.code, done.err, provider.calls) == (3, lines[where] + "\n", [])


@pytest.mark.parametrize(
    ("cap", "price", "line"),
    [
        (3.21, 3.21, None),
        (3.20, 3.21, "price 3.21 USD/hour is above the cap 3.20 ([grant] price_cap)"),
        (3.20, None, "the price cannot be read, and a cap is set: timeout:10s"),
    ],
)
def test_start_keeps_to_the_cap(
    hosts: Hosts,
    monkeypatch: pytest.MonkeyPatch,
    cap: float,
    price: float | None,
    line: str | None,
) -> None:
    """At the cap it starts, above it and without a price it does not."""
    more = f'[grant]\nprice_cap = {{ amount = {cap}, currency = "USD", per = "hour" }}\n'
    hosts.configure("restarter", restarter_file(hosts.base, more=more))
    provider = with_provider(monkeypatch, FakeProvider([S.STOPPED, S.RUNNING]))
    if price is None:
        provider.priced = Unreadable("timeout:10s")
    done = hosts.restarter("start")
    assert done.code == (0 if line is None else 3)
    assert provider.calls == (["start"] if line is None else [])
    if line is not None:
        assert done.err == f"start: {line}\n"
        assert hosts.stored() == []


def test_start_of_what_runs_asks_nothing(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """RUNNING already: refused, and no hold is left behind."""
    provider = with_provider(monkeypatch, FakeProvider([S.RUNNING]))
    done = hosts.restarter("start")
    assert (done.code, done.err) == (3, "start: gpu-1 is RUNNING already; nothing was asked\n")
    assert (provider.calls, hosts.stored()) == ([], [])


def test_a_wrong_provider_table_is_configuration(hosts: Hosts) -> None:
    """Exit 2 with file, table and key, before anything is held."""
    text = restarter_file(hosts.base).replace("cloud =", "clowd =")
    hosts.configure("restarter", text)
    why = '[instance.gpu-1] clowd: unknown key (did you mean "cloud"?)'
    for words in (("stop", "--reason", "x"), ("start",)):
        done = hosts.restarter(*words)
        assert (done.code, done.err) == (2, f"{hosts.base}/restarter/config.toml: {why}\n")
    assert not hosts.instance.hold.exists()


def test_elsewhere_they_are_refused(hosts: Hosts) -> None:
    """Each says where it is typed."""
    assert hosts.guest("start").err == (
        "start: this is a guest; it is typed on the restarter host\n"
    )
    assert hosts.laptop("stop", "gpu-1", "--reason", "x").code == 3
    assert hosts.guest("stop", "gpu-2", "--reason", "x").err == (
        'stop: "gpu-2": this guest is "gpu-1" and stops no other\n'
    )
