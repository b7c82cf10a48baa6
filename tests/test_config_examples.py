"""The complete example files parse, the schema takes them, and the documentation is the description that parses."""

import json
import tomllib
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from cli_hosts import typed
from spoteval.config.described import SECTIONS, keys_for
from spoteval.config.guest import GuestConfig, read_guest
from spoteval.config.reference import reference
from spoteval.config.restarter import read_restarter
from spoteval.config.schema import schema
from spoteval.config.shared import ConfigError, Money
from spoteval.notice.open import NOTICES
from spoteval.provider.open import PROVIDERS
from spoteval.run import StopRules
from spoteval.shape import Table

DOCS = Path(__file__).resolve().parent.parent / "docs"
GUEST = (DOCS / "examples" / "guest.toml").read_text()
RESTARTER = (DOCS / "examples" / "restarter.toml").read_text()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A host file."""
    return tmp_path / "config.toml"


def guest(path: Path, text: str) -> GuestConfig:
    """The guest whose file says that."""
    path.write_text(text)
    return read_guest(path)


def test_the_complete_guest_file_parses(path: Path) -> None:
    """Each value arrives with its unit."""
    config = guest(path, GUEST)
    assert config.notice_window_s == 60
    assert [server.name for server in config.servers] == ["policy", "judge"]
    assert config.run is not None
    assert config.run.deadline == datetime(2026, 12, 4, 8, tzinfo=UTC)
    assert config.run.stop_rules == StopRules(2700, 2, (3, 20), Money(600, "USD"))
    assert (config.idle.gpu_above, config.idle.io_above_bytes_s) == (0.05, 5_000_000)
    assert config.idle.keep_alive_warn_s == 43200
    assert config.warnings == ()


def test_what_stands_there_as_a_comment_parses_too(path: Path) -> None:
    """The three steps of [shutdown], and `max_attempts` where the harness can leave an episode out."""
    text = GUEST.replace("# stop =", "stop =").replace("# salvage =", "salvage =")
    text = text.replace("# final_pass =", "final_pass =")
    shutdown = guest(path, text).shutdown
    assert (shutdown.stop_s, shutdown.salvage_s, shutdown.final_pass_s) == (15, 5, 25)
    text = GUEST.replace("# max_attempts =", "max_attempts =")
    with pytest.raises(ConfigError, match="inspect cannot leave an episode out"):
        guest(path, text)
    assert guest(path, text.replace('harness = "inspect"', 'harness = "directory"')).run


def test_the_complete_restarter_file_parses(path: Path) -> None:
    """Each value arrives with its unit, and in frozen values."""
    path.write_text(RESTARTER)
    config = read_restarter(path)
    (instance,) = config.instances
    assert instance.price == Money(11.6, "USD", "hour", "2026-11-20")
    assert instance.stopped_price == Money(0.21, "USD", "hour")
    assert (instance.type, instance.region, instance.identity, instance.ssh) == (
        "gpu-h200-sxm/8gpu-128vcpu-1600gb",
        "eu-north1",
        "instance",
        "eval@10.0.0.7",
    )
    grant = config.grant
    assert (grant.price_cap, grant.spend) == (Money(14, "USD", "hour"), Money(1500, "USD"))
    assert (grant.starts, grant.regions) == (60, ("eu-north1",))
    assert grant.until == datetime(2026, 12, 31, tzinfo=UTC)
    assert grant.failed_starts_s == 2700
    assert (grant.preemptions_before_healthy, grant.preemptions_before_episodes) == (2, (3, 20))
    assert config.costs.restarter == Money(0.02, "USD", "hour")
    assert config.monitor.no_finished_episode_for_s is None
    assert config.alerts.needs_you[1] == "mail:oncall@example.org"
    assert (config.holds, config.store.url) == (("local", "store"), "file:///srv/evals/team-a")


@pytest.mark.parametrize("kind", ["hetzner", "lambda"])
def test_a_provider_that_does_not_exist_yet_is_refused_with_the_list(path: Path, kind: str) -> None:
    """On both hosts."""
    path.write_text(RESTARTER.replace('provider = "command"', f'provider = "{kind}"'))
    with pytest.raises(ConfigError) as caught:
        read_restarter(path)
    error = f'{path}: [instance.gpu-1] provider "{kind}": must be {" | ".join(PROVIDERS)}'
    assert str(caught.value) == error
    with pytest.raises(ConfigError) as caught:
        guest(path, GUEST.replace('kind = "command"', f'kind = "{kind}"'))
    assert str(caught.value) == f'{path}: [provider] kind "{kind}": must be {" | ".join(NOTICES)}'


def as_json(value: Any) -> Any:
    """TOML as a JSON Schema sees it: dates are their text."""
    if isinstance(value, dict):
        return {key: as_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_json(item) for item in value]
    return value.isoformat() if isinstance(value, datetime | date) else value


@pytest.mark.parametrize("text", [GUEST, RESTARTER], ids=["guest", "restarter"])
def test_the_schema_takes_the_examples_and_refuses_a_typo(text: str) -> None:
    """A file that parses is valid; a bare number for a duration, and a key that nobody knows, are not."""
    jsonschema: Any = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(schema())
    validator.check_schema(schema())
    assert list(validator.iter_errors(as_json(tomllib.loads(text)))) == []
    for old, new in (("role =", "rolle ="), ('every = "60s"', "every = 60")):
        assert old in text
        wrong = as_json(tomllib.loads(text.replace(old, new, 1)))
        assert list(validator.iter_errors(wrong)) != []


def test_the_command_prints_the_schema() -> None:
    """The same, on any host."""
    done = typed(("config", "schema"), {})
    assert done.code == 0
    assert json.loads(done.out) == json.loads(json.dumps(schema()))


@pytest.mark.parametrize("role", SECTIONS)
def test_the_documentation_has_every_table(role: str) -> None:
    """docs/configuration.md holds the tables as they are generated; `reference(role)` prints them."""
    assert reference(role).rstrip() in (DOCS / "configuration.md").read_text()


@pytest.mark.parametrize(("role", "text"), [("guest", GUEST), ("restarter", RESTARTER)])
def test_the_examples_name_nearly_every_key(role: str, text: str) -> None:
    """A key that is in no example is one of few, so that a new one is shown, too."""
    tables = tomllib.loads(text)
    missing = []
    for section in SECTIONS[role]:
        found = tables.get(section.name, {})
        table = found[0] if isinstance(found, list) else found
        table = next(iter(table.values())) if section.many == "named" else table
        kind = table.get(section.kind_key, "") if section.kind_key else ""
        names = [item.name for item in keys_for(section, kind) if item.name not in table]
        missing += [f"{section.name}.{name}" for name in names]
    assert (
        missing
        == {
            "guest": [
                *("shutdown.stop", "shutdown.salvage", "shutdown.final_pass"),
                *("run.max_attempts", "idle.every", "idle.gpu"),
            ],
            "restarter": ["host.holds", "instance.deadline", "instance.cancels", "tunnel.address"],
        }[role]
    )


@pytest.mark.parametrize("role", SECTIONS)
def test_every_default_is_a_value_that_may_be_typed(role: str) -> None:
    """What the schema calls the default is read back as the default."""
    for section in SECTIONS[role]:
        for kind in section.kinds or {"": section.settings}:
            for item in keys_for(section, kind):
                if item.required or item.default is None:
                    continue
                shown = item.kind.typed(item.default)
                value = json.loads(json.dumps(shown))
                again = item.kind.read(Table({item.name: value}, section.name), item.name)
                assert again == item.default, (section.name, item.name)
