"""The pulled logs, read by Inspect itself, against a run that nothing disturbed."""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from show.lines import Line, Missing, judged, say, short
from show.stage import Demo, Stage, output

MODEL = "openai-api/standin/stand-in"  # the provider's name gives STANDIN_BASE_URL and _API_KEY
Read = Mapping[str, object]


def logs_and_verdicts(stage: Stage, demo: Demo) -> Iterator[Line]:
    """All pulled logs open, and each sample's one verdict is that of the undisturbed run."""
    pulled = read_logs(stage, demo.kept / "pulled" / "work")
    yield judged(bool(pulled["logs"]), "pulled logs open in Inspect", f"{pulled['logs']} logs")
    say("the same task, undisturbed ...")
    alone = read_logs(stage, run_alone(stage, pulled["task_args"]))
    yield agreement(pulled["verdicts"], alone["verdicts"], demo.keys.get("episodes_intended"))


def agreement(pulled: object, alone: object, intended: object) -> Line:
    """Same samples, one verdict each, the same; as many as were intended."""
    what = "every sample's verdict equals that of an undisturbed run"
    if not isinstance(pulled, dict) or not isinstance(alone, dict):
        return short(what, "no verdicts")
    names = pulled.keys() | alone.keys()
    differ = sorted(n for n in names if pulled.get(n) != alone.get(n) or len(pulled[n]) != 1)
    good = not differ and len(names) == intended
    figure = f"differ: {differ[:3]}" if differ else f"{len(names)} of {intended} equal"
    return judged(good, what, figure)


def read_logs(stage: Stage, folder: Path) -> Read:
    """What inspect_verdicts.py prints about a folder. Raises Missing when a log does not open."""
    if not any(folder.rglob("*.eval")):
        raise Missing(f"no logs in {folder}")
    script = Path(__file__).parent / "inspect_verdicts.py"
    done = output([stage.program("python"), str(script), str(folder)], stage.scratch)
    if done.returncode:
        raise Missing(f"Inspect does not open a log: {done.stderr.strip()[-200:]}")
    found: Read = json.loads(done.stdout)
    return found


def run_alone(stage: Stage, task_args: object) -> Path:
    """The task with the same arguments against a stand-in that does not wait; its log folder."""
    folder = stage.scratch / "alone"
    argv = [stage.python, "-m", "spoteval.local.model_server", "--port", "0"]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, cwd=stage.scratch) as server:
        try:
            port = _port(server)
            _evaluate(stage, folder, port, task_args if isinstance(task_args, dict) else {})
        finally:
            server.terminate()
    return folder


def _port(server: "subprocess.Popen[str]") -> str:
    first = server.stderr.readline() if server.stderr else ""
    found = re.search(r"127\.0\.0\.1:(\d+)", first)
    if found is None:
        raise Missing(f"the stand-in did not say its port: {first!r}")
    return found[1]


def _evaluate(stage: Stage, folder: Path, port: str, task_args: Mapping[str, object]) -> None:
    task = stage.root / "common" / "spoteval" / "local" / "demo_task.py"
    argv = [stage.program("inspect"), "eval", f"{task}@demo", "--model", MODEL]
    argv += ["--log-dir", str(folder), "--display", "none"]
    for name, value in task_args.items():
        argv += ["-T", f"{name}={value}"]
    done = output(
        argv,
        stage.scratch,
        STANDIN_BASE_URL=f"http://127.0.0.1:{port}/v1",
        STANDIN_API_KEY="unused",
        XDG_DATA_HOME=str(stage.scratch / "inspect-home"),
    )
    if done.returncode:
        raise Missing(f"the undisturbed run failed: {done.stderr.strip()[-200:]}")
