"""What a poll needs in an S3 store: the same objects as in a directory, and a key that may read them."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from s3_hosts import store_table, write_key
from s3_server import ADMIN, REGION, Service, seaweed
from spoteval.store.place import S3Place
from spoteval.store.s3 import S3Store

ROLE, AT_ONCE = "control", 8


@contextmanager
def over_s3(root: Path) -> Iterator[str]:
    """The keys of [store] of a service that has everything of `root`/store."""
    folder = root / "service"
    folder.mkdir()
    with seaweed(folder) as service:
        _put_all(service, root / "store")
        write_key(root / "credentials", ROLE, service)
        yield store_table(service, ROLE)


def _put_all(service: Service, below: Path) -> None:
    store = S3Store(service.url(), S3Place(service.endpoint, REGION, lambda: ADMIN))
    files = sorted(path for path in below.rglob("*") if path.is_file())

    def put(path: Path) -> None:
        store.put(path.relative_to(below).as_posix(), path.read_bytes())

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for _ in pool.map(put, files):
            pass
