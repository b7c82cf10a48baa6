"""Both hosts and a laptop over an S3 service, each with the key that docs/stores/s3.md gives it; real agents."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cli_hosts import Hosts, Typed
from s3_hosts import laptop, s3_hosts
from s3_server import Service, moto
from spoteval.clock import monotonic_s
from spoteval.publication.keys import MANIFEST
from spoteval.store.contract import Store
from test_follower_agent import CODE, SOURCES

pytestmark = pytest.mark.runs("real agents and a real service on loopback")
RUN = "q1"
EPISODES = {
    "1": {"log.txt": b"one\n", "deep/er/data.bin": bytes(range(256)) * 40},
    "2": {"log.txt": b"two\r\n\x00\xff", "empty": b""},
    "3": {"a b%2F é.txt": b"three"},
}
RESTARTER = "from spoteval_agents.restarter.agent import main; main()"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One of its own: holds and runs of other tests would be seen."""
    with moto(tmp_path_factory.mktemp("moto")) as one:
        yield one


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory, service: Service) -> Hosts:
    """A guest whose run has finished episodes, and whose life has claimed an epoch."""
    found = s3_hosts(tmp_path_factory.mktemp("hosts"), service)
    found.booted()
    assert said(found.guest("run", "new", RUN)).code == 0
    assert said(found.guest("run", "start", RUN)).code == 0
    for name, files in EPISODES.items():
        folder = found.disk.run(RUN).work / "episodes" / name
        for file, data in files.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_bytes(data)
        (folder / "episode.json").write_text(json.dumps({"verdict": "C"}))
    return found


def said(done: Typed) -> Typed:
    """Show what it wrote where it fails."""
    print(done.out, done.err)
    return done


@contextmanager
def process(hosts: Hosts, host: str, code: str) -> Iterator["subprocess.Popen[bytes]"]:
    """An agent on that host."""
    env = {name: value for name, value in hosts.environment(host).items() if value is not None}
    env |= {"PYTHONPATH": os.pathsep.join(SOURCES)}
    argv, pipe = [sys.executable, "-c", code], subprocess.PIPE
    with subprocess.Popen(argv, env=os.environ | env, stdout=pipe, stderr=pipe) as one:
        try:
            yield one
        finally:
            one.kill()


def ended(one: "subprocess.Popen[bytes]") -> tuple[bytes, bytes]:
    """Told to stop, as systemd does."""
    one.send_signal(signal.SIGTERM)
    return one.communicate(timeout=60)


def wait_until(met: Callable[[], bool]) -> None:
    """Poll; fails when it does not come."""
    until_s = monotonic_s() + 60.0
    while not met():
        assert monotonic_s() < until_s
        time.sleep(0.1)


def published(store: Store) -> int:
    """Episodes with a manifest."""
    keys = [item.key for item in store.list(f"runs/{RUN}/episodes/")]
    return sum(key.endswith("/MANIFEST.json") for key in keys)


def test_the_life_of_a_run(hosts: Hosts, service: Service, tmp_path: Path) -> None:
    """Epoch claimed and episodes published by the key that may only put; pulled and verified by the one that reads."""
    epoch = said(hosts.guest("fact", "epoch", "--json"))
    assert epoch.record == {"epoch": 1}
    assert hosts.guest("fact", "epoch", "--json").record == {"epoch": 1}
    with process(hosts, "node", CODE) as follower:
        reader = service.store("reader")
        wait_until(lambda: published(reader) == len(EPISODES) or follower.poll() is not None)
        out, err = ended(follower)
    print(err.decode())
    assert follower.returncode == 0
    assert out == b"[]\n"  # nothing was imported once it was ready
    assert b"decision=published episodes=3" in err
    desk = laptop(service, tmp_path / "own", "reader")
    target = tmp_path / "pulled"
    done = said(hosts.laptop("pull", RUN, str(target), "--json", **desk))
    assert (done.code, done.record["episodes"], done.record["verified"]) == (0, 3, True)
    assert said(hosts.laptop("verify", str(target), **desk)).code == 0
    assert first_attempts(target / "episodes") == contents(hosts.disk.run(RUN).work / "episodes")
    for host in (hosts.restarter, hosts.guest):
        status = said(host("status"))
        assert RUN in status.out
    assert "3 finished" in said(hosts.laptop("status", RUN, **desk)).out
    again = hosts.laptop("events", **desk)
    assert again.code == 0


def contents(root: Path) -> dict[str, bytes]:
    """Every file below, by its path."""
    files = (path for path in root.rglob("*") if path.is_file())
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files}


def first_attempts(root: Path) -> dict[str, bytes]:
    """What was pulled of first attempts, by the names that it had on the guest."""
    found = {}
    for name, data in contents(root).items():
        episode, attempt, file = name.split("/", 2)
        assert attempt == "1"
        if file != MANIFEST:
            found[f"{episode}/{file}"] = data
    return found


def test_a_hold_of_the_guest_is_obeyed_and_released(
    hosts: Hosts, service: Service, tmp_path: Path
) -> None:
    """Proved by the key that cannot look; seen by the restarter; lifted by a person, not by the guest."""
    placed = said(hosts.guest("hold", "place", "--reason", "disk full", "--id", "h1", "--json"))
    assert placed.record == {"id": "h1", "strength": "proved"}
    assert hosts.guest("hold", "release", "--id", "h1").code == 3
    with process(hosts, "restarter", RESTARTER) as restarter:
        mirror = hosts.instance.hold.with_name("gpu-1.d")
        wait_until(lambda: mirror.is_dir() or restarter.poll() is not None)
        _, err = ended(restarter)
    print(err.decode())
    assert b"decision=held" in err
    assert b"disk full" in err
    desk = laptop(service, tmp_path / "own", "operator")
    mine = said(hosts.laptop("hold", "place", "gpu-1", "--reason", "mine", "--json", **desk))
    assert mine.record["strength"] == "read"
    freed = said(hosts.laptop("hold", "release", "gpu-1", "--json", **desk))
    assert sorted(freed.record["released"]) == sorted(["h1", mine.record["id"]])


def test_a_reader_holds_nothing(hosts: Hosts, service: Service, tmp_path: Path) -> None:
    """Exit 1, in one line that says why."""
    desk = laptop(service, tmp_path / "own", "reader")
    done = hosts.laptop("hold", "place", "gpu-1", "--reason", "x", **desk)
    assert done.code == 1
    assert "put: 403 AccessDenied: this key may not do that" in done.err
    assert done.err.count("\n") == 1


def test_facts_are_put_by_the_guest(hosts: Hosts, service: Service) -> None:
    """And read by the restarter."""
    done = said(hosts.guest("fact", "put", "healthy", "--body", '{"x": 1}', "--json"))
    assert json.loads(service.store("control").get(str(done.record["key"])))["x"] == 1


def test_stop_on_the_guest_has_its_hold_first(hosts: Hosts, service: Service) -> None:
    """A service that refuses the hold: nothing is stopped, and the line says why."""
    path = hosts.base / "node" / "credentials" / "publisher"
    own = path.read_text()
    path.write_text(service.ini("reader"))
    try:
        done = said(hosts.guest("stop", "--reason", "x", "--no-resume"))
    finally:
        path.write_text(own)
    assert done.code == 1
    assert "403 AccessDenied" in done.err
    assert not hosts.disk.guest_hold.exists()
