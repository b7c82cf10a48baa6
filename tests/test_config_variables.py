"""Variables above the host file: what they reach, how they are written, and how their errors read."""

from pathlib import Path

import pytest

from cli_hosts import Hosts, Typed, guest_file, made_hosts
from spoteval.config.host import read_host
from spoteval.config.shown import differences
from spoteval.config.variables import Variable, overlaid, set_by
from spoteval.run import RunPlan, StopRules


@pytest.fixture
def hosts(tmp_path: Path) -> Hosts:
    """Both hosts."""
    found = made_hosts(tmp_path)
    found.booted()
    return found


def shown(done: Typed) -> dict[str, tuple[str, str]]:
    """Value and source of each place."""
    return {one["place"]: (one["value"], one["source"]) for one in done.record["values"]}


def show(hosts: Hosts, host: str, **env: str) -> dict[str, tuple[str, str]]:
    """What `config show` says there."""
    return shown(getattr(hosts, host)("config", "show", "--json", **env))


def test_a_variable_stands_above_the_file(hosts: Hosts) -> None:
    """Typed in the file, or not there at all; a table that is absent is made."""
    found = show(hosts, "restarter", SPOTEVAL_POLL__EVERY="5s", SPOTEVAL_GRANT__STARTS="3")
    assert found["poll.every"] == ("5s", "environment")
    assert found["grant.starts"] == ("3", "environment")
    assert found["poll.start_window"] == ("7s", "file")
    assert found["poll.grace"] == ("60s", "default")


def test_numbers_lists_and_tables_are_written_as_in_toml() -> None:
    """All else is text, with or without quotes."""
    texts = {
        "5": 5,
        "true": True,
        "[]": [],
        '["eu"]': ["eu"],
        '{ amount = 1, currency = "EUR" }': {"amount": 1, "currency": "EUR"},
        "5s": "5s",
        '"5s"': "5s",
        "file:///srv": "file:///srv",
        "a\nb = 1": "a\nb = 1",
        "9" * 5000: "9" * 5000,
    }
    for text, value in texts.items():
        variables = set_by({"SPOTEVAL_POLL__EVERY": text})
        assert overlaid({}, variables) == {"poll": {"every": value}}


def test_which_variables_are_keys() -> None:
    """Two words with two underscores between them; directories, other programs' and empty ones are not."""
    names = {
        "SPOTEVAL_RUN_DIRECTORY": "/x",
        "SPOTEVAL_CONFIG": "/x",
        "POLL__EVERY": "5s",
        "SPOTEVAL_POLL__GRACE": "",
        "SPOTEVAL_POLL__IN_MOTION": "1s",
        "SPOTEVAL_STORE": "file:///x",
    }
    assert set_by(names) == [
        Variable("SPOTEVAL_POLL__IN_MOTION", "poll", "in_motion", "1s"),
        Variable("SPOTEVAL_STORE", "store", "url", "file:///x"),
    ]


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        (
            "SPOTEVAL_POLL__EVRY",
            "5s",
            '[poll] evry: unknown key (did you mean "every"?) (set by SPOTEVAL_POLL__EVRY)',
        ),
        (
            "SPOTEVAL_POLL__EVERY",
            "5",
            (
                '[poll] every 5: must be a duration such as "60s", "15min" or "2h"'
                " (set by SPOTEVAL_POLL__EVERY)"
            ),
        ),
        ("SPOTEVAL_POL__EVERY", "5s", 'pol: unknown key (did you mean "poll"?)'),
    ],
)
def test_a_wrong_one_is_named(hosts: Hosts, name: str, value: str, error: str) -> None:
    """One line, exit 2."""
    done = hosts.restarter("config", "show", **{name: value})
    assert (done.code, done.err) == (2, f"{hosts.base}/restarter/config.toml: {error}\n")


@pytest.mark.parametrize("table", ["RUN", "SERVER", "INSTANCE"])
def test_runs_servers_and_instances_are_out_of_reach(hosts: Hosts, table: str) -> None:
    """A frozen run changes by `run set` alone, and of the others there may be several."""
    name = f"SPOTEVAL_{table}__CONCURRENCY"
    done = hosts.guest("check", **{name: "4"})
    assert done.code == 2
    assert done.err.startswith(f"{name}: [{table.lower()}] is not set by variables (")


def test_check_says_what_variables_set(hosts: Hosts) -> None:
    """A shell's variable is not the unit's."""
    done = hosts.guest("check", SPOTEVAL_IDLE__AFTER="5min")
    line = (
        "config       warn  idle.after is set by SPOTEVAL_IDLE__AFTER:"
        " only for what is started with it"
    )
    assert line in done.lines


def test_a_host_file_without_variables_has_none(hosts: Hosts) -> None:
    """The environment that is passed is the one that counts."""
    path = hosts.base / "node" / "config.toml"
    assert read_host(path, environment={}).environment == {}
    found = read_host(path, environment={"SPOTEVAL_END__ON_COMPLETE": "hold-only"})
    assert found.environment == {"end.on_complete": "SPOTEVAL_END__ON_COMPLETE"}
    assert found.tables["end"] == {"on_complete": "hold-only"}


def test_the_kinds_own_default_is_shown_as_the_providers(hosts: Hosts) -> None:
    """Between the file and the default."""
    assert show(hosts, "guest")["provider.notice_window"] == ("8s", "provider")
    text = guest_file(hosts.base).replace('kind = "local"', 'kind = "command"')
    hosts.configure("node", "\n".join(line for line in text.splitlines() if "cloud" not in line))
    assert show(hosts, "guest")["provider.notice_window"] == ("30s", "provider")
    found = show(hosts, "guest", SPOTEVAL_PROVIDER__NOTICE_WINDOW="45s")
    assert found["provider.notice_window"] == ("45s", "environment")


def test_tables_of_a_run_are_shown_key_by_key(hosts: Hosts) -> None:
    """Variables, files of secrets, and the rules that were typed."""
    more = '[run.env]\nA = "b"\n[run.stop_rules]\nfailed_starts = "30min"\n'
    hosts.configure("node", guest_file(hosts.base, more))
    found = show(hosts, "guest")
    assert found["run.env.A"] == ("b", "file")
    assert found["run.stop_rules.failed_starts"] == ("30min", "file")
    assert found["run.secret_env"] == ("none", "default")


def test_differences_name_nested_keys() -> None:
    """Changed, added, and left out."""
    frozen = RunPlan(
        "directory", "fresh_budget", env={"A": "1"}, stop_rules=StopRules(failed_starts_s=600)
    )
    typed = RunPlan("directory", "fresh_budget", env={"B": "2"}, concurrency=4)
    assert differences(frozen, typed) == [
        "config differs: run.concurrency 16 (run) 4 (file)",
        "config differs: run.env.A 1 (run) none (file)",
        "config differs: run.stop_rules.failed_starts 10min (run) none (file)",
        "config differs: run.env.B none (run) 2 (file)",
    ]
