"""Host files: the shortest ones parse, defaults are the documented ones, errors are one line."""

from pathlib import Path

import pytest

from spoteval.config.guest import read_guest
from spoteval.config.restarter import read_restarter
from spoteval.config.shared import ConfigError
from spoteval.notice.open import NOTICES

GUEST = """
[host]
role = "guest"
instance = "gpu-1"
[provider]
kind = "local"
[disk]
uuid = "0b5e6f0e-6a0e-4b58-9a1c-2f1d3f7f2a11"
[store]
url = "file:///srv/store"
[[server]]
unit = "vllm.service"
model = "qwen3-235b"
[run]
harness = "inspect"
args = ["swe.py"]
settlement = "fresh_budget"
"""
RESTARTER = """
[host]
role = "restarter"
[store]
url = "file:///srv/store"
[instance.gpu-1]
provider = "local"
id = "computeinstance-e00example"
cloud = "/srv/cloud/gpu-1"
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def test_the_shortest_guest_file_has_the_documented_defaults(path: Path) -> None:
    """Seven tables are enough."""
    path.write_text(GUEST)
    config = read_guest(path)
    assert config.instance == "gpu-1"
    assert (config.disk.path, config.disk.min_free_bytes) == (Path("/mnt/durable"), 50 * 10**9)
    assert (config.publish_every_s, config.idle.after_s, config.end.publish_within_s) == (
        60,
        1200,
        1800,
    )
    assert config.servers[0].url == "http://127.0.0.1:8000"
    assert config.run is not None
    assert (config.run.concurrency, config.run.errors, config.run.label) == (
        16,
        "keep",
        "exploratory",
    )


def test_the_shortest_restarter_file_has_the_documented_defaults(path: Path) -> None:
    """Three tables are enough."""
    path.write_text(RESTARTER)
    poll = read_restarter(path).poll
    assert (poll.every_s, poll.in_motion_s, poll.grace_s) == (60, 10, 60)
    assert (poll.start_window_s, poll.backoff_max_s, poll.short_run_s) == (900, 1200, 600)


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        (
            "settlement =",
            "setlement =",
            '[run] setlement: unknown key (did you mean "settlement"?)',
        ),
        (
            'model = "q',
            'modle = "x"\nmodel = "q',
            '[server[0]] modle: unknown key (did you mean "model"?)',
        ),
        ('kind = "local"', 'kind = "ec2"', f'[provider] kind "ec2": must be {" | ".join(NOTICES)}'),
        (
            'url = "file:///srv',
            'url = "ftp:///srv',
            '[store] url "ftp:///srv/store": must be file:///absolute/path or s3://bucket/prefix',
        ),
        (
            '"fresh_budget"',
            '"refund"',
            '[run] settlement "refund": must be fresh_budget | remaining_budget | none | continued',
        ),
        (
            'instance = "gpu-1"',
            'instance = "a/b"',
            '[host] instance "a/b": an instance name is 1 to 64 of a-z A-Z 0-9 - _ and begins with a letter or digit',
        ),
        (
            'role = "guest"',
            'role = "restarter"',
            '[host] role "restarter": this is for role "guest"',
        ),
        (
            'model = "qwen3-235b"',
            'model = "m"\nurl = "http://10.0.0.1:8000"',
            (
                '[server[0]] url "http://10.0.0.1:8000": must be a loopback address '
                "(model servers are never public; use a tunnel)"
            ),
        ),
        (
            'model = "qwen3-235b"',
            'model = "m"\nname = "--help"',
            (
                '[server[0]] name "--help": must be a name of letters, digits and -_.'
                " that begins with a letter or digit"
            ),
        ),
        (
            'settlement = "fresh_budget"',
            'settlement = "fresh_budget"\nenv = { "A=B" = "1" }',
            '[run.env] "A=B": not the name of a variable (A-Z a-z 0-9 _)',
        ),
        (
            'args = ["swe.py"]',
            'args = ["a", "\\u0000"]',
            '[run] args ["a", "?"]: must be texts without NUL',
        ),
        (
            "[store]",
            "[publicatoin]\n[store]",
            '[] publicatoin: unknown key (did you mean "publication"?)',
        ),
        (
            "[store]",
            '[idle]\ncpu_above = "ten"\n[store]',
            '[idle] cpu_above "ten": must be a share such as "10%"',
        ),
    ],
)
def test_an_error_names_file_table_key_value_and_what_is_allowed(
    path: Path, old: str, new: str, error: str
) -> None:
    """One line, as a person needs it."""
    path.write_text(GUEST.replace(old, new, 1))
    with pytest.raises(ConfigError) as caught:
        read_guest(path)
    assert str(caught.value) == f"{path}: {error.removeprefix('[] ')}"


def test_an_absent_file_says_who_writes_it(path: Path) -> None:
    """The hint names the command and the variable."""
    with pytest.raises(
        ConfigError, match=r"no such file \(spoteval setup writes one; SPOTEVAL_CONFIG"
    ):
        read_guest(path)


def test_text_that_is_no_toml_is_one_line(path: Path) -> None:
    """Also a torn file is one line, with the place."""
    for length in (5, 20, 60):
        path.write_text(GUEST[:length] + '"')
        with pytest.raises(ConfigError) as caught:
            read_guest(path)
        assert "\n" not in str(caught.value)


def test_a_restarter_without_an_instance_is_refused(path: Path) -> None:
    """There is nothing to restart."""
    path.write_text(RESTARTER.partition("[instance")[0])
    with pytest.raises(ConfigError, match=r"\[instance\]: missing"):
        read_restarter(path)


def test_two_servers_of_one_name_are_refused(path: Path) -> None:
    """Lines and events name servers, so names differ."""
    path.write_text(GUEST.replace("[run]", '[[server]]\nunit = "b.service"\nmodel = "b"\n[run]', 1))
    with pytest.raises(ConfigError, match="give each its own"):
        read_guest(path)
