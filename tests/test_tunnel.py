"""spoteval tunnel: where the guest is now, which ssh leads there, and a real one on loopback."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import requests

from cli_hosts import Hosts, made_hosts, restarter_file
from fake_model_server import KEY, of_kind, serving
from spoteval.config.restarter import read_restarter
from spoteval.config.shared import ConfigError
from spoteval.config.tunnel import TunnelSettings
from spoteval.control.dropins import restarter_credentials, restarter_dropins
from spoteval.control.facts import BOOTED, put_fact
from spoteval.control.refused import Failed
from spoteval.control.tunnel import address_now, ssh_command, told_addresses
from spoteval.store.contract import StoreError
from spoteval.store.file import FileStore

ROOT = Path(__file__).resolve().parent.parent
TUNNEL = TunnelSettings(name="policy", instance="gpu-1", user="tunnel", credential="tunnel-key")
TABLE = """
[tunnel.policy]
instance = "gpu-1"
user = "{user}"
credential = "tunnel-key"
known_hosts = "{known}"
local_port = {local}
remote_port = {remote}
ssh_port = {ssh}
"""


def booted(store: FileStore, seq: int, addresses: object) -> None:
    """A boot that told its addresses."""
    put_fact(store, "gpu-1", seq, f"session{seq}", BOOTED, {"addresses": addresses})


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    """A store with two boots, and facts that are no boot's."""
    (tmp_path / "store").mkdir()
    found = FileStore(tmp_path / "store")
    booted(found, 1, {"eth0": ["10.0.0.1"]})
    booted(found, 2, {
        "docker0": ["172.17.0.1"], "eth0": ["fe80::1", "2001:db8::7", "10.0.0.2"],
        "odd": "text", "bad": ["no address", "-oProxyCommand=x"],
    })  # fmt: skip
    put_fact(found, "gpu-1", 0, "check", "check", {})
    return found


def test_the_newest_boot_says_where_it_is(store: FileStore) -> None:
    """IPv4 first; neither what only the guest reaches nor what is no address."""
    assert list(told_addresses(store, "gpu-1")) == ["10.0.0.2", "2001:db8::7"]
    assert list(told_addresses(store, "gpu-9")) == []
    booted(store, 3, {"eth0": ["10.0.0.3"]})
    assert address_now(TUNNEL, store, reach=lambda place, port: True) == "10.0.0.3"


def test_the_first_place_that_answers_is_taken(store: FileStore) -> None:
    """A fixed address goes before all, one that was typed for ssh after all; nowhere is an error with a hint."""
    only = "2001:db8::7"
    assert address_now(TUNNEL, store, reach=lambda place, port: place == only) == only
    assert (
        address_now(TUNNEL, store, "gpu.lan", lambda place, port: place == "gpu.lan") == "gpu.lan"
    )
    fixed = replace(TUNNEL, address="192.0.2.9")
    assert address_now(fixed, None, reach=lambda place, port: False) == "192.0.2.9"
    with pytest.raises(Failed, match=r"gpu-1 does not answer at 10\.0\.0\.2:22, .*RUNNING"):
        address_now(TUNNEL, store, reach=lambda place, port: False)
    with pytest.raises(Failed, match="no boot of gpu-1 has told its address"):
        address_now(TUNNEL, None, reach=lambda place, port: True)


def test_a_fact_that_cannot_be_read_is_no_address(store: FileStore) -> None:
    """Unknown is not nowhere."""
    store.put("instances/gpu-1/boots/000009-s/booted.json", b"{")
    with pytest.raises(StoreError, match="damaged"):
        list(told_addresses(store, "gpu-1"))


def test_ssh_takes_no_other_host_key_and_no_other_key() -> None:
    """By the instance's name, since its address changes; the address can be no option."""
    words = ssh_command(TUNNEL, "10.0.0.2", Path("/run/c"))
    options = [words[n + 1] for n, word in enumerate(words) if word == "-o"]
    assert {
        "StrictHostKeyChecking=yes",
        'UserKnownHostsFile="/etc/spoteval/known_hosts"',
        "GlobalKnownHostsFile=none",
        "HostKeyAlias=gpu-1",
        'IdentityFile="/run/c/tunnel-key"',
        "IdentitiesOnly=yes",
        "ExitOnForwardFailure=yes",
        "BatchMode=yes",
    } <= set(options)
    assert words[words.index("-L") + 1] == "127.0.0.1:8000:127.0.0.1:8000"
    assert words[:3] == ["ssh", "-F", "none"]
    assert words[-2:] == ["--", "10.0.0.2"]


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ('instance = "gpu-9"', '[tunnel.a] instance "gpu-9": no such instance (gpu-1)'),
        ('user = "-oX"', '[tunnel.a] user "-oX": must be a name'),
        ("local_port = 70000", "[tunnel.a] local_port 70000: must be 1 to 65535"),
        ("known_hosts = 'x'", '[tunnel.a] known_hosts "x": must be an absolute path'),
        ("port = 1", "[tunnel.a] port: unknown key"),
    ],
)
def test_a_wrong_tunnel_is_one_line(tmp_path: Path, more: str, line: str) -> None:
    """And an agent that has nothing to do with it goes on."""
    said = {"instance": '"gpu-1"', "user": '"eval"', "credential": '"k"'}
    key, _, value = more.partition(" = ")
    table = "".join(f"{k} = {v}\n" for k, v in {**said, key: value}.items())
    path = tmp_path / "config.toml"
    path.write_text(f"{restarter_file(tmp_path)}\n[tunnel.a]\n{table}")
    with pytest.raises(ConfigError) as caught:
        read_restarter(path)
    assert line in str(caught.value)
    assert line in " ".join(read_restarter(path, "restarter").warnings)


def test_two_tunnels_cannot_have_one_port(tmp_path: Path) -> None:
    """Of this host; on the guest they may lead to one server."""
    path = tmp_path / "config.toml"
    table = '[tunnel.{}]\ninstance = "gpu-1"\nuser = "e"\ncredential = "k"\n'
    path.write_text(restarter_file(tmp_path) + table.format("a") + table.format("b"))
    with pytest.raises(ConfigError, match=r"local_port 8000: \[tunnel\.a\] has it already"):
        read_restarter(path)


def test_setup_tells_each_tunnel_of_its_keys(tmp_path: Path) -> None:
    """The private key for it alone; the restarter's unit gets none of them."""
    path = tmp_path / "config.toml"
    path.write_text(restarter_file(tmp_path) + TABLE.format(
        user="e", known="/k", local=8000, remote=8000, ssh=22))  # fmt: skip
    config = read_restarter(path)
    assert restarter_credentials(config) == ("tunnel-key",)
    found = restarter_dropins(config, Path("/c"), ["tunnel-key"])
    assert found["spoteval-tunnel@policy.service"].endswith(
        "LoadCredential=tunnel-key:/c/tunnel-key\n"
    )
    assert "tunnel-key" not in found.get("spoteval-restarter.service", "")
    assert "spoteval-tunnel@policy.service" not in restarter_dropins(config, Path("/c"), [])


@dataclass
class Guest:
    """A real sshd on loopback, and a host that may log in."""

    hosts: Hosts
    port: int
    local: int
    known: Path

    def configure(self, remote: int) -> None:
        """The restarter host with its tunnel."""
        user = os.environ.get("USER") or "root"
        table = TABLE.format(
            user=user, known=self.known, local=self.local, remote=remote, ssh=self.port
        )
        self.hosts.configure("restarter", restarter_file(self.hosts.base) + table)

    @contextmanager
    def tunnel(self) -> Iterator["subprocess.Popen[str]"]:
        """The command, until it is ended."""
        ours = {k: v for k, v in self.hosts.environment("restarter").items() if v is not None}
        child = subprocess.Popen(
            [sys.executable, "-c", "from spoteval.cli import main; main()", "tunnel", "policy"],
            env={**os.environ, **ours, "PYTHONPATH": str(ROOT / "common")},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        try:
            yield child
        finally:
            child.kill()
            child.communicate(timeout=30)


@pytest.fixture
def guest(tmp_path: Path) -> Iterator[Guest]:
    """sshd with a key of its own; skipped where there is none."""
    sshd = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin") or shutil.which("sshd")
    if sshd is None or os.geteuid() != 0:
        pytest.skip("needs root and sshd (apt install openssh-server)")
    hosts = made_hosts(tmp_path)
    keys = hosts.base / "restarter" / "credentials"
    (hosts.base / "restarter" / "state").mkdir(parents=True, exist_ok=True)
    keys.mkdir(parents=True, exist_ok=True)
    for path in (tmp_path / "host", keys / "tunnel-key"):
        make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)]
        subprocess.run(make, check=True, timeout=30)
    port, local = free_port(), free_port()
    shutil.copy(keys / "tunnel-key.pub", tmp_path / "authorized")
    known = tmp_path / "known_hosts"
    known.write_text(f"gpu-1 {(tmp_path / 'host.pub').read_text()}")
    settings = tmp_path / "sshd_config"
    settings.write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nListenAddress 127.0.0.2\n"
        f"HostKey {tmp_path}/host\nAuthorizedKeysFile {tmp_path}/authorized\nStrictModes no\n"
        f"PidFile none\nUsePAM no\nPermitRootLogin prohibit-password\n"
    )
    Path("/run/sshd").mkdir(exist_ok=True)  # where sshd confines its own child
    daemon = subprocess.Popen(
        [sshd, "-D", "-e", "-f", str(settings)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield Guest(hosts, port, local, known)
    finally:
        daemon.terminate()
        daemon.wait(30)


def free_port() -> int:
    """One that nobody has."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def through(guest: Guest, child: "subprocess.Popen[str]") -> int:
    """The status that the server answers at this end of the tunnel, once it is up."""
    for _ in range(300):
        if child.poll() is not None:
            raise AssertionError(child.communicate()[1])
        try:
            return requests.get(f"http://127.0.0.1:{guest.local}/health", timeout=5).status_code
        except requests.ConnectionError:
            time.sleep(0.1)
    raise AssertionError("the tunnel did not come up")


@pytest.mark.runs("a real sshd and a real ssh on loopback")
def test_a_tunnel_leads_to_where_the_guest_is_now(guest: Guest) -> None:
    """Up, over; then the guest has another address, and the next connect finds it there by itself."""
    booted(guest.hosts.store, 1, {"eth0": ["127.0.0.1"]})
    with serving(of_kind("vllm", key=KEY), "vllm") as server:
        guest.configure(int(server.url.rpartition(":")[2]))
        for seq, address in ((1, "127.0.0.1"), (2, "127.0.0.2")):
            booted(guest.hosts.store, seq, {"eth0": [address]})
            with guest.tunnel() as child:
                assert through(guest, child) == 200
                assert child.stdout is not None
                line = child.stdout.readline()
            said = f"decision=connect instance=gpu-1 address={address} local_port={guest.local}"
            assert line.startswith(f"agent=tunnel@policy {said}")


@pytest.mark.runs("a real sshd and a real ssh on loopback")
def test_another_host_key_is_never_taken(guest: Guest) -> None:
    """Whoever has the address now is not the guest: no byte goes through, and the file stays as it was."""
    booted(guest.hosts.store, 1, {"eth0": ["127.0.0.1"]})
    guest.configure(9)
    other = guest.known.with_name("other")
    make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)]
    subprocess.run(make, check=True, timeout=30)
    for text in (f"gpu-1 {other.with_suffix('.pub').read_text()}", ""):
        guest.known.write_text(text)
        with guest.tunnel() as child:
            _, err = child.communicate(timeout=60)
        assert child.returncode == 255
        assert "Host key verification failed." in err
        assert guest.known.read_text() == text


@pytest.mark.runs("a real sshd and a real ssh on loopback")
def test_a_port_that_is_taken_here_ends_it(guest: Guest) -> None:
    """A tunnel that is up and leads nowhere would be worse: its unit tries again."""
    booted(guest.hosts.store, 1, {"eth0": ["127.0.0.1"]})
    guest.configure(9)
    with socket.socket() as other:
        other.bind(("127.0.0.1", guest.local))
        other.listen()
        with guest.tunnel() as child:
            _, err = child.communicate(timeout=60)
    assert child.returncode == 255
    assert "forwarding" in err


def test_a_name_that_nobody_configured_is_refused(tmp_path: Path) -> None:
    """With those that are."""
    hosts = made_hosts(tmp_path)
    done = hosts.restarter("tunnel", "judge")
    assert (done.code, done.err) == (3, 'tunnel: "judge": no such tunnel (configured: none)\n')


def test_the_command_can_be_looked_at(tmp_path: Path) -> None:
    """For who wants to try it by hand."""
    hosts = made_hosts(tmp_path)
    table = TABLE.format(user="e", known="/k", local=8000, remote=8001, ssh=22)
    text = f'{restarter_file(tmp_path)}{table}address = "192.0.2.1"\n'
    hosts.configure("restarter", text)
    done = hosts.restarter("tunnel", "policy", "--print")
    assert done.code == 0
    assert done.out.startswith("ssh -F none -N -T ")
    assert done.out.endswith("-L 127.0.0.1:8000:127.0.0.1:8001 -p 22 -l e -- 192.0.2.1\n")
