"""The scenarios of every cloud, on provider `local`: the fake is a driver that lives in the test."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import ClassVar

import pytest

from cloud_machine import OnMachine
from cloud_scenarios import Between, CloudScenarios, Forms
from fakes.machine import Machine, fails_later, refused
from restarter_world import Clock
from spoteval.clock import stamp
from spoteval.files import held, remove, write_record
from spoteval.local.cloud import CloudFiles
from spoteval.provider.local import LocalProvider

DAMAGES = ("", "{", '{"format": 1, "state": 5}', '{"format": 1}')


class LocalCloud(OnMachine):
    """The files of a local cloud, and a driver that answers while the provider waits."""

    says_cause = True
    says_last_start = True

    def __init__(self, root: Path) -> None:
        self.clock = Clock()
        self.machine = Machine(self.clock)
        self.files = CloudFiles(root)
        self.provider = Between(LocalProvider(root, self.clock, self._drive), at_call=self._write)
        self.price: float | None = 3.2
        self.refusal: int | None = None
        self.damage: str | None = None
        self.gone = False
        self.asked: list[str] = []

    def deletes(self) -> None:
        self.gone = True

    def throttles(self) -> None:
        self.refusal = 429

    def lets_token_expire(self) -> None:
        """Files need none."""

    def denies(self) -> None:
        self.refusal = 401

    def is_out(self, way: int) -> None:
        self.damage = DAMAGES[way % len(DAMAGES)]

    def recovers(self) -> None:
        self.refusal = self.damage = None

    def costs(self, amount: float | None) -> None:
        self.price = amount

    def starts(self) -> int:
        return self.asked.count("start")

    def _write(self) -> None:
        machine = self.machine
        state = "GONE" if self.gone else machine.state
        record: dict[str, object] = {
            "state": state,
            "billed": state not in ("STOPPED", "GONE"),
            "last_start": stamp(machine.last_start) if machine.last_start else None,
            "stop_reason": machine.cause if state == "STOPPED" else None,
        }
        if self.price is not None:
            record["price"] = {"amount": self.price, "currency": "USD", "per": "hour"}
        write_record(self.files.state, record)
        if self.damage is not None:
            self.files.state.write_text(self.damage)

    def _drive(self, seconds: float) -> None:
        """The driver's turn."""
        request = self.files.oldest_request()
        if request is None:
            return
        self.asked.append(request.verb)
        if self.refusal is not None:
            self.files.answer(request.id, self.refusal, None)
        elif request.verb == "stop":
            self.machine.stop()
            self.files.answer(request.id, 200, None)
        else:
            answer = self.machine.start()
            self.files.answer(request.id, answer.status, answer.error)


class TestLocal(CloudScenarios):
    """Provider `local`."""

    CAPACITY: ClassVar[Forms] = {"refused": refused("UNAVAILABLE", 503), "withdrawn": fails_later()}

    @pytest.fixture
    def cloud(self, tmp_path: Path) -> Iterator[LocalCloud]:
        """A cloud whose driver lives."""
        found = LocalCloud(tmp_path / "cloud")
        found.files.root.mkdir()
        with ExitStack() as stack:
            stack.enter_context(held(found.files.lock))
            yield found
        remove(found.files.lock)
