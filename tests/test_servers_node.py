"""A whole guest on a local node, with a real model server in a unit of its own that dies, fails or lies."""

import json
import os
import secrets
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from drills.box import Box
from spoteval.demo.stage import free_port
from spoteval.files import read_lines
from spoteval.machine.cgroup import MarkedProcesses

pytestmark = [pytest.mark.slow, pytest.mark.runs("boots a node, whose model server is killed")]

COMES_S = 90.0
MORE = """\
[[server]]
name = "policy"
unit = "stand-in.service"
url = "http://127.0.0.1:{port}"
kind = "vllm"
model = "{model}"
credential = "model-key"
ready_within = "{within}"
restarts = 2
[run]
harness = "directory"
executable = "{program}"
expected = 40
settlement = "fresh_budget"
[idle]
after = "5min"
"""
SERVER = """\
[Service]
ExecStart={python} -m spoteval.local.model_server --port {port} --model stand-in --load 0.5 {more}
Restart=on-failure
RestartSec=200ms
[Install]
WantedBy=multi-user.target
"""
# Episodes that take a second each, one after the other; those that have ended are left out.
PROGRAM = """\
#!/bin/sh
cd "$SPOTEVAL_WORK" || exit 1
for n in $(seq 40); do
  [ -s "episodes/$n/episode.json" ] && continue
  mkdir -p "episodes/$n" && sleep 1 && echo '{}' > "episodes/$n/e" && mv "episodes/$n/e" "episodes/$n/episode.json"
done
"""


def laid(root: Path, model: str = "stand-in", within: str = "2min", more: str | None = None) -> Box:
    """A machine whose host file wants `model` of a server that is started with `more`."""
    box, port = Box(root), free_port()
    program = root / "program"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    key = box.paths.node / "credentials" / "model-key"
    words = f"--key-file {key}" if more is None else more
    server = SERVER.format(python=sys.executable, port=port, more=words)
    text = MORE.format(port=port, model=model, within=within, program=program)
    box.lay(60.0, text, {"stand-in.service": server}, secrets.token_hex(16).encode())
    return box


def kinds(box: Box) -> list[object]:
    """The kinds of the run's events."""
    return [record["kind"] for record in read_lines(box.run.events).records]


def told(box: Box) -> list[object]:
    """What a person was told."""
    records = read_lines(box.run.events).records
    return [record["reason"] for record in records if record["kind"] == "needs_you"]


def line_with(box: Box, text: str) -> Callable[[], bool]:
    """Whether boot-resume's journal has a line with this text."""
    path = box.paths.node / "journal" / "spoteval-boot-resume.service.log"
    return lambda: path.exists() and text in path.read_text()


def server_pids(box: Box) -> frozenset[int]:
    """The processes of the server's unit."""
    found = MarkedProcesses(box.paths.node).members("stand-in.service")
    assert isinstance(found, frozenset)
    return found


def test_server_dies_in_mid_run_on_a_node_and_the_run_goes_on(tmp_path: Path) -> None:
    """Its unit starts it again; the run was stopped by its own path, the cut is the server's, nothing is lost."""
    box = laid(tmp_path)
    with box.living():
        box.switch_on()
        box.begin()
        box.until(lambda: "first-episode" in kinds(box), COMES_S, "the first episode")
        for pid in server_pids(box):
            os.kill(pid, signal.SIGKILL)
        box.until(lambda: "server-died" in kinds(box), COMES_S, "the death to be seen")
        box.until(lambda: kinds(box).count("run-started") == 2, COMES_S, "the run to go on")
    after = kinds(box)[kinds(box).index("server-died") :]
    way = ["server-died", "run-stopped", "run-gone", "settled", "server-start", "healthy"]
    assert [kind for kind in after if kind in way] == way
    (cut,) = read_lines(box.run.settlement).records
    assert (cut["outcome"], cut["origin"]) == ("harness_error", "model_server")
    (marker,) = [
        json.loads(path.read_text()) for path in box.run.interruptions.glob("*/closed.json")
    ]
    assert (marker["cause"], marker["killed"]) == ("model-server", 0)
    assert told(box) == []


def test_server_fails_at_each_start_on_a_node_and_ends_in_a_hold(tmp_path: Path) -> None:
    """Two failed starts are two; the key is in nobody's arguments."""
    box = laid(tmp_path, more="--key-file /nonexistent")
    with box.living():
        box.switch_on()
        box.begin()
        box.until(box.disk.guest_hold.exists, COMES_S, "the guest hold")
    assert "server policy failed to start" in box.disk.guest_hold.read_text()
    assert "run-start" not in kinds(box)
    assert kinds(box).count("needs_you") == 1


def test_server_serves_another_model_on_a_node_and_a_person_is_told(tmp_path: Path) -> None:
    """The line names both; nothing is started and no hold is placed."""
    box = laid(tmp_path, model="qwen3")
    with box.living():
        box.switch_on()
        box.begin()
        text = "serves stand-in, not"
        box.until(line_with(box, text), COMES_S, "the line")
        box.until(lambda: told(box), COMES_S, "a word to a person")
    assert told(box) == ['server policy: serves stand-in, not "qwen3"']
    assert not box.disk.guest_hold.exists()
    assert "run-start" not in kinds(box)


def test_server_never_comes_on_a_node_and_ends_in_a_hold(tmp_path: Path) -> None:
    """It loads for longer than it may; its process lives all the while."""
    box = laid(tmp_path, within="5s", more="--load 3600")
    with box.living():
        box.switch_on()
        box.begin()
        box.until(box.disk.guest_hold.exists, COMES_S, "the guest hold")
    text = box.disk.guest_hold.read_text()
    assert text == "server policy is not ready after 5 s: health 503, process alive"
