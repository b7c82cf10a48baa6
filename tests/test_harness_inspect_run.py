"""A real Inspect, killed and stopped again and again: what is finished stays finished."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness_runs import run_of
from spoteval.episode import Outcome, classify, tally
from spoteval.harness.inspect import Inspect
from spoteval.local.model_server import Server, Service
from spoteval.run import RunRecord

pytestmark = [pytest.mark.runs("a real evaluation over loopback, with kills"), pytest.mark.slow]

N = 12
ROOT = Path(__file__).resolve().parent.parent


class Lives:
    """One run, started and ended many times."""

    def __init__(self, work: Path, executable: str, port: int) -> None:
        self.work = work
        self.witness = work / "witness"
        self.unrecorded = 0
        env = {
            "LOCAL_BASE_URL": f"http://127.0.0.1:{port}/v1",
            "LOCAL_API_KEY": "none",
            "SPOTEVAL_WITNESS": str(self.witness),
            "PYTHONPATH": str(ROOT / "common"),
        }
        self.run: RunRecord = run_of(
            "inspect",
            args=("demo_task.py", "--model", "openai-api/local/stand-in", "-T", f"n={N}"),
            executable=executable,
            directory=str(ROOT / "common/spoteval/local"),
            concurrency=4,
            env=env,
        )

    def start(self, *more: str) -> "subprocess.Popen[bytes]":
        """As `run exec` does: prepare, then become the harness."""
        adapter = Inspect()
        adapter.prepare(self.run, self.work)
        command = adapter.command(self.run, self.work)
        path = {"PATH": os.environ["PATH"]}
        argv = [*command.argv, *more]
        return subprocess.Popen(argv, env={**path, **command.env}, cwd=command.cwd)

    def lines(self) -> list[list[str]]:
        """What the episodes say."""
        return [line.split() for line in self.witness.read_text().splitlines()]

    def wait_ends(self, count: int) -> None:
        """Until so many episodes have said that they ended."""
        deadline = time.monotonic() + 120
        while not (self.witness.exists() and self.counts()["end"] >= count):
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def end(self, process: "subprocess.Popen[bytes]", signum: signal.Signals) -> int:
        """Its exit code after this signal, sent when Inspect has every begin on its disk.

        An episode begins some milliseconds before Inspect records it. What begins between the look and the death may
        leave no attempt behind: counted in `unrecorded`.
        """
        begun = self._wait_recorded()
        process.send_signal(signum)
        code = process.wait()
        self.unrecorded += self.counts()["begin"] - begun
        return code

    def _wait_recorded(self) -> int:
        """Until every begin is an attempt; how many there are."""
        deadline = time.monotonic() + 120
        while True:
            begun = self.counts()["begin"]
            found = Inspect().survey(self.run, self.work)
            if len(found.attempts) + len(found.in_flight) + len(found.pending) >= begun:
                return begun
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def counts(self) -> Counter[str]:
        """Begins, ends, cuts."""
        return Counter(line[0] for line in self.lines())

    def begun_after_end(self) -> list[str]:
        """Samples that began although they had ended."""
        ended: set[str] = set()
        again = []
        for word, sample, *_ in self.lines():
            if word == "begin" and sample in ended:
                again.append(sample)
            elif word == "end":
                ended.add(sample)
        return again

    def give_the_buffer_a_living_process(self) -> None:
        """As a reboot does: the number in its name is now that of another process."""
        (path,) = (self.work / "home").rglob("*.db")
        for end in ("", "-wal", "-shm"):
            old = Path(f"{path}{end}")
            old.rename(old.with_name(old.name.replace(path.name.split(".")[-2], str(os.getpid()))))


@pytest.fixture
def lives(tmp_path: Path) -> Iterator[Lives]:
    """A run whose model is the stand-in."""
    found = shutil.which("inspect", path=str(Path(sys.executable).parent))
    executable = os.environ.get("SPOTEVAL_TEST_INSPECT") or found or shutil.which("inspect")
    if executable is None:
        pytest.skip(
            "Inspect is not installed beside this Python (or name it in SPOTEVAL_TEST_INSPECT)"
        )
    service = Service("stand-in", delay_s=0.4)
    service.loaded.set()
    with Server(0, service) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Lives(tmp_path, executable, server.server_address[1])
        server.shutdown()


def test_what_is_finished_stays_finished(lives: Lives) -> None:
    """Killed with all in the buffer, renumbered as by a reboot, interrupted, killed, let run: each episode once."""
    first = lives.start("--log-buffer", "1000")
    lives.wait_ends(2)
    lives.end(first, signal.SIGKILL)
    found = Inspect().survey(lives.run, lives.work)
    assert (len(found.attempts), len(found.pending) >= 2) == (0, True)
    lives.give_the_buffer_a_living_process()
    for ends, signum in ((5, signal.SIGINT), (8, signal.SIGTERM)):
        process = lives.start()
        lives.wait_ends(ends)
        assert lives.end(process, signum) == (0 if signum == signal.SIGINT else -signum)
    assert lives.start().wait() == 0
    assert lives.begun_after_end() == []
    check_account(lives)
    check_logs(lives)


def check_account(lives: Lives) -> None:
    """Every begin that the episodes witness is an attempt, every intended episode is completed.

    A kill between the harness's record of a begin and the episode's own leaves an attempt without a witness.
    """
    found = Inspect().survey(lives.run, lives.work)
    assert found.unreadable == ()
    assert (found.pending, found.in_flight) == ((), ())
    assert len(found.attempts) >= lives.counts()["begin"] - lives.unrecorded
    assert len(found.intended or ()) == N
    assert tally(classify(found.intended or (), found.attempts))["completed"] == N
    ended = [attempt for attempt in found.attempts if attempt.outcome is Outcome.COMPLETED]
    assert Counter(attempt.verdict for attempt in ended) == {"C": N // 2, "I": N // 2}


def check_logs(lives: Lives) -> None:
    """Inspect itself opens the last log and finds every sample scored."""
    log = max((lives.work / "logs").glob("*.eval"), key=lambda path: path.stat().st_mtime_ns)
    code = (
        "import sys; from inspect_ai.log import read_eval_log; log = read_eval_log(sys.argv[1]);"
        "print(log.status, len([s for s in log.samples if s.scores and not s.error]))"
    )
    python = Path(lives.run.plan.executable).parent / "python"
    env = {"PATH": os.environ["PATH"], "HOME": str(lives.work / "home")}
    argv = [str(python), "-c", code, str(log)]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["success", str(N)]
