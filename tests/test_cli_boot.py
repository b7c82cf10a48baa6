"""The hidden verbs that agents run as children: fact, settle, server."""

import json
import socket
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from cli_hosts import Typed, typed
from guest_world import PLAN, RECORD, Guest, guest
from spoteval.clock import read_now
from spoteval.files import read_lines, write_record
from spoteval.store.file import FileStore

SERVER = (
    '[[server]]\nunit = "vllm.service"\nurl = "http://127.0.0.1:9"\nmodel = "m"\n'
    'credential = "model-key"\n'
)
KEY = "sk-very-secret-5"


@pytest.fixture
def made(tmp_path: Path) -> Guest:
    """A guest with an active run whose boot is on record."""
    found = guest(tmp_path, SERVER)
    found.activate(replace(RECORD, plan=replace(PLAN, expected=3)))
    number(found)
    return found


def number(made: Guest, seq: int = 4) -> None:
    """Record this boot as boot-resume does."""
    write_record(made.disk.boot, {"seq": seq, "session": session(made)})


def session(made: Guest) -> str:
    """This life's session."""
    return made.session(read_now().boot)


def type_on(made: Guest, *words: str) -> Typed:
    """Type `spoteval WORDS` on the guest."""
    return typed(words, made.environment)


def keys(made: Guest) -> list[str]:
    """The keys of the store."""
    return [item.key for item in FileStore(made.root / "store").list("")]


def test_a_fact_is_a_key_of_this_boot(made: Guest) -> None:
    """Put twice it is there once, with the first body."""
    key = f"instances/gpu-1/boots/000004-{session(made)}/healthy.json"
    first = type_on(made, "fact", "put", "healthy", "--body", '{"took_s": 3}', "--json")
    assert (first.code, first.record) == (0, {"key": key})
    again = type_on(made, "fact", "put", "healthy")
    assert (again.code, again.out) == (0, f"{key}\n")
    assert keys(made) == [key]
    assert json.loads((made.root / "store" / key).read_text()) == {"format": 1, "took_s": 3}


def test_booted_says_where_the_machine_is(made: Guest, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a stop it may have other addresses; those of the loop are nobody's business."""
    entries = {
        "lo": [address(socket.AF_INET, "127.0.0.1"), address(socket.AF_INET6, "::1")],
        "eth0": [
            address(socket.AF_INET, "10.0.0.7"),
            address(socket.AF_INET6, "fe80::1%eth0"),
            address(socket.AF_PACKET, "02:00:00:00:00:01"),
        ],
        "docker0": [],
    }
    monkeypatch.setattr("psutil.net_if_addrs", lambda: entries)
    assert type_on(made, "fact", "put", "booted").code == 0
    (key,) = keys(made)
    body = json.loads((made.root / "store" / key).read_text())
    assert body == {"format": 1, "addresses": {"eth0": ["10.0.0.7", "fe80::1"]}}


def address(family: int, text: str) -> SimpleNamespace:
    """As psutil gives it."""
    return SimpleNamespace(family=family, address=text)


def test_a_boot_without_a_number_puts_no_fact(made: Guest) -> None:
    """It would carry the number of the boot before."""
    write_record(made.disk.boot, {"seq": 3, "session": "before"})
    done = type_on(made, "fact", "put", "booted", "--json")
    assert (done.code, done.out, keys(made)) == (3, "", [])
    assert done.err == (
        f"fact put: {made.disk.boot}: this boot is not recorded yet (boot-resume does that)\n"
    )


@pytest.mark.parametrize("body", ["[1]", "{", ""])
def test_a_body_is_an_object(made: Guest, body: str) -> None:
    """Else nothing is put."""
    done = type_on(made, "fact", "put", "healthy", "--body", body)
    assert (done.code, keys(made)) == (2, [])
    assert done.err == (
        f'fact put: --body "{body}": must be a JSON object (spoteval fact put --help)\n'
    )


def test_an_epoch_is_claimed_once_a_life(made: Guest) -> None:
    """For the active run."""
    for _ in range(2):
        done = type_on(made, "fact", "epoch", "--json")
        assert (done.code, done.record) == (0, {"epoch": 1})
    assert keys(made) == ["runs/swe/epochs/000001.json"]


def test_a_copied_disk_is_refused_with_its_word(made: Guest) -> None:
    """Exit 3, and `forked` for the program that asked."""
    write_record(made.root / "store/runs/swe/epochs/000001.json", {"session": "elsewhere"})
    done = type_on(made, "fact", "epoch", "--json")
    assert (done.code, done.record) == (3, {"forked": True})
    assert done.err.startswith("fact epoch: the disk is a copy: runs/swe/epochs/000001.json: ")


@pytest.mark.parametrize("verb", [("fact", "epoch"), ("settle",)])
def test_without_an_active_run_there_is_nothing_to_do(made: Guest, verb: tuple[str, ...]) -> None:
    """Said with what makes one active."""
    made.disk.active.unlink()
    done = type_on(made, *verb, "--json")
    words = " ".join(verb)
    assert (done.code, done.err) == (
        3,
        f"{words}: no run is active (spoteval run start NAME)\n",
    )


def test_settle_says_what_it_did_and_what_is_left(made: Guest) -> None:
    """By the harness's own files, once; the event carries it."""
    (made.run.work / "episodes" / "1").mkdir(parents=True)
    (made.run.work / "episodes" / "2").mkdir()
    (made.run.work / "episodes" / "2" / "episode.json").write_text("{}")
    done = type_on(made, "settle", "--by", "boot-resume", "--json")
    assert done.code == 0
    assert (done.record["settled"], done.record["unfinished"]) == (1, 2)
    again = type_on(made, "settle")
    assert (again.code, again.out) == (
        0,
        "swe: 0 cut attempts settled, 2 episodes unfinished\n",
    )
    events = [r for r in read_lines(made.run.events).records if r["kind"] == "settled"]
    assert [(event["source"], event["session"]) for event in events] == [
        ("boot-resume", session(made)),
        ("settle", session(made)),
    ]
    assert len(read_lines(made.run.settlement).records) == 1


@pytest.mark.runs("a process must be in the run's unit")
def test_settle_is_refused_while_the_run_works(made: Guest) -> None:
    """What runs is not cut."""
    env = {"SPOTEVAL_UNIT": f"{made.root}:spoteval-run.service"}
    with subprocess.Popen(["/bin/cat"], env=env, stdin=subprocess.PIPE) as process:
        done = type_on(made, "settle", "--json")
        process.communicate()
    assert (done.code, done.err) == (
        3,
        "settle: the run works (1 processes in spoteval-run.service): spoteval run stop\n",
    )


def credential(made: Guest, mode: int = 0o600) -> Path:
    """The server's key."""
    path = made.paths.credentials / "model-key"
    path.write_text(KEY)
    path.chmod(mode)
    return path


def test_a_probe_answers_a_program_with_exit_0_and_a_person_with_1(made: Guest) -> None:
    """Not ready is an answer, not an error."""
    credential(made)
    done = type_on(made, "server", "probe", "policy", "--json")
    looked = {"ready": False, "refused": False, "saw": "connection refused", "restarts": 0}
    silent = dict.fromkeys(("version", "stage", "gave_up"))
    assert (done.code, done.record) == (0, {**looked, **silent})
    shown = type_on(made, "server", "probe", "policy")
    assert (shown.code, shown.out) == (1, "policy: not ready: connection refused\n")


def test_a_key_that_others_can_read_is_not_used_and_for_a_person(made: Guest) -> None:
    """Like one that the server refuses; it is not shown."""
    path = credential(made, 0o644)
    done = type_on(made, "server", "probe", "policy", "--json")
    assert (done.code, done.record["refused"]) == (0, True)
    assert done.record["saw"] == f"{path}: mode 0644, must be 0600 (chmod 600 {path})"
    assert KEY not in done.out + done.err


def test_an_unknown_server_is_refused_with_those_that_are(made: Guest) -> None:
    """One line."""
    done = type_on(made, "server", "probe", "judge", "--json")
    assert (done.code, done.err) == (
        3,
        'server probe: "judge": no such server (configured: policy)\n',
    )
