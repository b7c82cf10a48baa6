"""QEMU's monitor: one command, one answer."""

import json
import socket
from pathlib import Path
from typing import Any

from lab.shell import Broken

LIMIT_S = 30.0


def ask(path: Path, command: str, **words: object) -> Any:
    """What the machine returns. Raises Broken where it refuses or is gone."""
    try:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(LIMIT_S)
            line.connect(str(path))
            with line.makefile("rw") as talk:
                talk.readline()  # its greeting
                _one(talk, "qmp_capabilities", {})
                return _one(talk, command, words)
    except (OSError, ValueError) as error:
        raise Broken(f"qmp {command}: {error}") from None


def _one(talk: Any, command: str, words: dict[str, object]) -> Any:
    talk.write(json.dumps({"execute": command, "arguments": words}) + "\n")
    talk.flush()
    while True:
        said = json.loads(talk.readline())
        if "error" in said:
            raise Broken(f"qmp {command}: {said['error'].get('desc')}")
        if "return" in said:  # events come between
            return said["return"]
