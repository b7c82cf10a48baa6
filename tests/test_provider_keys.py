"""Key files of service accounts: signed with the vendor's own library, exchanged on loopback, and quoted nowhere."""

import json
import sys
from collections.abc import Iterator

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from fakes.server import Asked, FakeServer, Reply
from restarter_world import Clock
from spoteval.provider.gcp.tokens import file_tokens as gcp_tokens
from spoteval.provider.nebius.tokens import file_tokens as nebius_tokens
from spoteval.provider.token import Bearer
from spoteval.shape import ShapeError, Unreadable

KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
PEM = KEY.private_bytes(
    serialization.Encoding.PEM,
    serialization.PrivateFormat.PKCS8,
    serialization.NoEncryption(),
).decode()
WHO = "serviceaccount-e00restarter"


class Exchange(FakeServer):
    """Gives a token for an assertion that is signed by KEY; the next one each time."""

    def __init__(self) -> None:
        super().__init__()
        self.claims: list[dict[str, object]] = []

    def handle(self, asked: Asked) -> Reply:
        form = dict(part.split("=", 1) for part in asked.body.split("&"))
        signed = form.get("assertion") or form["subject_token"]
        off = {"verify_aud": False, "verify_exp": False, "verify_iat": False}
        self.claims.append(jwt.decode(signed, KEY.public_key(), ["RS256"], options=off))
        token = f"token-{len(self.claims)}"
        return Reply(200, {"access_token": token, "expires_in": 3600, "token_type": "Bearer"})


@pytest.fixture
def exchange() -> Iterator[Exchange]:
    """Where keys are exchanged."""
    service = Exchange()
    with service.listening():
        yield service


def bearer(kind: str, url: str, clock: Clock) -> Bearer[str]:
    """Of such a key."""
    if kind == "gcp":
        text = {
            "type": "service_account",
            "client_email": WHO,
            "private_key": PEM,
            "private_key_id": "k1",
            "token_uri": f"{url}/token",
        }
        return gcp_tokens("app", json.dumps(text), clock)
    own = {"alg": "RS256", "private-key": PEM, "kid": "k1", "iss": WHO, "sub": WHO}
    return nebius_tokens("app", json.dumps({"subject-credentials": own}), url, clock)


@pytest.mark.parametrize("kind", ["gcp", "nebius"])
def test_a_key_is_exchanged_once_and_again_before_its_token_ends(
    exchange: Exchange, kind: str
) -> None:
    """The assertion names the account; a token is used until two minutes before its end."""
    clock = Clock()
    tokens = bearer(kind, exchange.url, clock)
    assert [tokens.value(5), tokens.value(5)] == ["token-1", "token-1"]
    assert exchange.claims[0]["iss"] == WHO
    clock.seconds += 3600
    assert tokens.value(5) == "token-2"
    tokens.refused("token-2")
    assert tokens.value(5) == "token-3"


@pytest.mark.parametrize("kind", ["gcp", "nebius"])
@pytest.mark.parametrize(
    "bad",
    [
        Reply(401, {"error": "invalid_grant hunter2"}),
        Reply(200, {"access": "hunter2"}),
        Reply(200, "hunter2", then="half"),
        Reply(200, "", then="reset"),
    ],
)
def test_an_exchange_that_fails_is_not_known_and_quotes_nothing(
    exchange: Exchange, kind: str, bad: Reply
) -> None:
    """Neither the key nor what the service said."""
    exchange.goes_wrong(bad)
    found = bearer(kind, exchange.url, Clock()).value(5)
    assert isinstance(found, Unreadable)
    assert "hunter2" not in found.why
    assert "PRIVATE" not in found.why


@pytest.mark.parametrize("kind", ["gcp", "nebius"])
def test_an_exchange_that_hangs_ends_at_its_deadline(exchange: Exchange, kind: str) -> None:
    """The library's own patience is minutes."""
    exchange.goes_wrong(Reply(200, "", then="hang"))
    assert isinstance(bearer(kind, exchange.url, Clock()).value(0.2), Unreadable)


@pytest.mark.parametrize("text", ["hunter2", "{}", '{"type": "service_account"}', "[1]"])
def test_a_file_that_is_no_key_is_refused_unquoted(text: str) -> None:
    """When the provider is opened."""
    with pytest.raises(ShapeError, match='identity "app"') as of_gcp:
        gcp_tokens("app", text, Clock())
    with pytest.raises(ShapeError, match='identity "app"') as of_nebius:
        nebius_tokens("app", text, "http://127.0.0.1:9", Clock())
    assert "hunter2" not in f"{of_gcp.value} {of_nebius.value}"


def test_without_google_auth_a_key_file_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a VM of Google's none is needed."""
    monkeypatch.setitem(sys.modules, "google.auth.transport.requests", None)
    with pytest.raises(ShapeError, match="pipx inject spoteval google-auth"):
        gcp_tokens("app", "{}", Clock())
