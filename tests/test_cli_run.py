"""`spoteval run`: made, started, stopped, shown."""

import json
import os
import signal
from pathlib import Path

import pytest

from cli_hosts import INSTANCE, Hosts, guest_file, made_hosts
from spoteval import __version__
from spoteval.control.runcontrol import RUN_UNIT
from spoteval.files import read_record, touch, write_record
from spoteval.machine.cgroup import mark
from spoteval.machine.process import spawn
from spoteval.publication.keys import record_key
from spoteval.publication.listing import listing
from spoteval.shape import Table

pytestmark = pytest.mark.runs("`run new` asks the harness for its version")


@pytest.fixture
def hosts(tmp_path: Path) -> Hosts:
    """Both hosts, this boot recorded."""
    found = made_hosts(tmp_path)
    found.booted()
    return found


def test_new_freezes_and_starts_nothing(hosts: Hosts) -> None:
    """The record is on the disk as it was printed; no run is active and nothing went to the store."""
    done = hosts.guest("run", "new", "q3", "--json")
    assert (done.code, done.err) == (0, "")
    stored = read_record(hosts.disk.run("q3").record)
    assert isinstance(stored, Table)
    assert {"format": 1, **done.record} == stored.values
    assert (done.record["generation"], done.record["plan"]["expected"]) == (1, 3)
    assert done.record["versions"] == {"spoteval": __version__, "directory": "1.2.3"}
    assert not hosts.disk.active.exists()
    assert hosts.stored() == []


def test_new_prints_what_it_froze(hosts: Hosts) -> None:
    """One setting a line, then where it lies and what to type next."""
    done = hosts.guest("run", "new", "q3", "--label", "exploratory")
    assert done.lines[1:4] == [
        "instance     gpu-1",
        "label        exploratory",
        "harness      directory 1.2.3",
    ]
    assert done.lines[-1] == (
        f"frozen in {hosts.disk.run('q3').record}; nothing is started.  spoteval run start q3"
    )


def test_new_like_an_old_one_takes_its_frozen_plan(hosts: Hosts) -> None:
    """A host file that was edited since does not matter."""
    assert hosts.guest("run", "new", "old").code == 0
    hosts.configure("node", guest_file(hosts.base, run='settlement = "continued"'))
    new = hosts.guest("run", "new", "new", "--like", "old", "--json")
    assert new.record["plan"]["settlement"] == "fresh_budget"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            ("old",),
            'run new: "old": this run exists (a name is never used again; spoteval run show old)',
        ),
        (
            ("../old",),
            'run new: "../old": a run name is 1 to 64 of a-z A-Z 0-9 - _ . and begins with a letter or digit',
        ),
        (
            ("q3", "--label", "scored"),
            "run new: label scored refused: qualification is not built yet (use --label exploratory)",
        ),
        (("q3", "--like", "none"), 'run new: "none": no such run (spoteval run list)'),
    ],
)
def test_new_refuses(hosts: Hosts, words: tuple[str, ...], line: str) -> None:
    """One line, exit 3, and nothing is written."""
    hosts.guest("run", "new", "old")
    before = sorted(hosts.disk.runs.iterdir())
    done = hosts.guest("run", "new", *words)
    assert (done.code, done.err, done.out) == (3, line + "\n", "")
    assert sorted(hosts.disk.runs.iterdir()) == before


def test_new_refuses_what_the_adapter_refuses(hosts: Hosts) -> None:
    """The adapter's own sentence, and no record."""
    hosts.configure("node", guest_file(hosts.base, run='settlement = "none"'))
    done = hosts.guest("run", "new", "q3")
    assert done.code == 3
    assert done.err.startswith(
        'run new: settlement "none" cannot be honoured by harness directory: '
    )
    assert not hosts.disk.run("q3").root.exists()


def test_new_needs_room_on_the_disk(hosts: Hosts) -> None:
    """Below [disk] min_free no new run begins."""
    text = guest_file(hosts.base).replace('min_free = "1MB"', 'min_free = "900000TB"')
    hosts.configure("node", text)
    done = hosts.guest("run", "new", "q3")
    assert done.code == 3
    assert done.err.startswith(f"{hosts.disk.disk}: ")
    assert done.err.endswith("GB free, [disk] min_free is 900000000.0 GB: no new run\n")


def test_nothing_is_written_to_a_disk_that_is_not_proved(hosts: Hosts) -> None:
    """Without its sentinel the disk is somebody else's: exit 3, one line, nothing written."""
    hosts.disk.sentinel.unlink()
    done = hosts.guest("run", "new", "q3")
    assert done.code == 3
    assert done.err == (
        f"{hosts.disk.disk}: no sentinel (spoteval setup guest --adopt writes it)\n"
    )
    assert not hosts.disk.runs.exists()


def test_start_makes_it_active_and_tells_the_store(hosts: Hosts) -> None:
    """`active` names it, the fact assigns it, and set-up's keep-alive is gone; other people's would stay."""
    touch(hosts.disk.keep_alive, "setup 2026-12-01")
    hosts.guest("run", "new", "q3")
    done = hosts.guest("run", "start", "q3")
    session = hosts.booted()
    assert (done.code, done.err) == (0, "")
    assert hosts.disk.active.read_text() == "q3\n"
    assert hosts.stored() == [f"instances/gpu-1/boots/000001-{session}/run-q3-1.json"]
    assert not hosts.disk.keep_alive.exists()
    assert done.lines == [
        "q3 is the active run; boot-resume takes it from here",
        "assigned to gpu-1 in the store: run-q3-1",
        f"removed {hosts.disk.keep_alive}",
    ]


def test_start_leaves_other_holds_and_says_so(hosts: Hosts) -> None:
    """A person's keep-alive and guest hold stay; the run waits for the hold."""
    touch(hosts.disk.keep_alive, "ana debugs")
    touch(hosts.disk.guest_hold, "tp 4 -> 8 (ana)")
    hosts.guest("run", "new", "q3")
    done = hosts.guest("run", "start", "q3", "--json")
    assert done.record["removed"] == []
    assert done.record["guest_hold"] == "tp 4 -> 8 (ana)"
    assert hosts.disk.keep_alive.exists()


def test_start_twice_is_as_once(hosts: Hosts) -> None:
    """Repeating it puts nothing twice."""
    hosts.guest("run", "new", "q3")
    first, again = hosts.guest("run", "start", "q3"), hosts.guest("run", "start", "q3")
    assert (first.code, again.code, len(hosts.stored())) == (0, 0, 1)


def test_start_refuses_beside_another_unfinished_run(hosts: Hosts) -> None:
    """The active run is named, with what to do; a run that is over is no obstacle."""
    for name in ("old", "q3"):
        hosts.guest("run", "new", name)
    hosts.guest("run", "start", "old")
    done = hosts.guest("run", "start", "q3")
    assert done.code == 3
    assert done.err == (
        'run start: run "old" is active and not over'
        f" (spoteval run stop old; to give it up: rm {hosts.disk.active})\n"
    )
    write_record(hosts.disk.run("old").end, {"reason": "complete"})
    assert hosts.guest("run", "start", "q3").code == 0
    assert hosts.disk.active.read_text() == "q3\n"


def test_start_tells_that_the_run_before_is_over(hosts: Hosts) -> None:
    """Facts of one boot have no order: else nobody there knew which of the two is assigned."""
    for name in ("q3", "q4"):
        assert hosts.guest("run", "new", name).code == 0
    assert hosts.guest("run", "start", "q3").code == 0
    assert not [key for key in hosts.stored("instances/") if "ended-" in key]
    write_record(hosts.disk.run("q3").end, {"reason": "complete"})
    assert hosts.guest("run", "start", "q4").code == 0
    found = listing(INSTANCE, hosts.stored(f"instances/{INSTANCE}/"))
    assert (found.assigned, found.ended("q3")) == (("q4", 1), True)


def test_start_refuses_a_run_that_is_over(hosts: Hosts) -> None:
    """An ended run does not begin again."""
    hosts.guest("run", "new", "q3")
    write_record(hosts.disk.run("q3").end, {"reason": "complete"})
    done = hosts.guest("run", "start", "q3")
    assert done.code == 3
    assert done.err.startswith('run start: run "q3" is over (')
    assert not hosts.disk.active.exists()


def test_start_refuses_a_scored_record(hosts: Hosts) -> None:
    """A record that was scored by some other way is refused here too, in the words that are promised."""
    hosts.guest("run", "new", "q3")
    path = hosts.disk.run("q3").record
    path.write_text(path.read_text().replace('"exploratory"', '"scored"'))
    done = hosts.guest("run", "start", "q3")
    assert (done.code, done.err) == (
        3,
        "run start: label scored refused: qualification is not built yet\n",
    )


def test_start_says_what_is_missing_while_the_store_is_away(hosts: Hosts) -> None:
    """The run is active on the guest; exit 1 says what the restarter does not know yet. Repeating mends it."""
    hosts.guest("run", "new", "q3")
    (hosts.base / "store").rename(hosts.base / "away")
    done = hosts.guest("run", "start", "q3")
    assert done.code == 1
    assert done.err.startswith(
        "run start: q3 is active here, but the restarter does not know it yet: file://"
    )
    assert done.err.endswith("(again: spoteval run start q3)\n")
    assert hosts.disk.active.read_text() == "q3\n"
    (hosts.base / "away").rename(hosts.base / "store")
    assert hosts.guest("run", "start", "q3").code == 0
    assert len(hosts.stored()) == 1


def test_start_before_the_boot_is_recorded_says_so(tmp_path: Path) -> None:
    """Facts carry the boot's number; without boot-resume there is none."""
    hosts = made_hosts(tmp_path)
    hosts.guest("run", "new", "q3")
    done = hosts.guest("run", "start", "q3", "--json")
    assert done.code == 1
    assert done.record["assigned"] is None
    assert "no boot is recorded yet (boot-resume does that)" in done.record["missing"]


def test_stop_places_the_guest_hold_even_where_nothing_runs(hosts: Hosts) -> None:
    """No process of the run is there: the hold stands, `run start` lifts it again."""
    hosts.guest("run", "new", "q3")
    hosts.guest("run", "start", "q3")
    done = hosts.guest("run", "stop", "--reason", "look at it")
    assert (done.code, done.err) == (0, "")
    assert hosts.disk.guest_hold.read_text() == "run stop: look at it (ana)"
    assert done.lines == [
        f"guest hold placed: {hosts.disk.guest_hold}",
        "q3 was not running",
        "to go on: spoteval run start q3",
    ]
    assert hosts.guest("run", "start", "q3").code == 0
    assert not hosts.disk.guest_hold.exists()


def test_stop_stops_the_runs_processes(hosts: Hosts) -> None:
    """By the harness's own signal, typed beside the local node; marked as a person's stop."""
    hosts.guest("run", "new", "q3")
    hosts.guest("run", "start", "q3")
    unit = mark((hosts.base / "node").resolve(), RUN_UNIT).partition("=")[2]
    child = spawn(["sleep", "300"], {**os.environ, "SPOTEVAL_UNIT": unit})
    try:
        done = hosts.guest("run", "stop", "q3", "--reason", "look at it", "--json")
        ended = child.wait(10.0)
    finally:
        child.send_group(signal.SIGKILL)
    assert done.code == 0
    assert done.record["stopped"].startswith("q3 stopped: SIG")
    assert ended is not None
    (folder,) = hosts.disk.run("q3").interruptions.iterdir()
    closed = read_record(folder / "closed.json")
    assert isinstance(closed, Table)
    assert (closed.text("cause"), closed.whole("killed")) == ("operator", 0)


def test_stop_refuses_where_there_is_nothing_to_stop(hosts: Hosts) -> None:
    """No active run, or another one than was named."""
    assert hosts.guest("run", "stop", "--reason", "x").err == (
        "run stop: no run is active (spoteval run start NAME)\n"
    )
    hosts.guest("run", "new", "q3")
    hosts.guest("run", "start", "q3")
    assert hosts.guest("run", "stop", "q4", "--reason", "x").err == (
        'run stop: "q4" is not the active run, that is "q3"\n'
    )


def test_list_and_show_on_the_guest(hosts: Hosts) -> None:
    """Every run with its state; show takes the active one by itself."""
    for name in ("a", "b"):
        hosts.guest("run", "new", name)
    hosts.guest("run", "start", "b")
    write_record(hosts.disk.run("a").end, {"reason": "complete"})
    write_record(hosts.disk.run("b").intended, {"episodes": ["e/1", "e/2"]})
    found = json.loads(hosts.guest("run", "list", "--json").out)["runs"]
    assert [(run["run"], run["state"], run["intended"]) for run in found] == [
        ("a", "over", None),
        ("b", "active", 2),
    ]
    assert hosts.guest("run", "list").lines[2].split()[:2] == ["b", "active"]
    assert hosts.guest("run", "show").lines[-1] == "progress     active, 0 of 2 episodes finished"
    assert hosts.guest("run", "show", "a", "--json").record["state"] == "over"


def test_list_and_show_from_the_store(hosts: Hosts) -> None:
    """A laptop sees what was published: record, newest heartbeat, end."""
    hosts.guest("run", "new", "q3")
    record = hosts.disk.run("q3").record.read_bytes()
    hosts.store.put("runs/q3/record/000001.json", record)
    for session, number, finished in (("s1", 9, 4), ("s2", 1, 7), ("s2", 2, 8)):
        beat = {"format": 1, "finished": finished, "intended": 12, "at": f"2026-12-0{finished}"}
        key = f"runs/q3/heartbeat/{session}/{number:08d}.json"
        hosts.store.put(key, json.dumps(beat).encode())
    (line,) = json.loads(hosts.laptop("run", "list", "--json").out)["runs"]
    assert (line["state"], line["finished"], line["intended"]) == ("begun", 8, 12)
    assert hosts.laptop("run", "show", "q3").lines[-1] == (
        "progress     begun, 8 of 12 episodes finished"
    )
    assert hosts.laptop("run", "show").err == (
        "run show: no run is active here: name one (spoteval run list)\n"
    )
    assert hosts.laptop("run", "show", "q4").err == (
        f'run show: "q4": no such run in {hosts.store.url} (spoteval run list)\n'
    )


def test_the_restarter_host_shows_the_assigned_run_and_the_limits_in_force(hosts: Hosts) -> None:
    """Without a name the run that the instance is for; of each limit the tighter one."""
    hosts.guest("run", "new", "q3")
    hosts.store.put(record_key("q3", 1), hosts.disk.run("q3").record.read_bytes())
    assert hosts.restarter("run", "show").err == ("run show: name a run (assigned: gpu-1: none)\n")
    hosts.guest("run", "start", "q3")
    shown = hosts.restarter("run", "show")
    assert shown.lines[0].startswith("run          q3, generation 1, made ")
    assert shown.lines[-1] == (
        "in force     no price cap · no spend limit · failed starts 45 min"
        " · preemptions before healthy 2 · before 20 episodes 3"
    )
    found = hosts.restarter("run", "show", "--json").record
    assert found["limits"]["failed_starts_s"] == {"seen": None, "limit": 2700.0}


def test_an_empty_list_says_how_to_begin(hosts: Hosts) -> None:
    """No table without rows."""
    assert hosts.guest("run", "list").out == "no runs yet (spoteval run new NAME)\n"


def test_run_verbs_belong_to_the_guest(hosts: Hosts) -> None:
    """Elsewhere they are refused with the place where they are typed."""
    assert hosts.restarter("run", "new", "q3").err == (
        "run new: this is a restarter host; it is typed on the guest\n"
    )
    assert hosts.laptop("run", "start", "q3").code == 3
