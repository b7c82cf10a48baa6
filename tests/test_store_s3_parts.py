"""The parts of the store in a bucket that need no service: keys in files, URLs, pauses, deadlines, errors."""

import socket
import threading
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from botocore.exceptions import (
    ClientError,
    CredentialRetrievalError,
    EndpointConnectionError,
    NoCredentialsError,
    ReadTimeoutError,
)
from hypothesis import given
from hypothesis import strategies as st

from spoteval.clock import Now
from spoteval.store.contract import StoreError, StoreRefused
from spoteval.store.deadline import Deadline, Overrun, bounded
from spoteval.store.keys import AccessKeys, parse_keys
from spoteval.store.open import open_store
from spoteval.store.place import S3Place
from spoteval.store.s3 import CALL_S, LARGEST_PUT, LEAST_BYTES_S, S3Store
from spoteval.store.s3_address import needs_path
from spoteval.store.s3_client import make_client
from spoteval.store.s3_codes import AGAIN_CODES, KEY_CODES, LATER_CODES
from spoteval.store.s3_errors import SKEW_S, Trouble, Way, trouble_of
from spoteval.store.s3_patience import (
    FIRST_PAUSE_S,
    LEAST_TRY_S,
    LONGEST_PAUSE_S,
    Patience,
    pause_s,
)
from spoteval.store.url import bucket_and_prefix, url_error

NOW = Now(datetime(2026, 12, 1, 12, tzinfo=UTC), 1000.0, "boot")
KEYS = AccessKeys("AKIAEXAMPLE", "secret/with+signs=")
PLAIN = "aws_access_key_id = AKIAEXAMPLE\naws_secret_access_key = secret/with+signs=\n"
HERE = S3Place("http://127.0.0.1:1", "x", lambda: KEYS)


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        f"[default]\n{PLAIN}",
        f"[publisher]\n{PLAIN}",
        f"# made by hand\n\n[default]\n{PLAIN}[other]\naws_access_key_id = x\n",
        PLAIN.replace(" = ", "=").upper().replace("SECRET/WITH+SIGNS=", "secret/with+signs="),
        "export AWS_ACCESS_KEY_ID=\"AKIAEXAMPLE\"\nexport AWS_SECRET_ACCESS_KEY='secret/with+signs='",
        PLAIN.replace("\n", "\r\n"),
        f"{PLAIN}aws_session_token =\nregion = x\n",
    ],
)
def test_a_key_is_read_however_it_was_written(text: str) -> None:
    """Sections, quotes, export, case, line ends; what else stands there is left alone."""
    assert parse_keys(text) == KEYS


def test_a_token_belongs_to_the_key() -> None:
    """It is optional."""
    assert parse_keys(f"{PLAIN}aws_session_token = tok").session_token == "tok"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no aws_access_key_id in it"),
        ("AKIAEXAMPLE:secret", "no aws_access_key_id in it"),
        ("aws_access_key_id = AKIAEXAMPLE", "no aws_secret_access_key in it"),
        (PLAIN.replace("secret/with+signs=", ""), "empty or no key"),
        (PLAIN.replace("AKIAEXAMPLE", "AKIA EXAMPLE"), "empty or no key"),
        (PLAIN.replace("AKIAEXAMPLE", "AKIÄEXAMPLE"), "empty or no key"),
        (f"[a]\n{PLAIN}[b]\n{PLAIN}", r"none is \[default\]"),
    ],
)
def test_what_is_no_key_is_said_without_it(text: str, said: str) -> None:
    """The file is named by who reads it; nothing of it is quoted."""
    with pytest.raises(ValueError, match=said) as wrong:
        parse_keys(text)
    assert "EXAMPLE" not in str(wrong.value)
    assert "secret/with" not in str(wrong.value)


@given(st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    """A key, or ValueError in one line."""
    try:
        found: object = parse_keys(text).access_key_id
    except ValueError as error:
        found = error
    assert str(found)
    assert "\n" not in str(found)


@pytest.mark.parametrize(
    ("url", "bucket", "prefix"),
    [
        ("s3://evals", "evals", ""),
        ("s3://evals/", "evals", ""),
        ("s3://evals/team-a", "evals", "team-a/"),
        ("s3://evals/team-a/", "evals", "team-a/"),
        ("s3://my.evals/a/b c%20", "my.evals", "a/b c%20/"),
    ],
)
def test_bucket_and_prefix(url: str, bucket: str, prefix: str) -> None:
    """Letter by letter: a percent sign is one."""
    assert url_error(url) is None
    assert bucket_and_prefix(url) == (bucket, prefix)


@pytest.mark.parametrize(
    "url", ["s3://", "s3:///x", "s3://ev", "s3://Evals/x", "s3://evals//x", "s3://evals/../x"]
)
def test_a_url_of_no_bucket_is_named(url: str) -> None:
    """The error quotes the value and says what is allowed."""
    with pytest.raises(ValueError, match="s3://bucket/prefix") as wrong:
        open_store(url)
    assert f'"{url}"' in str(wrong.value)


def test_a_key_typed_into_a_url_is_not_repeated() -> None:
    """Errors are logged."""
    assert "hush" not in str(url_error("s3://AKIA:hush@evals/x"))


@pytest.mark.parametrize(
    ("endpoint", "path"),
    [
        ("http://127.0.0.1:9000", True),
        ("http://[::1]:9000", True),
        ("http://10.0.0.7", True),
        ("http://localhost:9000", True),
        ("http://minio:9000", True),
        ("http://s3.localhost", True),
        ("https://storage.eu-north1.nebius.cloud", False),
        ("https://s3.example.org", False),
    ],
)
def test_where_the_bucket_stands(endpoint: str, path: bool) -> None:
    """In the path where no name can stand before the host."""
    assert needs_path(endpoint) is path
    style = (make_client(S3Place(endpoint, "x", lambda: KEYS), "s3://b").meta.config.s3 or {}).get(
        "addressing_style"
    )
    assert (style == "path") is path


def test_a_client_of_a_profile_that_is_not_there_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without what its files hold."""
    monkeypatch.setenv("AWS_PROFILE", "hush-profile")
    with pytest.raises(ValueError, match=r"ProfileNotFound.*is AWS_PROFILE right") as wrong:
        open_store("s3://evals/x", S3Place())
    assert "hush" not in str(wrong.value)


@given(st.integers(1, 1000), st.floats(0, 100), st.floats(0, 1), st.none() | st.floats(0, 60))
def test_a_pause_fits_and_is_not_shorter_than_asked(
    tries: int, left_s: float, dice: float, after_s: float | None
) -> None:
    """It leaves time for a try, is no longer than it must be, and there is one whenever one fits."""
    pause = pause_s(Trouble(Way.AGAIN, "", after_s), tries, left_s, dice)
    longest = max(LONGEST_PAUSE_S, after_s or 0.0)
    if pause is None:
        assert left_s < longest + LEAST_TRY_S
    else:
        assert max(FIRST_PAUSE_S / 2, after_s or 0.0) <= pause <= longest
        assert pause + LEAST_TRY_S <= left_s


def test_a_pause_at_its_bound() -> None:
    """0.2 s and a try of 0.5 s fit into 0.7 s, and into nothing less."""
    busy = Trouble(Way.AGAIN, "")
    assert pause_s(busy, 1, 0.7, 1.0) == 0.2
    assert pause_s(busy, 1, 0.69, 1.0) is None
    assert pause_s(busy, 1, 0.6, 0.0) == 0.1


@pytest.mark.parametrize("way", [way for way in Way if way is not Way.AGAIN])
def test_what_no_other_try_mends_is_not_tried(way: Way) -> None:
    """However much time there is."""
    assert pause_s(Trouble(way, ""), 1, 1000.0, 0.0) is None


def test_a_bounded_act_returns_or_raises_what_it_did() -> None:
    """And nothing of the thread is seen."""
    ample = Deadline(lambda: 0.0, 5.0)
    assert bounded(lambda: 7, ample) == 7
    assert bounded(lambda: None, ample) is None
    with pytest.raises(ZeroDivisionError):
        bounded(lambda: 1 // 0, ample)


def test_an_act_that_takes_too_long_is_left() -> None:
    """Also one that was given more time, once that is over; one without any time is not waited for."""
    gate, ticks = threading.Event(), iter([0.0, 0.0, 0.01, 0.02, 0.03, 9.0, 9.0])
    deadline = Deadline(lambda: next(ticks), 0.01)
    deadline.put_off(0.02)
    assert deadline.within_s == pytest.approx(0.03)
    with pytest.raises(Overrun):
        bounded(gate.wait, deadline)
    with pytest.raises(Overrun):
        bounded(gate.wait, Deadline(lambda: 0.0, 0.0))
    gate.set()


def answer(status: int, code: str, date: datetime | None = None) -> ClientError:
    """An answer as botocore raises it."""
    headers = {"date": format_datetime(date)} if date is not None else {}
    return ClientError(
        {
            "Error": {"Code": code, "Message": "of AKIAEXAMPLE"},
            "ResponseMetadata": {"HTTPStatusCode": status, "HTTPHeaders": headers},  # type: ignore[typeddict-item]
        },
        "PutObject",
    )


@pytest.mark.parametrize(("off_s", "named"), [(SKEW_S, False), (SKEW_S + 1, True), (-301, True)])
def test_the_bound_of_a_clock(off_s: float, named: bool) -> None:
    """Five minutes are well, one second more is what is wrong."""
    error = answer(403, "AccessDenied", NOW.wall + timedelta(seconds=off_s))
    found = trouble_of(error, NOW)
    assert ("clock is" in found.text) is named
    assert found.way is (Way.LATER if named else Way.REFUSED)


@pytest.mark.parametrize("date", [None, NOW.wall.replace(tzinfo=None)])
def test_a_skew_without_a_date_is_still_one(date: datetime | None) -> None:
    """The service says it; by how much nobody knows."""
    error = answer(403, "RequestTimeTooSkewed", date)
    assert "timedatectl" in trouble_of(error, NOW).text


@given(st.integers(100, 599), st.text(max_size=40))
def test_every_answer_is_one_line_without_its_message(status: int, code: str) -> None:
    """Whatever the service makes up as a code."""
    found = trouble_of(answer(status, code), NOW)
    assert found.text.startswith(str(status))
    assert found.text.isprintable()
    assert "AKIA" not in found.text or "AKIA" in code


@pytest.mark.parametrize("code", sorted(LATER_CODES))
def test_codes_of_all_keys_say_what_to_do(code: str) -> None:
    """They are no refusal of one object, and those of the key have it read anew."""
    found = trouble_of(answer(403, code), NOW)
    assert found.way is Way.LATER
    assert found.text == f"403 {code}: {LATER_CODES[code]}"
    assert found.is_of_key is (code in KEY_CODES)


@pytest.mark.parametrize("code", sorted(AGAIN_CODES))
def test_codes_that_pass_are_tried_again(code: str) -> None:
    """Whatever their status."""
    assert trouble_of(answer(400, code), NOW).way is Way.AGAIN


@pytest.mark.parametrize(
    ("error", "way", "said"),
    [
        (NoCredentialsError(), Way.LATER, r"set \[store\] credential"),
        (CredentialRetrievalError(provider="x", error_msg="hush"), Way.LATER, "cannot be read"),
        (
            EndpointConnectionError(endpoint_url="u", error=ConnectionRefusedError()),
            Way.LATER,
            "refused",
        ),
        (
            EndpointConnectionError(endpoint_url="u", error=socket.gaierror(-2, "x")),
            Way.LATER,
            "DNS",
        ),
        (ReadTimeoutError(endpoint_url="u", error="x"), Way.AGAIN, "timeout"),
        (ConnectionResetError(104, "Connection reset by peer"), Way.AGAIN, "reset by peer"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_what_no_service_answered(error: Exception, way: Way, said: str) -> None:
    """Each kind in words."""
    found = trouble_of(error, NOW)
    assert found.way is way
    with pytest.raises(StoreError, match=said):
        raise StoreError(found.text)
    assert "hush" not in found.text


def test_a_large_put_has_more_time_and_a_bound() -> None:
    """One second for each megabyte; more than the protocol takes is refused before a byte is sent."""
    store = S3Store("s3://evals/x", HERE)
    assert store._deadline(LARGEST_PUT).within_s == CALL_S + LARGEST_PUT / LEAST_BYTES_S
    assert store._deadline(0).within_s == CALL_S
    with pytest.raises(StoreRefused, match="more than one put takes"):
        store._put("a", lambda: None, LARGEST_PUT + 1)  # type: ignore[arg-type,return-value]


def test_no_call_outlives_the_moment_that_a_store_was_given() -> None:
    """A final pass has its own deadline; a call that would have more time than that has less."""
    now_s = [100.0]
    store = S3Store("s3://evals/x", HERE, Patience(lambda: now_s[0])).until(103.0)
    assert store._deadline().within_s == 3.0
    now_s[0] = 104.0
    with pytest.raises(StoreError, match="no answer within"):
        store.put("a", b"x")


def test_a_key_and_its_prefix_have_one_bound() -> None:
    """1024 bytes together."""
    store = S3Store("s3://evals/team-a", HERE)
    with pytest.raises(StoreRefused, match="with the prefix above 1024 bytes"):
        store.put("x" * 1018, b"")
    assert store._name("x" * 1017) == "team-a/" + "x" * 1017
