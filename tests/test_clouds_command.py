"""The scenarios of every cloud, on provider `command`: its programs are one shell script over files of the test."""

import json
from pathlib import Path
from typing import ClassVar

import pytest

from cloud_machine import OnMachine
from cloud_scenarios import Between, CloudScenarios, Forms
from fakes.machine import Machine, fails_later, refused
from restarter_world import Clock
from spoteval.clock import stamp
from spoteval.local.market import StartAnswer, attempts
from spoteval.provider.command import CommandProvider, CommandSettings

PROGRAM = """\
#!/bin/sh
cd "$(dirname "$0")" || exit 9
case $SPOTEVAL_ASKED in start | stop) echo "$SPOTEVAL_ASKED" >>calls ;; esac
cat "$SPOTEVAL_ASKED"
exit "$(cat code)"
"""
OUTAGES = (("", 3), ("nonsense", 0), ('{"error": "timeout"}', 0), ('{"state": "Off"}', 0))
KINDS = {200: "accepted", 503: "capacity", 429: "quota"}

pytestmark = pytest.mark.runs("the programs of provider command are programs")


class CommandCloud(OnMachine):
    """What the script prints is written before each call; what it was asked to do happens before the next."""

    says_cause = True
    says_last_start = True
    bills_poweroff = True

    def __init__(self, root: Path) -> None:
        self.clock = Clock()
        self.machine = Machine(self.clock)
        self.root, self.program = root, root / "ask"
        self.program.write_text(PROGRAM)
        self.program.chmod(0o755)
        asked = (str(self.program),)
        settings = CommandSettings(asked, asked, asked, asked)
        provider = CommandProvider("gpu-1", "i-1", settings, self.clock)
        self.provider = Between(provider, at_call=self._step)
        self.price: float | None = 3.2
        self.error: str | None = None
        self.outage: tuple[str, int] | None = None
        self.gone = False
        self.obeyed = 0

    def deletes(self) -> None:
        self.gone = True

    def throttles(self) -> None:
        self.error = "rate"

    def lets_token_expire(self) -> None:
        """Its programs have their own."""

    def denies(self) -> None:
        self.error = "auth"

    def is_out(self, way: int) -> None:
        self.outage = OUTAGES[way % len(OUTAGES)]

    def recovers(self) -> None:
        self.error = self.outage = None

    def costs(self, amount: float | None) -> None:
        self.price = amount

    def starts(self) -> int:
        self._obey()
        return self._calls().count("start")

    def _calls(self) -> list[str]:
        calls = self.root / "calls"
        return calls.read_text().split() if calls.exists() else []

    def _obey(self) -> None:
        """A start or stop that the script was given since the last call."""
        for verb in self._calls()[self.obeyed :]:
            self.obeyed += 1
            if self.error is None:
                self.machine.start() if verb == "start" else self.machine.stop()

    def _next(self) -> StartAnswer:
        return self.machine.weather.start(0, attempts(self.machine.history))

    def _step(self) -> None:
        self._obey()
        text, code = self.outage if self.outage is not None else ("", 0)
        for verb, record in self._answers().items():
            (self.root / verb).write_text(text if self.outage else json.dumps(record))
        (self.root / "code").write_text(str(code))

    def _answers(self) -> dict[str, object]:
        if self.error is not None:
            found = {"error": self.error, "reply": self.error}
            return dict.fromkeys(("observe", "price", "start", "stop"), found)
        machine, answer = self.machine, self._next()
        state = "GONE" if self.gone else machine.state
        observed = {
            "state": state,
            "billed": machine.billed_off or state not in ("STOPPED", "GONE"),
            "last_start": stamp(machine.last_start) if machine.last_start else None,
            "cause": machine.cause if state == "STOPPED" else None,
            "evidence": "console",
        }
        price: object = {"amount": self.price, "currency": "USD"}
        return {
            "observe": observed,
            "price": price if self.price is not None else {"error": "unknown"},
            "start": {"reply": KINDS.get(answer.status, "unknown"), "detail": answer.error},
            "stop": {"reply": "accepted"},
        }


class TestCommand(CloudScenarios):
    """Provider `command`."""

    CAPACITY: ClassVar[Forms] = {"refused": refused("no-room", 503), "withdrawn": fails_later()}
    QUOTA: ClassVar[Forms] = {"refused": refused("no-quota", 429)}

    @pytest.fixture
    def cloud(self, tmp_path: Path) -> CommandCloud:
        """A cloud behind a script."""
        (tmp_path / "cloud").mkdir()
        return CommandCloud(tmp_path / "cloud")
