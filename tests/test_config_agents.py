"""Who is strict about what: an agent about its own and the shared tables, `spoteval check` about all."""

import sys
from pathlib import Path

import pytest

from cli_hosts import Hosts, guest_file, made_hosts, restarter_file
from spoteval.config.described import GUEST, SECTIONS
from spoteval.config.guest import OWN, SHARED, IdleSettings, read_guest
from spoteval.config.restarter import read_restarter
from spoteval.config.shared import ConfigError
from spoteval.config.tables import TABLES
from spoteval.control.guest import serve

TYPOS = {
    "shutdown": "[shutdown]\nstopp = '1s'\n",
    "publication": "[publication]\nevery = 60\n",
    "server": "[[server]]\nunit = 'a.service'\n",
    "idle": "[idle]\nafter = 'long'\n",
    "end": "[end]\non_complete = 'party'\n",
}
SHARED_TYPOS = {
    "host": ('instance = "gpu-1"', 'instance = "gpu-1"\nx = 1'),
    "disk": ('min_free = "1MB"', "min_free = 1"),
    "provider": ('kind = "local"', 'kind = "local"\nclowd = "/x"'),
    "store": ('url = "file:', 'url = "ftp:'),
}
AGENTS = sorted(OWN)


@pytest.fixture
def hosts(tmp_path: Path) -> Hosts:
    """Both hosts."""
    return made_hosts(tmp_path)


def path_of(hosts: Hosts, text: str) -> Path:
    """The guest's host file, with that in it."""
    hosts.configure("node", text)
    return hosts.base / "node" / "config.toml"


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("table", TYPOS)
def test_a_typo_stops_only_whose_table_it_is(hosts: Hosts, table: str, agent: str) -> None:
    """The others go on with the defaults, and the warning is the very line that `check` says."""
    path = path_of(hosts, guest_file(hosts.base, TYPOS[table]))
    with pytest.raises(ConfigError) as strict:
        read_guest(path)
    if table in OWN[agent]:
        with pytest.raises(ConfigError) as caught:
            read_guest(path, agent)
        assert str(caught.value) == str(strict.value)
        return
    config = read_guest(path, agent)
    assert config.warnings == (str(strict.value),)
    assert (config.idle.after_s, config.servers) == (IdleSettings().after_s, ())


@pytest.mark.parametrize("agent", [*AGENTS, ""])
@pytest.mark.parametrize("table", SHARED)
def test_a_typo_in_a_shared_table_stops_all(hosts: Hosts, table: str, agent: str) -> None:
    """Without knowing disk, provider and store, an agent could do harm."""
    old, new = SHARED_TYPOS[table]
    text = guest_file(hosts.base)
    assert old in text
    with pytest.raises(ConfigError, match=rf"\[{table}"):
        read_guest(path_of(hosts, text.replace(old, new)), agent)


def test_a_wrong_template_stops_boot_resume_alone(hosts: Hosts) -> None:
    """The others obey the frozen record, not the template."""
    path = path_of(hosts, guest_file(hosts.base, run='setlement = "fresh_budget"'))
    for agent in AGENTS:
        if agent == "boot-resume":
            with pytest.raises(ConfigError, match="setlement"):
                read_guest(path, agent)
        else:
            assert read_guest(path, agent).run is None


@pytest.mark.parametrize("agent", AGENTS)
def test_a_mistyped_table_stops_only_whose_it_may_be(hosts: Hosts, agent: str) -> None:
    """One typo must not stop all six; `check` refuses it."""
    path = path_of(hosts, guest_file(hosts.base, "[idel]\nafter = '5min'\n"))
    line = f'{path}: idel: unknown key (did you mean "idle"?)'
    if agent == "idle-guard":
        with pytest.raises(ConfigError) as caught:
            read_guest(path, agent)
        assert str(caught.value) == line
    else:
        assert read_guest(path, agent).warnings == (line,)
    assert hosts.guest("check").err == f"{line}\n"


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("name", ["zzz", "stoer", "hosts"])
def test_a_table_that_is_nobodys_stops_all(hosts: Hosts, name: str, agent: str) -> None:
    """It resembles none, or one that all share. The children of an agent that runs already go on."""
    path = path_of(hosts, guest_file(hosts.base, f"[{name}]\nafter = '5min'\n"))
    with pytest.raises(ConfigError, match=f"{name}: unknown key"):
        read_guest(path, agent)
    if name == "zzz":
        assert len(read_guest(path, "").warnings) == 1


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("grand", 'grand: unknown key (did you mean "grant"?)'),
        ("pol", 'pol: unknown key (did you mean "poll"?)'),
        ("alrts", 'alrts: unknown key (did you mean "alerts"?)'),
        ("limits", "limits: unknown key (known: alerts, costs, grant, host, instance, monitor"),
    ],
)
def test_an_unknown_table_stops_the_restarter(hosts: Hosts, name: str, says: str) -> None:
    """It may have been a limit on money: without it, nothing would bound what is spent."""
    text = restarter_file(hosts.base, more=f"[{name}]\nstarts = 3\n")
    hosts.configure("restarter", text)
    path = hosts.base / "restarter" / "config.toml"
    with pytest.raises(ConfigError) as caught:
        read_restarter(path, "restarter")
    assert str(caught.value).startswith(f"{path}: {says}")
    assert len(read_restarter(path, "").warnings) == 1  # verbs that make it safe work all the same


def test_a_table_of_the_other_role_is_a_warning(hosts: Hosts) -> None:
    """It has no effect there, and somebody may have meant it to."""
    path = path_of(hosts, guest_file(hosts.base, "[grant]\nstarts = 3\n"))
    line = f"{path}: [grant]: not of role guest, and without effect here"
    assert {read_guest(path, agent).warnings for agent in AGENTS} == {(line,)}
    assert hosts.guest("check").err == f"{line}\n"
    hosts.configure("restarter", restarter_file(hosts.base, more="[idle]\nafter = '5min'\n"))
    config = read_restarter(hosts.base / "restarter" / "config.toml", "restarter")
    assert [line.partition(": ")[2] for line in config.warnings] == [
        "[idle]: not of role restarter, and without effect here"
    ]


def test_all_tables_are_named() -> None:
    """The names that a typo is held against are those of the description."""
    for role, sections in SECTIONS.items():
        assert set(TABLES[role]) == {section.name for section in sections}


def test_every_table_belongs_to_somebody() -> None:
    """A new table must be shared, or be some agent's own."""
    owned = {table for tables in OWN.values() for table in tables}
    assert {section.name for section in GUEST} == owned | set(SHARED)


def test_the_restarter_warns_about_what_is_the_monitors(hosts: Hosts) -> None:
    """A wrong alert channel starts and stops nothing."""
    hosts.configure("restarter", restarter_file(hosts.base, more="[alerts]\nneeds_you = ['x']\n"))
    path = hosts.base / "restarter" / "config.toml"
    config = read_restarter(path, "restarter")
    assert len(config.warnings) == 1
    assert config.warnings[0].startswith(f"{path}: [alerts] needs_you")
    assert config.alerts.needs_you == ()
    with pytest.raises(ConfigError, match="needs_you"):
        read_restarter(path)
    hosts.configure("restarter", restarter_file(hosts.base, more="[grant]\nstarts = 0\n"))
    with pytest.raises(ConfigError, match="starts 0"):
        read_restarter(path, "restarter")


def test_children_of_agents_are_no_stricter(hosts: Hosts) -> None:
    """idle-guard places its hold though somebody mistyped [end] and [run]; a person is told by `check`."""
    hosts.booted()
    text = guest_file(hosts.base, TYPOS["end"], run='setlement = "fresh_budget"')
    hosts.configure("node", text)
    done = hosts.guest("hold", "place", "--reason", "idle", "--id", "idle-1", "--json")
    assert (done.code, done.record["strength"]) == (0, "proved")
    assert hosts.guest("fact", "put", "booted", "--json").code == 0
    assert hosts.guest("check").code == 2
    hosts.configure("restarter", restarter_file(hosts.base, more="[alerts]\nneeds_you = ['x']\n"))
    assert hosts.restarter("hold", "show").code == 0
    assert hosts.restarter("check").code == 2


def test_an_agent_says_what_it_passes_over(
    hosts: Hosts, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line in the journal at its start, as a warning."""
    path = path_of(hosts, guest_file(hosts.base, TYPOS["end"]))
    for name, value in hosts.environment("node").items():
        monkeypatch.setenv(name, value) if value else monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "argv", ["spoteval-idle-guard"])
    seen: list[bool] = []
    assert serve("idle-guard", lambda config, host: seen.append(True)) == 0
    assert seen == [True]
    said = capsys.readouterr().err
    assert said == (
        f'<4>{path}: [end] on_complete "party": must be power-off | hold-only'
        " (not for this agent; `spoteval check` refuses it)\n"
    )
    assert serve("end-handler", lambda config, host: seen.append(False)) == 2
    assert seen == [True]
