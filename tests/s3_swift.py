"""OpenStack Swift with its s3api on loopback: one proxy, and one server each for accounts, containers and objects.

Up to 2.30, Debian's, it stands for services that know no condition of a put: it answers 501. Later ones keep it.
"""

import getpass
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from s3_server import BUCKET, REGION, ROLES, Service, client, free_port, running, wait_for
from spoteval.store.keys import AccessKeys

PROGRAMS = "SPOTEVAL_SWIFT"
"""The directory of Swift's programs: `bin` of an environment of its own (pip install swift); without it PATH's."""
_BEGIN = (
    "import runpy, sys, swift.common.utils as utils;"
    "utils.SWIFT_CONF_FILE = sys.argv.pop(1); sys.argv.pop(0);"
    "runpy.run_path(sys.argv[0], run_name='__main__')"
)
"""What starts a server: earlier versions look for `swift.conf` in /etc/swift alone."""
KINDS = ("account", "container", "object")
NAMES = ("swift-ring-builder", "swift-proxy-server", *(f"swift-{kind}-server" for kind in KINDS))
KEYS = AccessKeys("test:tester", "testing")
_SWIFT = """
[swift-hash]
swift_hash_path_suffix = spoteval
[storage-policy:0]
name = only
default = yes
"""
_DEFAULT = """
[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
workers = 0
user = {user}
swift_dir = {at}
devices = {at}/devices
mount_check = false
"""
_STORAGE = """
[pipeline:main]
pipeline = {kind}-server
[app:{kind}-server]
use = egg:swift#{kind}
"""
# Nothing answers where the cache should be: it is optional, but the filter of users wants one to be named.
_PROXY = """
[pipeline:main]
pipeline = catch_errors gatekeeper cache listing_formats bulk s3api tempauth copy slo dlo symlink proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = testing .admin
[filter:s3api]
use = egg:swift#s3api
location = {region}
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:{dead}
[filter:listing_formats]
use = egg:swift#listing_formats
"""
_PLAIN = ("catch_errors", "gatekeeper", "bulk", "copy", "slo", "dlo", "symlink")


def why_not() -> str | None:
    """Why it cannot be started here, or None."""
    missing = [name for name in NAMES if _found(name) is None]
    if missing:
        return f"no {', '.join(missing)} (pip install swift, elsewhere, and {PROGRAMS}=its bin)"
    return None


def _found(name: str) -> str | None:
    return shutil.which(name, path=os.environ.get(PROGRAMS) or None)


def _python(program: str) -> str:
    """The one that the program itself names in its first line."""
    with Path(program).open() as file:
        return file.readline().removeprefix("#!").strip()


@contextmanager
def swift(folder: Path) -> Iterator[Service]:
    """The service with one user, who is every role: it has no policies."""
    at = folder / "swift"
    (at / "devices" / "d1").mkdir(parents=True)
    (at / "swift.conf").write_text(_SWIFT)
    port = free_port()
    with ExitStack() as stack:
        for kind in KINDS:
            own = free_port()
            _ring(at, kind, own)
            _started(stack, at, kind, own, _STORAGE.format(kind=kind))
        filters = "".join(f"[filter:{name}]\nuse = egg:swift#{name}\n" for name in _PLAIN)
        text = _PROXY.format(region=REGION, dead=free_port()) + filters
        _started(stack, at, "proxy", port, text)
        endpoint = f"http://127.0.0.1:{port}"
        wait_for(endpoint, at / "proxy.log")
        client(endpoint, KEYS).create_bucket(Bucket=BUCKET)
        yield Service(endpoint, dict.fromkeys(ROLES, KEYS), "swift")


def _ring(at: Path, kind: str, port: int) -> None:
    """One device, one replica."""
    builder, program = str(at / f"{kind}.builder"), _found("swift-ring-builder")
    for words in (
        ("create", "4", "1", "0"),
        ("add", f"r1z1-127.0.0.1:{port}/d1", "1"),
        ("rebalance",),
    ):
        subprocess.run([str(program), builder, *words], check=True, capture_output=True, cwd=at)


def _started(stack: ExitStack, at: Path, kind: str, port: int, text: str) -> None:
    config = at / f"{kind}-server.conf"
    config.write_text(_DEFAULT.format(port=port, user=getpass.getuser(), at=at) + text)
    own = str(_found(f"swift-{kind}-server"))
    argv = [_python(own), "-c", _BEGIN, str(at / "swift.conf"), own, str(config)]
    env = {"PATH": os.environ["PATH"], "HOME": str(at)}
    stack.enter_context(running(argv, at / f"{kind}.log", env))
