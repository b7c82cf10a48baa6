"""Lines about what a person types first, and about who works for the agents as root or over ssh."""

import os
import shutil
from collections.abc import Iterator, Mapping

from show.lines import Line, Missing
from show.stage import Stage
from show.suite_lines import passed

FIRST: Mapping[str, tuple[str, ...]] = {
    "install.sh: which way, what it lays down, what it refuses": ("test_install_host.py",),
    "setup of both hosts: real file systems, a terminal, twice": (
        *("test_setup_guest.py", "test_setup_restarter.py", "test_control_setup.py"),
    ),
    "check: what is in force, who reaches what, what a key may": (
        *("test_check_machine.py", "test_cli_check.py"),
    ),
    "containers: removed by request, a server's never": ("test_remove_containers.py",),
}
TUNNEL = "tunnel: a real sshd, found anew, no other host key"


def first(stage: Stage) -> Iterator[Line]:
    """A line for each."""
    for what, names in FIRST.items():
        yield passed(stage, what, [stage.root / "tests" / name for name in names])


def tunnel(stage: Stage) -> Iterator[Line]:
    """Its tests skip themselves without sshd: then there is nothing to show."""
    if shutil.which("sshd", path="/usr/sbin:/usr/local/sbin") is None or os.geteuid() != 0:
        raise Missing("needs root and sshd (apt install openssh-server)")
    yield passed(stage, TUNNEL, [stage.root / "tests" / "test_tunnel.py"])
