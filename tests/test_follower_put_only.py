"""publication_follower: a key that may put is enough for all that it does, and nothing else is ever asked.

Every test of the follower has a store without get and list: follower_world grants no more, and the services on
loopback enforce it by their own policies. Here the whole of what it does is played, and the log of requests summed.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

import follower_world
from fault_proxy import proxy_to
from follower_bucket import Bucket, bucket_guest
from follower_world import RUN, Guest
from put_only import ASKED, Denied
from s3_server import Service
from spoteval.control import requests
from spoteval.control.epochs import Claimant, claim
from spoteval.control.requests import FINAL, SOON
from spoteval.files import write_record
from spoteval.store.contract import Store
from spoteval.store.s3_parts import PART_BYTES
from spoteval_agents.publication_follower.cycle import cycle, last_cycle

_PARTS = {"uploads": "begin", "partNumber": "part", "uploadId": "end"}


def played(guest: Guest, taken: Callable[[str, bytes], object]) -> None:
    """All that a follower does in its life, several times over. `taken` puts what another machine has put."""
    work = guest.paths.work
    passes(guest, 2)
    for life in ("s2", "s3"):
        guest.finish(f"plain-{life}", {"log.txt": b"x" * 2000, "deep/er/file": b""})
        guest.log("events.jsonl", {"kind": "more", "session": life})
        (work / "state").mkdir(exist_ok=True)
        (work / "state" / "progress.json").write_text(json.dumps([life]))
        with closing(sqlite3.connect(work / "state" / "base.db")) as base:
            base.execute(f"CREATE TABLE {life} (n)")
        requests.ask(guest.disk, SOON, "boot-resume", 10.0, guest.clock())
        passes(guest, 2)
        taken(f"episodes/clash-{life}/1/log.txt", b"another's")
        guest.finish(f"clash-{life}")
        guest.finish(f"large-{life}", {"big": b"y" * (PART_BYTES + 1)})
        folder = guest.paths.interruptions / f"i-{life}"
        write_record(folder / "opened.json", {"session": life, "cause": "undecided"})
        write_record(folder / "closed.json", {"outcome": "resumed"})
        requests.ask(guest.disk, FINAL, "shutdown-hook", 30.0, guest.clock())
        passes(guest, 2, 301.0)
        last_cycle(guest.world, guest.memory)
        guest.reboot(life)
        passes(guest, 1)
    (guest.disk.publication / "journal.jsonl").unlink()
    guest.restart()
    passes(guest, 2)


def passes(guest: Guest, times: int, each_s: float = 61.0) -> None:
    """Time passes, then a pass; so many times."""
    for _ in range(times):
        guest.later(each_s)
        cycle(guest.world, guest.memory)


def published(keys: list[str]) -> list[str]:
    """Episodes with a manifest under their own name."""
    found = (key.split("/") for key in keys if key.endswith("/MANIFEST.json"))
    return sorted(words[1] for words in found if words[0] == "episodes")


PLAIN = ["large-s2", "large-s3", "plain-s2", "plain-s3"]


def test_put_only_is_enough_for_a_whole_life(tmp_path: Path) -> None:
    """In a directory: the sum of the log is puts, in this test and in every one before it."""
    before, guest = Counter(ASKED), Guest(tmp_path)
    played(guest, lambda key, data: guest.store.inner.put(f"runs/{RUN}/{key}", data))
    assert published(guest.keys()) == PLAIN
    assert len({key.split("/")[1] for key in guest.keys("conflicts/")}) == 2
    asked = Counter(ASKED) - before
    assert asked["put"] > 60
    assert asked.keys() == {"put"}
    assert ASKED.keys() == {"put"}


@pytest.mark.parametrize("verb", ["get", "list"])
def test_put_only_stores_of_the_tests_refuse_the_rest(tmp_path: Path, verb: str) -> None:
    """With what no code of the follower can take for an error of the store."""
    guest, before = Guest(tmp_path), Counter(ASKED)
    with pytest.raises(Denied):
        getattr(guest.granted, verb)("runs/")
    assert Counter(ASKED) - before == Counter({verb: 1})
    ASKED.subtract([verb])
    del ASKED[verb]


@pytest.mark.runs("a real service on loopback, started once for all of them")
def test_put_only_key_of_a_bucket_is_enough_for_a_whole_life(
    tmp_path: Path, moto_service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a bucket whose policy grants no more: PUT, and the calls of multipart, heartbeats and all."""
    with proxy_to(moto_service.endpoint) as proxy:
        bucket = bucket_guest(tmp_path, moto_service, proxy, monkeypatch)
        guest = bucket.guest
        guest.config = replace(guest.config, multipart_above_bytes=PART_BYTES)
        granted: Store = guest.store  # type: ignore[assignment]
        monkeypatch.setattr(Guest, "claim", lambda _: _claimed(guest, granted))
        played(guest, lambda key, data: _taken(bucket, key, data))
        assert published(bucket.stored()) == PLAIN
        summed = Counter(_call(method, path) for method, path, _ in proxy.seen)
    assert set(summed) == {"PUT", "multipart begin", "multipart part", "multipart end"}
    assert summed["PUT"] > 60
    assert summed["multipart part"] >= 4


def _claimed(guest: Guest, store: Store) -> int:
    who = Claimant(follower_world.RUN, "gpu-1", guest.session)
    return claim(store, guest.paths, who, guest.clock())


def _taken(bucket: Bucket, key: str, data: bytes) -> None:
    bucket.service.store("publisher").put(f"runs/{bucket.run}/{key}", data)


def _call(method: str, path: str) -> str:
    """What kind of request it is: by the parameters of multipart, else by its method."""
    names = dict(parse_qsl(urlsplit(path).query, keep_blank_values=True))
    kind = next((kind for name, kind in _PARTS.items() if name in names), None)
    if kind is None or (method, kind) not in {
        ("POST", "begin"),
        ("PUT", "part"),
        ("POST", "end"),
        ("DELETE", "end"),
    }:
        return method
    return f"multipart {kind}"
