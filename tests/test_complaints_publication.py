"""What users of neighbouring tools complain of, about publication: each test has the number of its complaint."""

import errno
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fault_proxy import Fault, proxy_to
from follower_bucket import bucket_guest
from follower_world import RUN, Guest
from s3_hosts import store_table, write_key
from s3_server import Service
from spoteval.control import requests
from spoteval.control.requests import FINAL, Answer
from spoteval.loop import Wake
from spoteval.machine.systemd import Notifier
from spoteval.publication.verify import compare
from spoteval.store.contract import StoreError
from spoteval_agents.publication_follower import agent
from spoteval_agents.publication_follower.cycle import LAST_S, cycle

ROOT = Path(__file__).parent.parent
FOLLOWER = ROOT / "agents/spoteval_agents/publication_follower"
STORES = ROOT / "common/spoteval/store"


@pytest.fixture
def guest(tmp_path: Path) -> Guest:
    """A guest with one finished episode."""
    guest = Guest(tmp_path / "guest")
    guest.finish("1")
    return guest


def passes(guest: Guest, count: int = 1, each_s: float = 61.0) -> None:
    """Time passes, then a pass; so many times."""
    for _ in range(count):
        guest.later(each_s)
        cycle(guest.world, guest.memory)


def quiet(guest: Guest) -> list[str]:
    """What the store has, signs of life apart."""
    keys = guest.keys()
    return [key for key in keys if not key.startswith("heartbeat/")]


def manifests(keys: list[str]) -> list[str]:
    """Episodes that are published."""
    return sorted(key.split("/")[1] for key in keys if key.endswith("/MANIFEST.json"))


def test_complaint_56_same_size_same_time_other_bytes_is_seen(guest: Guest) -> None:
    """A file that changes in place keeps size and mtime: its new bytes go all the same."""
    path = guest.paths.work / "intended.json"
    path.write_text('["1"]')
    passes(guest, 3)
    before = path.stat()
    path.write_text('["2"]')
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    passes(guest, 2)
    newest = max(guest.keys("state/work/intended.json/"))
    assert guest.store.get(f"runs/{RUN}/{newest}") == b'["2"]'


def test_complaint_59_a_pass_looks_for_itself_and_trusts_no_events(guest: Guest) -> None:
    """Hundreds of quiet passes later what came without any event is found; no watch of a kernel is asked for."""
    passes(guest, 300, 61.0)
    guest.finish("2")
    passes(guest, 2)
    assert manifests(guest.keys()) == ["1", "2"]
    words = re.compile(r"inotify|fanotify|watchdog\.observers|pyinotify")
    assert not [path for path in FOLLOWER.glob("*.py") if words.search(path.read_text())]


@pytest.mark.parametrize("how", ["work is gone", "episodes are gone", "disk is gone"])
def test_complaint_61_a_source_that_is_gone_takes_nothing_with_it(
    guest: Guest, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """No request, the store stays; what is not the proved disk is an error."""
    passes(guest, 3)
    before = quiet(guest)
    guest.asked()
    places = {"work is gone": guest.paths.work, "disk is gone": guest.disk.disk}
    place = places.get(how, guest.paths.work / "episodes")
    place.rename(guest.root / "away")
    capsys.readouterr()
    passes(guest, 3)
    assert guest.asked() == []
    assert quiet(guest) == before
    if how == "disk is gone":
        assert "decision=no-disk" in capsys.readouterr().err


def test_complaint_61_no_store_has_a_way_to_delete() -> None:
    """Not a method, not a call of a client, not a DELETE but of an upload that was begun."""
    for path in STORES.glob("*.py"):
        assert not re.search(r"delete_object|DeleteObject|def delete\b", path.read_text())


@pytest.mark.runs("a real service on loopback, started once for all of them")
def test_complaint_62_a_pass_under_a_key_that_may_only_put(
    tmp_path: Path, moto_service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Users and policies enforced: episodes and logs arrive, and nothing but PUT was sent."""
    with proxy_to(moto_service.endpoint) as proxy:
        bucket = bucket_guest(tmp_path / "guest", moto_service, proxy, monkeypatch)
        bucket.guest.finish("1")
        bucket.passes(3)
        assert manifests(bucket.stored()) == ["1"]
        assert {method for method, _ in bucket.asked()} == {"PUT"}


def test_complaint_65_a_final_pass_tries_again_and_leaves_a_list(
    guest: Guest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first puts fail: tried again inside the bound. What is left is on the disk and goes at the next boot."""
    real, left = guest.store.put, [2]

    def put(key: str, data: bytes) -> object:
        if "/episodes/" in key and left[0]:
            left[0] -= 1
            raise StoreError("429: the service cannot take it now")
        return real(key, data)

    monkeypatch.setattr(guest.store, "put", put)
    asked = requests.ask(guest.disk, FINAL, "shutdown-hook", 30.0, guest.clock())
    cycle(guest.world, guest.memory)
    found = requests.answer(guest.disk, asked)
    assert isinstance(found, Answer)
    if found.left:
        guest.reboot("s2")
        passes(guest, 2)
    assert manifests(guest.keys()) == ["1"]


@pytest.mark.runs("the real process against an endpoint that never answers")
def test_complaint_67_term_ends_it_within_its_bound_at_a_black_hole(
    guest: Guest, moto_service: Service
) -> None:
    """A store that takes connections and says nothing: TERM in the middle of a put, exit within bound + 1 s."""
    with proxy_to(moto_service.endpoint) as proxy:
        proxy.always = Fault(stall_s=60.0)
        write_key(guest.root / "keys", "publisher", moto_service)
        config = guest.root / "config.toml"
        table = store_table(moto_service, "publisher", proxy.endpoint)
        config.write_text(re.sub(r'url = "file://.*"', lambda _: table, config.read_text()))
        env = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join(str(ROOT / part) for part in ("common", "agents")),
            "SPOTEVAL_CONFIG": str(config),
            "SPOTEVAL_RUN_DIRECTORY": str(guest.root / "run"),
            "SPOTEVAL_STATE_DIRECTORY": str(guest.root / "state"),
            "SPOTEVAL_CREDENTIALS_DIRECTORY": str(guest.root / "keys"),
        }
        (guest.root / "run").mkdir()
        _claimed(guest, guest.root / "run")
        code = "from spoteval_agents.publication_follower.agent import main; main()"
        with subprocess.Popen([sys.executable, "-c", code], env=env, stderr=-3) as process:
            until_s = time.monotonic() + 60
            while not proxy.seen and time.monotonic() < until_s:
                time.sleep(0.05)
            assert proxy.seen
            began_s = time.monotonic()
            process.terminate()
            process.wait(60)
            took_s = time.monotonic() - began_s
    assert process.returncode == 0
    assert took_s <= LAST_S + 1.0


def _claimed(guest: Guest, run: Path) -> None:
    """This session holds the epoch that the disk claimed."""
    from spoteval.clock import read_now
    from spoteval.machine.session import this_session

    session = this_session(run / "session", read_now().boot).id
    note = guest.paths.epochs / "1.json"
    note.write_text(json.dumps({"format": 1, "epoch": 1, "session": session}))


class Waits:
    """A waker for so many rounds, then a signal."""

    def __init__(self, guest: Guest, rounds: int) -> None:
        self.guest, self.rounds = guest, rounds

    def wait(self, timeout_s: float) -> Wake:
        """Time passes."""
        self.guest.later(timeout_s)
        if timeout_s > 0:
            self.rounds -= 1
        return Wake("time" if self.rounds >= 0 else "signal")


class Dog(Notifier):
    """Counts what systemd is told."""

    def __init__(self) -> None:
        super().__init__({})
        self.fed = 0

    def watchdog(self) -> None:
        """Fed."""
        self.fed += 1


def test_complaint_68_only_a_pass_that_ended_feeds_the_watchdog(
    guest: Guest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A loop that stalls inside a pass stays hungry, and systemd starts it anew."""
    dog, fed_before = Dog(), list[int]()
    real: Callable[..., None] = cycle

    def watched(*given: object) -> None:
        fed_before.append(dog.fed)
        real(*given)
        fed_before.append(dog.fed)

    monkeypatch.setattr(agent, "cycle", watched)
    agent.run(guest.world, guest.memory, Waits(guest, 2), dog)
    assert dog.fed == len(fed_before) // 2
    unit = (ROOT / "units/spoteval-publication-follower.service").read_text()
    assert "WatchdogSec=" in unit
    assert "Restart=" in unit


def test_complaint_69_nothing_in_the_store_locks_anybody_out(guest: Guest) -> None:
    """Power is cut between two puts: the next life goes on at once, and no object says that somebody is at work."""
    guest.store.refused = ("/MANIFEST.json",)
    passes(guest, 2)
    guest.store.refused = ()
    guest.reboot("s2")
    passes(guest, 2)
    assert manifests(guest.keys()) == ["1"]
    keys = guest.keys()
    assert not [key for key in keys if "lock" in key.lower()]
    assert compare(guest.store.inner, RUN, guest.paths.root).verified


def test_complaint_75_a_full_disk_that_shows_at_fsync_publishes_nothing_false(
    guest: Guest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """write(2) took it, fsync says ENOSPC: no manifest goes before its witness is durable; with room it all goes."""
    real, full = os.fsync, [True]

    def fsync(descriptor: int) -> None:
        name = str(Path(f"/proc/self/fd/{descriptor}").readlink())
        if full[0] and name.endswith("finished.jsonl"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), name)
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "fdatasync", fsync)
    for _ in range(2):
        guest.later(61)
        agent.guarded(cycle, guest.world, guest.memory)
    assert manifests(guest.keys()) == []
    full[0] = False
    passes(guest, 3)
    assert manifests(guest.keys()) == ["1"]
    assert [line["episode"] for line in guest.witness()][-1] == "1"
    assert compare(guest.store.inner, RUN, guest.paths.root).verified
