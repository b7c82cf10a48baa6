"""`spoteval run set` and `run finish`: what is typed, what is on the disk, what the store is told."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from cli_hosts import Hosts, made_hosts, restarter_file
from spoteval.clock import read_now
from spoteval.control.requests import Answer, pending, reply
from spoteval.control.runfiles import read_run
from spoteval.event import events_from
from spoteval.files import held, read_lines, touch, write_record
from spoteval.loop import Waiting, Wake
from spoteval.run import RunPlan, RunRecord

RECORD = RunRecord("q3", "gpu-1", 1, read_now().wall, RunPlan("directory", "fresh_budget"))
_FOLLOWER = "publication-follower"


class _Following:
    """A waiting in which the follower answers."""

    def __init__(self, hosts: Hosts) -> None:
        self.hosts = hosts

    def wait(self, timeout_s: float) -> Wake:
        """A pass is made."""
        for request in pending(self.hosts.disk):
            reply(self.hosts.disk, request.id, Answer(0, 0, 0, 0, 0.1))
        return Wake("time")


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hosts]:
    """Both hosts, follower and end-handler at work, run q3 active."""
    found = made_hosts(tmp_path)
    found.booted()
    write_record(found.disk.run("q3").record, RECORD.record())
    touch(found.disk.active, "q3\n")

    @contextmanager
    def patience() -> Iterator[Waiting]:
        yield _Following(found)

    monkeypatch.setattr("spoteval.cli.passing.patience", patience)
    with ExitStack() as stack:
        for agent in (_FOLLOWER, "end-handler"):
            stack.enter_context(held(tmp_path / "node" / "run" / f"{agent}.lock"))
        yield found


def _record(hosts: Hosts) -> RunRecord:
    found = read_run(hosts.disk.run("q3"))
    assert isinstance(found, RunRecord)
    return found


def _kinds(hosts: Hosts) -> list[str]:
    return [event.kind for event in events_from(read_lines(hosts.disk.run("q3").events).records)]


def test_a_setting_is_changed(hosts: Hosts) -> None:
    """A new generation on the disk, published, an event, and the fact that names it."""
    session = hosts.booted()
    done = hosts.guest("run", "set", "concurrency=24", "--reason", "more KV cache")
    assert (done.code, done.err) == (0, "")
    assert done.lines == [
        "q3: concurrency 16 -> 24, from the next start of its harness on",
        "generation 2, told to the restarter: run-q3-2",
    ]
    assert (_record(hosts).generation, _record(hosts).plan.concurrency) == (2, 24)
    assert hosts.stored() == [f"instances/gpu-1/boots/000001-{session}/run-q3-2.json"]
    assert _kinds(hosts) == ["setting-changed"]
    shown = hosts.guest("run", "show", "q3").lines
    assert any(
        line.startswith('changed      concurrency 16 -> 24: "more KV cache" (ana, ')
        for line in shown
    )


def test_limits_are_those_of_the_grant_at_most(hosts: Hosts) -> None:
    """The guest cannot read the grant: it says so, and what becomes of a limit that is looser."""
    done = hosts.guest("run", "set", "spend=600 USD", "failed_starts=30min", "--reason", "x")
    assert done.lines == [
        "q3: stop_rules.spend none -> 600.00 USD",
        "q3: stop_rules.failed_starts none -> 30min",
        "[grant] is not known on this host: a limit looser than it has no effect on the restarter host",
        "generation 2, told to the restarter: run-q3-2",
    ]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (
            ("spend=600 USD",),
            'spend "600.00 USD": looser than "500.00 USD" in [grant]: a run may only tighten it',
        ),
        (("spend=500 USD",), "this is a restarter host; it is typed on the guest"),
        (("stop_rules.failed_starts=1h", "concurrency=3"), 'failed_starts "60min": looser than'),
        (("failed_starts=45min",), "this is a restarter host; it is typed on the guest"),
        (("spend=5 EUR",), 'spend "5.00 EUR": looser than'),
        (("spend=none",), "this is a restarter host; it is typed on the guest"),
        (("preemptions_before_episodes=4/20",), "preemptions_before_episodes"),
    ],
)
def test_the_restarter_host_refuses_what_is_looser(
    hosts: Hosts, words: tuple[str, ...], error: str
) -> None:
    """It knows the grant; what is within it is typed on the guest."""
    more = '[grant]\nspend = { amount = 500, currency = "USD" }\n'
    hosts.configure("restarter", restarter_file(hosts.base, more=more))
    done = hosts.restarter("run", "set", *words, "--reason", "x")
    assert done.code == 3
    assert done.err.startswith(f"run set: {error}")


def test_the_restarter_host_reads_what_is_typed(hosts: Hosts) -> None:
    """A value that is none is said as on the guest."""
    done = hosts.restarter("run", "set", "failed_starts=soon", "--reason", "x")
    assert done.code == 2
    assert "failed_starts" in done.err


def test_what_is_so_already_makes_no_generation(hosts: Hosts) -> None:
    """Said; the fact is put all the same, for one that a kill kept back."""
    done = hosts.guest("run", "set", "concurrency=16", "--reason", "x", "--json")
    assert done.record == {
        "run": "q3",
        "generation": 1,
        "changed": {},
        "assigned": "run-q3-1",
        "missing": None,
    }
    assert _kinds(hosts) == []
    assert hosts.guest("run", "set", "concurrency=16", "--reason", "x").lines == [
        "q3: nothing changes (generation 1)"
    ]


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        (
            ("settlement=none",),
            3,
            (
                "settlement cannot be changed: what becomes of cut attempts is declared before any is"
                " cut (spoteval run new NAME --like q3)"
            ),
        ),
        (
            ("concurency=24",),
            2,
            '"concurency": no such setting (did you mean "concurrency"?) (spoteval run set --help)',
        ),
        (("concurrency=24", "--run", "q4"), 3, '"q4": no such run (spoteval run list)'),
    ],
)
def test_what_is_refused(hosts: Hosts, words: tuple[str, ...], code: int, line: str) -> None:
    """One line, and nothing is written."""
    done = hosts.guest("run", "set", *words, "--reason", "x")
    assert (done.code, done.err) == (code, f"run set: {line}\n")
    assert (_record(hosts).generation, _kinds(hosts), hosts.stored()) == (1, [], [])


def test_a_run_that_is_over_is_not_changed(hosts: Hosts) -> None:
    """Nor finished once more."""
    end = hosts.disk.run("q3").end
    write_record(end, {"reason": "complete"})
    line = f'run "q3" is over ({end}): spoteval run new … --like q3\n'
    assert hosts.guest("run", "set", "concurrency=2", "--reason", "x").err == f"run set: {line}"
    assert hosts.guest("run", "finish", "q3", "--reason", "x").err == f"run finish: {line}"


def test_without_the_follower_the_change_stands(tmp_path: Path) -> None:
    """On this disk it is in force; the restarter hears of it when the follower is back."""
    hosts = made_hosts(tmp_path)
    hosts.booted()
    write_record(hosts.disk.run("q3").record, RECORD.record())
    touch(hosts.disk.active, "q3\n")
    done = hosts.guest("run", "set", "concurrency=24", "--reason", "x")
    assert (done.code, done.lines[1]) == (
        0,
        "generation 2; not yet known to the restarter: publication-follower does not run here",
    )
    assert hosts.stored() == []


def test_a_run_that_is_not_active_is_changed_quietly(hosts: Hosts) -> None:
    """No fact: the instance is not assigned to it."""
    other = RunRecord("q4", "gpu-1", 1, read_now().wall, RunPlan("directory", "fresh_budget"))
    write_record(hosts.disk.run("q4").record, other.record())
    done = hosts.guest("run", "set", "concurrency=2", "--run", "q4", "--reason", "x")
    assert done.lines[-1] == "generation 2; the run is not the active one"
    assert hosts.stored() == []


def test_a_run_is_declared_over(hosts: Hosts) -> None:
    """A file that end-handler obeys, and an event; a second time the first reason stands."""
    done = hosts.guest("run", "finish", "q3", "--reason", "enough seen")
    assert (done.code, done.lines) == (
        0,
        [
            "q3 is over: end-handler stops it, publishes the rest, places both holds, power off",
        ],
    )
    assert hosts.disk.run("q3").finish.exists()
    again = hosts.guest("run", "finish", "q3", "--reason", "other")
    assert again.lines[0] == 'q3 was declared over before: "enough seen" (ana)'
    assert hosts.guest("run", "finish", "q3", "--reason", "x", "--json").record == {
        "run": "q3",
        "asked": False,
        "by": "ana",
        "reason": "enough seen",
    }
    assert _kinds(hosts) == ["finish-asked"]


def test_the_kill_switch_keeps_a_run_from_ending(hosts: Hosts) -> None:
    """Said at once, with what lifts it."""
    touch(hosts.disk.kill_switch, "ben debugs")
    done = hosts.guest("run", "finish", "q3", "--reason", "x")
    assert done.lines[1] == (
        f'not before the kill switch "ben debugs" is gone: rm {hosts.disk.kill_switch}'
    )


def test_only_the_active_run_is_finished(hosts: Hosts) -> None:
    """Its name is typed, so that no other is ended by mistake."""
    write_record(hosts.disk.run("q4").record, RECORD.record())
    done = hosts.guest("run", "finish", "q4", "--reason", "x")
    assert (done.code, done.err) == (3, 'run finish: "q4" is not the active run, that is "q3"\n')
    assert hosts.laptop("run", "finish", "q3", "--reason", "x").code == 3


def test_without_end_handler_nothing_ends(tmp_path: Path) -> None:
    """Exit 1: it is declared over, and nobody is there to end it."""
    hosts = made_hosts(tmp_path)
    write_record(hosts.disk.run("q3").record, RECORD.record())
    touch(hosts.disk.active, "q3\n")
    done = hosts.guest("run", "finish", "q3", "--reason", "x")
    assert (done.code, done.err) == (
        1,
        (
            "run finish: q3 is declared over, but end-handler does not run here to end it"
            " (systemctl enable --now spoteval-end-handler)\n"
        ),
    )
