"""Ceph's radosgw as Debian packages it, on loopback: one monitor, one OSD that keeps all in memory, the gateway.

It stands for services of some years ago: it honours the condition of a put and not that of the end of a large file, and
looks at MD5 alone.
"""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from uuid import uuid4

from s3_server import BUCKET, ROLES, Service, client, free_port, running, wait_for
from spoteval.store.keys import AccessKeys

PACKAGES = "apt-get install --no-install-recommends ceph-mon ceph-osd radosgw"
ROOT = "SPOTEVAL_RADOSGW_ROOT"
"""A directory with a system in which they are installed, entered by chroot; without it they are this machine's own."""
PROGRAMS = ("ceph-mon", "ceph-osd", "radosgw", "radosgw-admin", "monmaptool", "ceph")
LIMIT_S = 120.0
# The gateway asks its monitor for an encrypted connection by default, for which it would need a key.
CONF = """
[global]
fsid = {fsid}
mon host = [v2:127.0.0.1:{mon}/0]
auth cluster required = none
auth service required = none
auth client required = none
ms mon client mode = crc
run dir = {at}
pid file =
admin socket =
log file = {at}/$name.log
public addr = 127.0.0.1
ms bind ipv6 = false
mon data = {at}/mon
mon allow pool size one = true
mon max pg per osd = 1000
osd data = {at}/osd
osd objectstore = memstore
memstore device bytes = 2147483648
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd crush chooseleaf type = 0
setuser match path = {at}
[client.rgw]
rgw frontends = beast endpoint=127.0.0.1:{port}
rgw data = {at}/rgw
"""


def why_not() -> str | None:
    """Why it cannot be started here, or None."""
    root = os.environ.get(ROOT, "/")
    found = [name for name in PROGRAMS if shutil.which(name, path=f"{root}/usr/bin")]
    missing = sorted(set(PROGRAMS) - set(found))
    if missing:
        return f"no {', '.join(missing)} ({PACKAGES}; or {ROOT})"
    return "only root may chroot" if root != "/" and os.geteuid() != 0 else None


def entered(*words: str) -> list[str]:
    """A command of that system."""
    root = os.environ.get(ROOT)
    return [*(["chroot", root] if root else []), *words]


@contextmanager
def radosgw(folder: Path) -> Iterator[Service]:
    """The gateway with a user that owns the bucket, who is every role: its users have no IAM policies."""
    at, root = f"/tmp/radosgw-{uuid4().hex}", Path(os.environ.get(ROOT, "/"))
    here, mon, port = root / at[1:], free_port(), free_port()
    for name in ("mon", "osd", "rgw"):
        (here / name).mkdir(parents=True)
    fsid = str(uuid4())
    (here / "ceph.conf").write_text(CONF.format(fsid=fsid, mon=mon, port=port, at=at))
    conf, env = ("-c", f"{at}/ceph.conf"), {"PATH": "/usr/bin:/usr/sbin:/bin", "HOME": at}
    endpoint, log = f"http://127.0.0.1:{port}", folder / "radosgw.log"
    try:
        with ExitStack() as stack:
            _cluster(stack, (at, fsid, mon), conf, env, folder)
            argv = entered("radosgw", "-f", "-n", "client.rgw", *conf)
            stack.enter_context(running(argv, log, env))
            wait_for(endpoint, log)
            keys = _user(conf, env)
            client(endpoint, keys).create_bucket(Bucket=BUCKET)
            yield Service(endpoint, dict.fromkeys(ROLES, keys), "radosgw")
    finally:
        shutil.rmtree(here, ignore_errors=True)


def _cluster(
    stack: ExitStack,
    named: tuple[str, str, int],
    conf: tuple[str, str],
    env: Mapping[str, str],
    folder: Path,
) -> None:
    at, fsid, mon = named
    osd, address = str(uuid4()), f"[v2:127.0.0.1:{mon}/0]"
    made = entered("monmaptool", "--create", "--addv", "a", address, "--fsid", fsid, f"{at}/map")
    _done(made, env)
    _done(entered("ceph-mon", "--mkfs", "-i", "a", "--monmap", f"{at}/map", *conf), env)
    argv = entered("ceph-mon", "-f", "-i", "a", *conf)
    stack.enter_context(running(argv, folder / "mon.log", env))
    _done(entered("ceph", *conf, "--connect-timeout", f"{LIMIT_S:.0f}", "osd", "new", osd), env)
    _done(entered("ceph-osd", "--mkfs", "-i", "0", "--osd-uuid", osd, *conf), env)
    argv = entered("ceph-osd", "-f", "-i", "0", *conf)
    stack.enter_context(running(argv, folder / "osd.log", env))


def _user(conf: tuple[str, str], env: Mapping[str, str]) -> AccessKeys:
    argv = (
        "radosgw-admin",
        *conf,
        "-n",
        "client.rgw",
        "user",
        "create",
        "--uid=all",
        "--display-name=all",
    )
    made = json.loads(_done(entered(*argv), env))["keys"][0]
    return AccessKeys(made["access_key"], made["secret_key"])


def _done(argv: list[str], env: Mapping[str, str]) -> str:
    """What it printed; what it needs may come up a moment later."""
    until = time.monotonic() + LIMIT_S
    while True:
        done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout
        assert time.monotonic() < until, f"{argv}: {done.stderr[-2000:]}"
        time.sleep(0.5)
