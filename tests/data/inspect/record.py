"""Makes the recorded logs in this directory anew, by real runs: record.py PATH/TO/inspect WORKDIR

WORKDIR ends up inside the logs, so name a neutral one such as /srv/eval.
"""

import json
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

import inspect_ai._util.zipfile  # noqa: F401, teaches zipfile to write zstd

from spoteval.harness.inspect_buffer import Buffer, buffers
from spoteval.local.model_server import Server, Service

HERE = Path(__file__).parent


class Recorder:
    """Runs eval sets in one directory after another."""

    def __init__(self, inspect: str, root: Path, port: int) -> None:
        self.inspect, self.root, self.port = inspect, root, port

    def start(self, name: str, task: str, *args: str) -> "subprocess.Popen[bytes]":
        """Begin, or resume, the eval set called `name`."""
        work = self.root / name
        (work / "home").mkdir(parents=True, exist_ok=True)
        argv = [self.inspect, "eval-set", task, "--model", "openai-api/local/stand-in"]
        argv += ["--log-dir", str(work / "logs"), "--display", "none", "--max-samples", "2"]
        argv += ["--no-retry-cleanup", "--no-fail-on-error", "--ctl-server", "false", *args]
        data = {"HOME": str(work / "home"), "XDG_DATA_HOME": str(work / "home/.local/share")}
        server = {"LOCAL_BASE_URL": f"http://127.0.0.1:{self.port}/v1", "LOCAL_API_KEY": "none"}
        paths = {"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path)}
        env = {**data, **server, **paths, "SPOTEVAL_WITNESS": str(work / "witness")}
        return subprocess.Popen(argv, env=env, cwd=self.root)

    def wait_ends(self, name: str, count: int) -> None:
        """Until so many episodes have said that they ended."""
        witness = self.root / name / "witness"
        while not (witness.exists() and witness.read_text().count("end ") >= count):
            time.sleep(0.02)
        time.sleep(0.3)

    def logs(self, name: str) -> list[Path]:
        """The logs, oldest first."""
        return sorted((self.root / name / "logs").glob("*.eval"), key=lambda p: p.stat().st_mtime)


def main(inspect: str, root: Path) -> None:
    """Record every situation."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    for path in (HERE / "odd_task.py", HERE.parents[2] / "common/spoteval/local/demo_task.py"):
        shutil.copy(path, root)
    service = Service("stand-in", delay_s=0.8)
    service.loaded.set()
    server = Server(0, service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    record(Recorder(inspect, root, server.server_address[1]))


def record(recorder: Recorder) -> None:
    """Finished, odd, cancelled by SIGINT; killed, and the logs of its resume."""
    one = ("-T", "turns=1", "--log-buffer", "1")
    recorder.start("finished", "demo_task.py", *one, "-T", "n=2", "--epochs", "2").wait()
    recorder.start("odd", "odd_task.py", "--log-buffer", "1").wait()
    process = recorder.start("cancelled", "demo_task.py", *one, "-T", "n=5")
    recorder.wait_ends("cancelled", 2)
    process.send_signal(signal.SIGINT)
    process.wait()
    for name in ("finished", "odd", "cancelled"):
        keep(recorder.logs(name)[0], f"{name}.eval")
    record_killed(recorder)


def record_killed(recorder: Recorder) -> None:
    """Two samples flushed, one only in the buffer, one running; then a resume that is cut, and one that is not."""
    args = ("-T", "turns=1", "-T", "n=5", "--log-buffer", "2", "--max-samples", "1")
    process = recorder.start("killed", "demo_task.py", *args)
    recorder.wait_ends("killed", 3)
    process.kill()
    process.wait()
    (found,) = buffers(recorder.root / "killed/home")
    assert isinstance(found, Buffer)
    (HERE / "killed.rows.json").write_text(json.dumps(found.rows, indent=1) + "\n")
    process = recorder.start("killed", "demo_task.py", *args)
    recorder.wait_ends("killed", 4)
    process.send_signal(signal.SIGINT)
    process.wait()
    recorder.start("killed", "demo_task.py", *args).wait()
    names = ("killed.eval", "killed-recovered.eval", "retried.eval", "resumed.eval")
    for path, name in zip(recorder.logs("killed"), names, strict=True):
        keep(path, name)
    shutil.copy(recorder.root / "killed/logs/eval-set.json", HERE)


def keep(log: Path, name: str) -> None:
    """Copy a log, double names and all, but for the places of this machine that tracebacks name."""
    with zipfile.ZipFile(log) as old, zipfile.ZipFile(HERE / name, "w") as new:
        for info in old.infolist():
            data = re.sub(rb"/[^ \"\\]*?/(lib/python3)", rb"/opt/\1", old.read(info))
            new.writestr(info, data)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
