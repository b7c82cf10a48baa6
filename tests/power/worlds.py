"""Object stores on loopback that can be copied at an instant: one moto, in which each world is a bucket of its own.

To its machine every world is the same bucket at another port, so a machine that goes on from a copy finds the store
that it knew. What was acknowledged is kept; nothing of it lies on the machine that loses power.
"""

import io
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from moto.core.models import DEFAULT_ACCOUNT_ID  # type: ignore[attr-defined]
from moto.moto_server.werkzeug_app import create_backend_app
from moto.s3.models import s3_backends
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from s3_server import BUCKET, PREFIX, REGION
from spoteval.store.keys import AccessKeys
from spoteval.store.place import S3Place
from spoteval.store.s3 import S3Store

KEYS = AccessKeys("lab-id", "lab-secret")
URL = f"s3://{BUCKET}/{PREFIX}"


class _Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, *_: Any, **__: Any) -> None:
        """Not a word."""


class Worlds:
    """All of them. One request at a time is answered, so that a copy is of one instant."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.app: Any = create_backend_app("s3")
        self.backend = s3_backends[DEFAULT_ACCOUNT_ID]["aws"]

    def new(self, name: str) -> "World":
        """An empty one."""
        with self.lock:
            self.backend.create_bucket(name, REGION)
        return World(self, name)


@dataclass(slots=True)
class World:
    """One store. `puts` are the keys that were acknowledged, with the moment."""

    worlds: Worlds
    bucket: str
    puts: list[tuple[float, str]] = field(default_factory=list)
    _server: BaseWSGIServer | None = None

    def copy(self, name: str) -> "World":
        """A world that holds what this one holds now."""
        backend = self.worlds.backend
        with self.worlds.lock:
            other = self.worlds.new(name)
            for key, data in self.objects().items():
                backend.put_object(name, key, data)
        return other

    def objects(self) -> dict[str, bytes]:
        """Every object by its key."""
        with self.worlds.lock:
            keys = self.worlds.backend.buckets[self.bucket].keys
            return {name: bytes(keys[name].value) for name in list(keys)}

    def serve(self) -> int:
        """Answer at a port of loopback, from now on; returns it."""
        if self._server is None:
            self._server = make_server(
                "127.0.0.1", 0, self._answer, threaded=True, request_handler=_Quiet
            )
            threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self._server.server_port

    def close(self) -> None:
        """Answer nobody any more."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def drop(self) -> None:
        """Close it and forget what it holds."""
        self.close()
        with self.worlds.lock:
            self.worlds.backend.buckets.pop(self.bucket, None)

    def store(self) -> S3Store:
        """As a reader of the product sees it."""
        endpoint = f"http://127.0.0.1:{self.serve()}"
        return S3Store(URL, S3Place(endpoint, REGION, lambda: KEYS))

    def _answer(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        """Read whole first: a machine that is held still must not hold the others."""
        size = int(environ.get("CONTENT_LENGTH") or 0)
        environ["wsgi.input"] = io.BytesIO(environ["wsgi.input"].read(size))
        path = environ["PATH_INFO"]
        if path == f"/{BUCKET}" or path.startswith(f"/{BUCKET}/"):
            environ["PATH_INFO"] = f"/{self.bucket}{path.removeprefix(f'/{BUCKET}')}"
        for name in ("RAW_URI", "REQUEST_URI"):
            environ[name] = environ.get(name, "").replace(f"/{BUCKET}", f"/{self.bucket}", 1)
        environ["HTTP_HOST"] = (
            f"127.0.0.1:{self.serve()}"  # else the first word of a name is a bucket
        )
        with self.worlds.lock:
            answer = list(self.worlds.app(environ, start_response))
            if environ["REQUEST_METHOD"] == "PUT":
                self.puts.append((time.monotonic(), path.removeprefix(f"/{BUCKET}/{PREFIX}/")))
        return answer
