"""publication-follower and a store that is slow, or says what it should not: it goes forward, hears, and lives."""

import hashlib
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from follower_world import Clock, Guest
from small_service import Asked, Small, small
from spoteval.clock import Now, read_now
from spoteval.control import requests
from spoteval_agents.publication_follower import cycle as module
from spoteval_agents.publication_follower.agent import guarded
from spoteval_agents.publication_follower.cycle import cycle
from spoteval_agents.publication_follower.memory import Memory

GIVEN_UP = "given up, since something more urgent waits"
pytestmark = pytest.mark.runs("small services on loopback, in threads of this process")


class Real(Clock):
    """The clock of this host: waits are real here."""

    def __call__(self) -> Now:
        """The present moment."""
        return read_now()


def guest_of(root: Path, service: Small, episodes: int, parts: int = 1) -> Guest:
    """A guest whose journal knows its run, with episodes of so many parts besides their record."""
    guest = Guest(root, clock=Real())
    store: Any = service.store()
    store.inner = store
    guest.store = store
    cycle(guest.world, guest.memory)
    for number in range(episodes):
        files = {f"{part}.txt": b"%03d" % number for part in range(parts)}
        guest.finish(str(number), files)
    guest.memory.due_s = 0.0
    return guest


def manifests(service: Small) -> int:
    """How many episodes are published."""
    return sum(path.endswith("/MANIFEST.json") for path in service.objects)


def test_a_slow_service_has_some_whole_and_not_all_halves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slice that has time for a third of a batch: as many episodes are published, and none is left begun."""
    monkeypatch.setattr(module, "SLICE_S", 1.0)
    lag_s = [0.0]

    def react(service: Small, asked: Asked, body: bytes) -> None:
        threading.Event().wait(lag_s[0])
        service.take(asked, body)

    with small(react) as service:
        guest = guest_of(tmp_path, service, 64, parts=23)
        lag_s[0] = 0.04
        cycle(guest.world, guest.memory)
        begun = {path.rsplit("/", 2)[0] for path in service.objects if "/0.txt" in path}
        assert 0 < manifests(service) == len(begun) < 64


@pytest.mark.parametrize("stage", ["0.txt", "episode.json", "MANIFEST.json"])
def test_a_final_pass_is_heard_while_nobody_answers(
    tmp_path: Path, stage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """In whatever stage of a batch: calls under way do not last until they would end by themselves."""
    free, stalled = threading.Event(), threading.Event()

    def react(service: Small, asked: Asked, body: bytes) -> None:
        if asked.path.endswith(stage):
            stalled.set()
            free.wait(60.0)
        service.take(asked, body)

    asked_while(tmp_path, react, stalled)
    free.set()
    assert GIVEN_UP in capsys.readouterr().err


def test_a_final_pass_is_heard_while_lanes_wait(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A service that asks to be left alone for long."""
    stalled = threading.Event()

    def react(service: Small, asked: Asked, body: bytes) -> None:
        if "/episodes/" not in asked.path:
            service.take(asked, body)
            return
        stalled.set()
        asked.send_response(503)
        asked.send_header("Retry-After", "15")
        asked.send_header("Content-Length", "0")
        asked.end_headers()

    asked_while(tmp_path, react, stalled)
    assert GIVEN_UP in capsys.readouterr().err


def asked_while(
    root: Path,
    react: Callable[[Small, Asked, bytes], None],
    stalled: threading.Event,
    before: Callable[[], None] = lambda: None,
) -> None:
    """A pass, and a request for a final one as soon as something in it is stalled."""
    with small(react) as service:
        guest = guest_of(root, service, 16)

        def ask() -> None:
            stalled.wait(30.0)
            requests.ask(guest.disk, requests.FINAL, "test", 20.0, read_now())

        asker = threading.Thread(target=ask)
        before()
        asker.start()
        cycle(guest.world, guest.memory)
        asker.join()


def test_a_resolver_that_hangs_is_no_deafness(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names are looked up aside."""
    real, free, stalled = socket.getaddrinfo, threading.Event(), threading.Event()

    def hang(*args: Any, **options: Any) -> Any:
        stalled.set()
        free.wait(60.0)
        return real(*args, **options)

    def react(service: Small, asked: Asked, body: bytes) -> None:
        service.take(asked, body, close=True)

    asked_while(tmp_path, react, stalled, lambda: monkeypatch.setattr(socket, "getaddrinfo", hang))
    free.set()
    assert GIVEN_UP in capsys.readouterr().err


def test_bytes_that_are_not_named_hold_up_one_episode(tmp_path: Path) -> None:
    """The process lives, and the others are published."""

    def react(service: Small, asked: Asked, body: bytes) -> None:
        if "If-None-Match" in asked.headers:
            asked.say(501, b"<Error><Code>NotImplemented</Code></Error>")
            return
        service.objects.setdefault(asked.path, body)
        weak = "W/" if "/episodes/3/" in asked.path else ""
        asked.say(200, etag=f'{weak}"{hashlib.md5(body).hexdigest()}"')

    with small(react) as service:
        guest = guest_of(tmp_path, service, 8)
        guarded(cycle, guest.world, guest.memory)
        assert manifests(service) == 7


def test_a_role_that_is_refused_ends_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be granted again; nothing is witnessed until then."""
    with small() as service:
        guest = guest_of(tmp_path, service, 8)

        def refused(*_: object, **__: object) -> bytes:
            raise ClientError({"Error": {"Code": "AccessDenied"}}, "AssumeRoleWithWebIdentity")

        with monkeypatch.context() as patch:
            patch.setattr("spoteval.store.s3_signer.Signer.head", refused)
            guarded(cycle, guest.world, guest.memory)
        assert guest.witness() == []
        guest.memory = Memory()
        guarded(cycle, guest.world, guest.memory)
        assert manifests(service) == 8
