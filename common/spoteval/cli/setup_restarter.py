"""`spoteval setup restarter`: makes a restarter host ready, as often as you like."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from spoteval.cli.setup_common import (
    SYSTEM,
    asked,
    asked_kind,
    default_owner,
    end,
    may_write,
    more_keys,
    refuse_other,
    refuse_user_units,
    reload_systemd,
    setup_options,
    store_draft,
)
from spoteval.clock import read_now
from spoteval.config.draft import RestarterDraft
from spoteval.config.host import host_of
from spoteval.config.restarter import (
    InstanceSettings,
    RestarterConfig,
    read_restarter,
    restarter_of,
)
from spoteval.config.shared import ConfigError
from spoteval.control.dropins import restarter_credentials, restarter_dropins
from spoteval.control.setting_up import (
    RESTARTER_FOLDERS,
    lay_out,
    missing,
    owner_named,
    present,
    write_config,
    write_dropins,
)
from spoteval.instance import instance_error
from spoteval.paths import HostPaths, InstancePaths, host_paths
from spoteval.provider.open import PROVIDERS
from spoteval.report.agents import enable_command, is_running

_UNIT = "spoteval-restarter"


@dataclass(frozen=True, slots=True)
class Answers:
    """What the host file will say, as far as it was given on the command line."""

    instance: str | None
    provider: str | None
    id: str | None
    store: str | None
    no_store: bool
    endpoint_url: str | None
    region: str | None
    credential: str | None
    more: tuple[str, ...]
    replace: bool


@click.command()
@click.option("--id", help="The provider's own name of the instance.")
@click.option("--no-store", is_flag=True, help="Holds are files of this host alone.")
@setup_options
def restarter(owner: str | None, etc: Path, as_json: bool, user: bool, **given: object) -> None:
    """Make this restarter host ready: folders, the unit's credentials, and a first host file where there is none.

    Starts and enables nothing. Done again it changes nothing. Ends with what `spoteval check` says.
    """
    if user:
        refuse_user_units()
    answers, paths = Answers(**given), host_paths()  # type: ignore[arg-type]  # click made them
    may_write(paths.config.parent, "restarter")
    agents = owner_named(owner or default_owner())
    config, draft = _config(paths, answers)
    now, changed = read_now(), list[str]()
    if draft is not None:
        changed += write_config(paths.config, draft, now, answers.replace)
    changed += lay_out(paths.state, RESTARTER_FOLDERS, agents)
    there = present(restarter_credentials(config), paths.credentials)
    texts = restarter_dropins(config, paths.credentials, there)
    units = list(write_dropins(texts, etc / "systemd" / "system"))
    changed += units
    if units and etc == SYSTEM:
        reload_systemd()
    end(changed, list(_todo(config, paths, units=bool(units))), _start(paths), as_json)


def _config(paths: HostPaths, answers: Answers) -> tuple[RestarterConfig, str | None]:
    """The host file, or the draft of one. Raises ConfigError, Refused."""
    if paths.config.exists() and not answers.replace:
        config = read_restarter(paths.config, "")
        _refuse_other(config, answers)
        return config, None
    draft = _draft(paths, answers).text()
    return restarter_of(host_of(paths.config, tomllib.loads(draft), "restarter")), draft


def _draft(paths: HostPaths, answers: Answers) -> RestarterDraft:
    """The host file's values, asked for where they were not said. Raises ConfigError, Refused."""
    instance = asked("instance", answers.instance, "the name in holds, lines and reports")
    if (why := instance_error(instance)) is not None:
        raise ConfigError(f"--instance {why}")
    provider = asked_kind(answers.provider, tuple(PROVIDERS))
    name = asked("id", answers.id, "the provider's own name of it")
    url = None if answers.no_store else asked("store", answers.store, "URL of the store")
    usual, said = paths.credentials / "control", (answers.endpoint_url, answers.region)
    return RestarterDraft(
        instance=instance,
        provider=provider,
        id=name,
        store=None if url is None else store_draft(url, *said, answers.credential, usual),
        more=more_keys(PROVIDERS[provider].settings, answers.more),
    )


def _refuse_other(config: RestarterConfig, answers: Answers) -> None:
    """Raises ConfigError for an answer that contradicts the host file, also for an instance that is not in it."""
    store = config.shared_store
    said: dict[str, tuple[object, object]] = {
        "[store] url": (answers.store, store and store.url),
        "[store] endpoint_url": (answers.endpoint_url, store and store.endpoint_url),
        "[store] region": (answers.region, store and store.region),
        "[store] credential": (answers.credential, store and store.credential),
    }
    instances = {one.name: one for one in config.instances}
    if answers.instance is not None and answers.instance not in instances:
        raise ConfigError(
            f"{config.path}: no [instance.{answers.instance}] in it (add that table to the file)"
        )
    one = instances.get(answers.instance or "", config.instances[0])
    if answers.instance is not None or len(instances) == 1:
        said |= _instance_said(one, answers)
    refuse_other(config.path, said)


def _instance_said(one: InstanceSettings, answers: Answers) -> Mapping[str, tuple[object, object]]:
    place = f"[instance.{one.name}]"
    return {
        f"{place} provider": (answers.provider, one.provider),
        f"{place} id": (answers.id, one.id),
    }


def _todo(config: RestarterConfig, paths: HostPaths, units: bool) -> Iterator[str]:
    """What is left to a person."""
    for path in missing(restarter_credentials(config), paths.credentials):
        yield f"missing: {path} (install -D -m 600 FILE {path}, then spoteval setup restarter again)"
    if units and is_running(paths.state / "restarter.lock"):
        yield f"the restarter that runs has its old unit and keys until: systemctl restart {_UNIT}"
    for instance in config.instances:
        hold = InstancePaths(paths.state, instance.name).hold
        if not hold.exists():
            yield f"nothing is started while this file is there: touch {hold}"


def _start(paths: HostPaths) -> str:
    running = is_running(paths.state / "restarter.lock")
    return "" if running else enable_command(["restarter"])
