"""spoteval setup restarter, as a person types it."""

import os
import pty
import select
import subprocess
import sys
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli_hosts import Hosts, Typed
from disk_namespace import ROOT
from spoteval.config.draft import RestarterDraft, StoreDraft
from spoteval.config.host import host_of
from spoteval.config.restarter import read_restarter, restarter_of
from spoteval.control.setting_up import write_dropins
from spoteval.provider.open import PROVIDERS

KINDS = " or ".join(PROVIDERS)
OBSERVE = """["/bin/echo", '{"state": "STOPPED"}']"""
ME = "root" if os.geteuid() == 0 else os.environ.get("USER", "")


@pytest.fixture
def hosts(tmp_path: Path) -> Hosts:
    """An empty host beside an empty store."""
    (tmp_path / "store").mkdir()
    (tmp_path / "restarter" / "credentials").mkdir(parents=True)
    (tmp_path / "etc").mkdir()
    return Hosts(tmp_path)


def _setup(hosts: Hosts, *words: str) -> Typed:
    return hosts.restarter("setup", "restarter", "--etc", str(hosts.base / "etc"), *words)


def _first(hosts: Hosts, *words: str) -> Typed:
    said = ["--instance", "gpu-1", "--provider", "local", "--id", "vm-1"]
    store = ["--store", hosts.store.url, "--set", f"cloud={hosts.cloud}"]
    return _setup(hosts, *said, *store, "--owner", ME, *words)


def _dropin(hosts: Hosts) -> Path:
    units = hosts.base / "etc" / "systemd" / "system"
    return units / "spoteval-restarter.service.d" / "50-spoteval-setup.conf"


def test_a_bare_host_is_ready_in_one_command_and_done_again_nothing_changes(hosts: Hosts) -> None:
    """Host file, folders, what the sandbox must leave open; then what check says, and what to type."""
    done = _first(hosts)
    state = hosts.base / "restarter" / "state"
    assert (done.code, done.err) == (0, "")
    assert done.lines[:3] == [
        f"wrote {hosts.base}/restarter/config.toml",
        f"made {state} with holds, instances of {ME}, mode 0755",
        f"wrote {_dropin(hosts)}",
    ]
    assert done.lines[3].startswith("config       ok ")
    assert done.lines[-2:] == [
        f"nothing is started while this file is there: touch {state}/holds/gpu-1",
        "next: mend what fails above, then: spoteval check",  # no local node runs
    ]
    (instance,) = read_restarter(hosts.base / "restarter" / "config.toml").instances
    assert (instance.name, instance.provider, instance.id) == ("gpu-1", "local", "vm-1")
    assert _dropin(hosts).read_text().splitlines()[1:] == [
        "[Service]",
        f'ReadWritePaths="-{hosts.base}/store"',
        f'ReadWritePaths="-{hosts.cloud}"',
    ]
    again = _setup(hosts, "--owner", ME, "--json").record
    assert again["changed"] == []
    assert _setup(hosts, "--owner", ME).lines[0] == "nothing changed: this host was set up already"


@pytest.mark.runs("asks a provider's own program")
def test_when_nothing_fails_the_last_line_is_what_to_type(hosts: Hosts) -> None:
    """Its own programs may be typed as in a shell."""
    programs = ["--set", f"observe={OBSERVE}", "--set", "start=/bin/true {id}"]
    said = ["--instance", "gpu-1", "--provider", "command", "--id", "vm-1", "--owner", ME]
    store = ["--store", hosts.store.url, "--set", "stop=/bin/true"]
    done = _setup(hosts, *said, *store, *programs)
    assert done.lines[-1] == "next: systemctl enable --now spoteval-restarter"
    table = read_restarter(hosts.base / "restarter" / "config.toml").instances[0].table
    assert table.values["start"] == ["/bin/true", "{id}"]


def test_what_a_person_wrote_stays(hosts: Hosts) -> None:
    """A contradiction is an error; only --replace writes anew, and keeps the old file."""
    _first(hosts)
    config = hosts.base / "restarter" / "config.toml"
    config.write_text(config.read_text() + "# mine\n")
    before = config.read_text()
    for words, line in (
        (
            ["--id", "vm-2"],
            '[instance.gpu-1] id "vm-1": not "vm-2" (edit the file, or --replace it)',
        ),
        (["--instance", "gpu-2"], "no [instance.gpu-2] in it (add that table to the file)"),
        (["--region", "eu"], '[store] region "None": not "eu" (edit the file, or --replace it)'),
    ):
        done = _setup(hosts, "--owner", ME, *words)
        assert (done.code, done.err) == (2, f"{config}: {line}\n")
    assert config.read_text() == before
    done = _first(hosts, "--replace")
    assert "# mine" not in config.read_text()
    (kept,) = config.parent.glob("config.toml.before-spoteval-*")
    assert kept.read_text() == before
    assert done.lines[0] == f"wrote {config} (before: {kept})"


def test_the_usual_key_is_named_where_it_lies(hosts: Hosts) -> None:
    """`control` beside an s3:// store; the unit gets it, and gets it no more when the file is gone."""
    key = hosts.base / "restarter" / "credentials" / "control"
    key.write_text("[default]\naws_access_key_id = a\naws_secret_access_key = b\n")
    key.chmod(0o600)
    words = ["--store", "s3://evals/a", "--endpoint-url", "http://127.0.0.1:9"]
    done = _first(hosts, *words)
    config = read_restarter(hosts.base / "restarter" / "config.toml")
    assert config.store.credential == "control"
    assert f"LoadCredential=control:{key}" in _dropin(hosts).read_text()
    assert "next: mend what fails above" in done.lines[-1]  # nobody listens there
    key.unlink()
    again = _setup(hosts, "--owner", ME)
    assert f"missing: {key} (install -D -m 600 FILE {key}" in again.out
    assert "LoadCredential" not in _dropin(hosts).read_text()


def test_a_drop_in_that_is_needed_no_more_is_removed(tmp_path: Path) -> None:
    """It would name a credential that is gone, and its unit would not start; others' files stay."""
    list(write_dropins({"spoteval-a.service": "a", "spoteval-b.service": "b"}, tmp_path))
    other = tmp_path / "spoteval-b.service.d" / "60-mine.conf"
    other.write_text("")
    gone = tmp_path / "spoteval-b.service.d" / "50-spoteval-setup.conf"
    assert list(write_dropins({"spoteval-a.service": "a"}, tmp_path)) == [f"removed {gone}"]
    assert other.exists()


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        ([], 3, "there is no host file yet: say --instance (the name in holds, lines and reports)"),
        (["--instance", "a b"], 2, '--instance "a b": an instance name is 1 to 64 of'),
        (["--instance", "a", "--provider", "x"], 2, f'--provider "x": must be {KINDS}'),
        (
            ["--instance", "a", "--provider", "local", "--id", "b", "--no-store"],
            3,
            "say --set cloud=… (the node's directory in the local cloud)",
        ),
        (
            ["--instance", "a", "--provider", "local", "--id", "b", "--no-store", "--set", "cloud"],
            2,
            '--set "cloud": must be KEY=VALUE',
        ),
        (["--owner", "no-such-user"], 3, 'no user "no-such-user" on this machine'),
        (["--user"], 3, "the agents are system services"),
    ],
)
def test_what_is_refused_has_one_line_and_writes_nothing(
    hosts: Hosts, words: list[str], code: int, line: str
) -> None:
    """Nobody is there to be asked."""
    done = _setup(hosts, *(["--owner", ME] if "--owner" not in words else []), *words)
    assert (done.code, len(done.err.splitlines())) == (code, 1)
    assert line in done.err
    assert not (hosts.base / "restarter" / "config.toml").exists()
    assert not (hosts.base / "restarter" / "state").exists()


@given(
    id_=st.text(st.characters(blacklist_categories=["Cs"]), min_size=1).filter(str.strip),
    words=st.lists(st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"))),
)
def test_a_drafted_host_file_is_read_as_it_was_meant(id_: str, words: list[str]) -> None:
    """Whatever the answers hold."""
    more: dict[str, Any] = {
        "observe": ["/a", *words],
        "start": ["/b"],
        "stop": ["/c"],
        "cancels": False,
    }
    more["price"] = {"amount": 1.5, "currency": "USD", "per": "hour"}
    more["price"]["as_of"] = date(2026, 11, 20)
    store = StoreDraft("s3://evals/a", {"region": "eu"})
    text = RestarterDraft("gpu-1", "command", id_, store, more).text()
    config = restarter_of(host_of(Path("c"), tomllib.loads(text), "restarter", {}))
    assert config.instances[0].id == id_
    assert config.instances[0].table.values["observe"] == ["/a", *words]
    assert (config.store.region, config.store.credential) == ("eu", None)


@pytest.mark.runs("types at a real terminal")
def test_at_a_terminal_it_asks_four_values_and_those_of_the_kind(hosts: Hosts) -> None:
    """instance, provider, id, store; then what the kind cannot be without."""
    answers = ["gpu-1", "local", "vm-1", hosts.store.url, str(hosts.cloud)]
    here, there = pty.openpty()
    program = "from spoteval.cli import main; main()"
    env = {name: text for name, text in hosts.environment("restarter").items() if text is not None}
    words = ["setup", "restarter", "--etc", str(hosts.base / "etc"), "--owner", ME, "--json"]
    child = subprocess.Popen(
        [sys.executable, "-c", program, *words],
        stdin=there,
        stdout=subprocess.PIPE,
        stderr=there,
        env={**os.environ, **env, "PYTHONPATH": str(ROOT / "common")},
    )
    os.close(there)
    seen = b""
    for answer in answers:
        seen = _until(here, seen, seen.count(b"): "))
        os.write(here, f"{answer}\n".encode())
    child.communicate(timeout=60)
    os.close(here)
    asked = [line.split(" (")[0] for line in seen.decode().splitlines() if "): " in line]
    assert child.returncode == 0
    assert asked == ["instance", "provider", "id", "store", "cloud"]
    assert read_restarter(hosts.base / "restarter" / "config.toml").instances[0].id == "vm-1"


def _until(terminal: int, seen: bytes, questions: int) -> bytes:
    """What was written so far, once there is one more question."""
    while seen.count(b"): ") <= questions:
        assert select.select([terminal], [], [], 60)[0], seen
        seen += os.read(terminal, 4096)
    return seen
