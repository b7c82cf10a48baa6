"""The metadata addresses are closed to the run's user and to nobody else."""

import os
import pwd
import shutil
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from spoteval.control.fence import fence_run
from spoteval.machine import process
from spoteval.machine.fence import METADATA, close_to, open_to
from spoteval.machine.process import NOT_FOUND, Finished
from spoteval.report.check_metadata import metadata_check
from spoteval.shape import Unreadable

RUN = pwd.getpwnam("nobody")
CLOUD = METADATA[0]
CONNECT = (
    "import os, socket, sys; 'a'.encode('idna'); os.setuid(int(sys.argv[1])); "
    "tried = socket.socket(); tried.settimeout(5); tried.connect((sys.argv[2], 80))"
)


class Machine:
    """A machine whose `ip` and `systemctl` are asked: what each address answers once it was closed."""

    def __init__(self, *, user: str = "nobody", works: bool = True, there: bool = True) -> None:
        self.user, self.works, self.there = user, works, there
        self.asked: list[str] = []

    def __call__(self, argv: Sequence[str], timeout_s: float) -> Finished:
        self.asked.append(" ".join(argv))
        if argv[0] == "systemctl":
            return _said(0, self.user)
        if not self.there:
            return _said(NOT_FOUND, "", "ip: No such file or directory")
        return _said(2 if self.works else 0, "", "RTNETLINK answers: Permission denied")


def _said(code: int, out: str, err: str = "") -> Finished:
    return Finished(code, out, err, timed_out=False, duration_s=0.0)


def test_each_address_is_closed_to_that_user_alone() -> None:
    """One rule each, by the user's number, before all tables but this machine's own."""
    machine = Machine()
    assert close_to(995, machine) == ()
    rules = [line for line in machine.asked if " rule " in line]
    assert [line.split()[7] for line in rules] == list(METADATA)
    assert all("pref 90 to" in line for line in rules)
    assert all(line.endswith("uidrange 995-995 prohibit") for line in rules)
    assert [line.split()[1] for line in rules] == ["-4", "-4", "-6"]


def test_what_stays_open_is_said() -> None:
    """A kernel that does not obey, and a machine without the program."""
    assert open_to(995, Machine(works=False)) == METADATA
    assert fence_run(Machine(works=False)) == Unreadable(
        f"{', '.join(METADATA)} stays open to nobody"
    )
    absent = close_to(995, Machine(there=False))
    assert absent == Unreadable("ip: No such file or directory (apt install iproute2)")
    held = close_to(995, lambda argv, timeout_s: _said(2, "", "Operation not permitted"))
    assert held == Unreadable("ip rule add: Operation not permitted")
    unknown = fence_run(Machine(user="no-such"))
    assert unknown == Unreadable('spoteval-run.service: no user "no-such" on this machine')
    assert isinstance(fence_run(Machine(user="")), Unreadable)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change the kernel's rules")
def test_metadata_check_says_where_it_is_not_enforced(tmp_path: Path) -> None:
    """Closed, or "not enforced on this host"; nothing where no systemd is."""
    assert [one.verdict for one in metadata_check(Machine(), tmp_path)] == ["ok"]
    (warned,) = metadata_check(Machine(works=False), tmp_path)
    assert warned.verdict == "warn"
    assert "not enforced on this host" in warned.text
    assert list(metadata_check(Machine(), tmp_path / "absent")) == []


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[str]:
    """A network namespace whose metadata address answers, in another; nobody else sees them."""
    inside, outside = f"in-{os.getpid()}", f"md-{os.getpid()}"
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("needs root and the program ip")
    lines = f"""
netns add {inside}
netns add {outside}
link add veth-in netns {inside} type veth peer name veth-md netns {outside}
-n {inside} addr add 10.9.9.1/24 dev veth-in
-n {inside} link set veth-in up
-n {inside} route add default via 10.9.9.2
-n {outside} addr add 10.9.9.2/24 dev veth-md
-n {outside} addr add {CLOUD}/32 dev veth-md
-n {outside} link set veth-md up
"""
    serve = "import socket; s = socket.create_server(('', 80)); print(flush=True); "
    serve += "[s.accept() for _ in iter(int, 1)]"
    server = None
    try:
        for line in lines.strip().splitlines():
            done = process.run(["ip", *line.split()], 10)
            if not done.ok:
                pytest.skip(f"no network namespaces here: {done.err.strip()}")
        argv = ["ip", "netns", "exec", outside, sys.executable, "-c", serve]
        server = process.spawn(argv)
        yield inside
    finally:
        if server is not None:
            server.send_group(signal.SIGKILL)
            server.wait()
        for name in (inside, outside):
            process.run(["ip", "netns", "del", name], 10)


@pytest.mark.runs("network namespaces, and a process in each")
def test_metadata_root_is_answered_and_the_runs_user_is_not(cloud: str) -> None:
    """As a kernel obeys it, without a filter of control groups."""

    def within(argv: Sequence[str], timeout_s: float) -> Finished:
        return process.run(["ip", "netns", "exec", cloud, *argv], timeout_s)

    def reaches(uid: int) -> bool:
        return within([sys.executable, "-c", CONNECT, str(uid), CLOUD], 20).ok

    for _ in range(50):
        if reaches(0):
            break
    assert reaches(0)
    assert reaches(RUN.pw_uid)
    assert close_to(RUN.pw_uid, within) == ()
    assert close_to(RUN.pw_uid, within) == ()  # again: the rules are there
    assert reaches(0)
    assert not reaches(RUN.pw_uid)
