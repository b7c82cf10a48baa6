"""A service on loopback that speaks TLS and takes every put, with a certificate that nobody has signed."""

import ipaddress
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from spoteval.clock import read_now


@dataclass
class Service:
    """Says yes to every put; keeps what came."""

    endpoint: str
    certificate: Path
    seen: list[tuple[Mapping[str, str], bytes]] = field(default_factory=list)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        """Nothing."""

    def do_PUT(self) -> None:
        """Take as many bytes as were announced."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.service.seen.append((dict(self.headers.items()), body))  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("ETag", "e")
        self.send_header("Content-Length", "0")
        self.end_headers()


@contextmanager
def tls_service(folder: Path) -> Iterator[Service]:
    """In threads of this process."""
    both = certificate(folder / "both.pem")
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(both)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.service = one = Service(f"https://127.0.0.1:{server.server_port}", both)  # type: ignore[attr-defined]
    threading.Thread(target=lambda: server.serve_forever(0.05), daemon=True).start()
    yield one
    server.shutdown()
    server.server_close()


def certificate(path: Path) -> Path:
    """Key and certificate of 127.0.0.1 in one file."""
    x509 = pytest.importorskip("cryptography.x509", reason="moto brings it")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, now = ec.generate_private_key(ec.SECP256R1()), read_now().wall
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "loopback")])
    where = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(where, critical=False)
        .sign(key, hashes.SHA256())
    )
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    form = serialization.PrivateFormat.PKCS8
    path.write_bytes(key.private_bytes(pem, form, plain) + made.public_bytes(pem))
    return path
