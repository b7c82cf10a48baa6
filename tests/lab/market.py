"""The lab's cloud: the market's own driver, with a real machine in the place of the process tree."""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from lab.nspawn import until
from lab.shell import Broken
from spoteval.clock import read_now
from spoteval.files import held, read_lines
from spoteval.local.cloud import CloudFiles
from spoteval.local.machine import Machine
from spoteval.local.market import Market, Weather
from spoteval.local.node import Driver
from spoteval.shape import Table

EVERY_S = 0.05


class LabDriver(Driver):
    """The market's driver, whose market may be changed between two lives."""

    def windows_are(self, window_s: float) -> None:
        """From now on a power button leaves so many seconds."""
        self._market = replace(self._market, button_s=window_s)


class Cloud:
    """One instance of the local cloud, whose machine is `guest`."""

    def __init__(self, root: Path) -> None:
        self.files = CloudFiles(root)
        self.failed: Exception | None = None
        self.driver: LabDriver | None = None

    @property
    def state(self) -> str:
        """What the provider would say."""
        found = self.files.read_state()
        return found.text("state") if isinstance(found, Table) else "UNKNOWN"

    def start(self) -> None:
        """A person's start, at the provider's own console."""
        self.files.ask("start", read_now())
        self.becomes("RUNNING", 30.0)

    def becomes(self, state: str, within_s: float) -> float:
        """Wait for a state and return for how long. Raises Broken."""
        return until(lambda: self._alive() and self.state == state, within_s, f"the state {state}")

    def history(self) -> list[Mapping[str, object]]:
        """What the market did, in order."""
        return list(read_lines(self.files.history).records)

    def did(self, what: str) -> int:
        """How often it did that."""
        return sum(line.get("what") == what for line in self.history())

    def _alive(self) -> bool:
        if self.failed is not None:
            raise Broken(f"the market's driver: {self.failed}")
        return True


@contextmanager
def driven(
    cloud: Cloud, guest: Machine, weather: Weather, window_s: float, seed: int
) -> Iterator[None]:
    """The market drives the guest for as long as the block lasts; then nothing of the guest lives."""
    driver = LabDriver(cloud.files, guest, Market(seed, weather, button_s=window_s))
    over = threading.Event()

    def drive() -> None:
        try:
            while not over.is_set():
                driver.tick(read_now())
                time.sleep(EVERY_S)
        except Exception as error:  # noqa: BLE001  told by whoever waits for the cloud next
            cloud.failed = error

    with held(cloud.files.lock):
        driver.power_on(read_now())
        cloud.driver = driver
        cloud.files.requests.chmod(0o777)  # every host may call, and ask whether somebody answers
        cloud.files.lock.chmod(0o644)
        thread = threading.Thread(target=drive, name="market", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(60.0)
            driver.power_off(read_now())
