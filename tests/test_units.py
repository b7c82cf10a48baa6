"""units/: what systemd is told, read with the parser that the local node uses."""

import re
from pathlib import Path

import pytest

from spoteval.control.runowner import RUN_USER
from spoteval.local.node import RESTARTER, enabled
from spoteval.local.unit_file import Unit, load_units, ordered_after, parse_settings, start_order
from spoteval.local.unit_set import check, is_helper
from unit_figures import (
    ABOVE,
    UNITS,
    complaints,
    copies,
    exposure,
    has_analyze,
    limit,
    services,
)

HOOK = "spoteval-shutdown-hook.service"
RUN = "spoteval-run.service"
RESUME = "spoteval-boot-resume.service"
FOLLOWER = "spoteval-publication-follower.service"
GUARD = "spoteval-idle-guard.service"
END = "spoteval-end-handler.service"
AGENTS = (HOOK, RESUME, FOLLOWER, GUARD, END, RESTARTER)


def texts() -> dict[str, str]:
    """All unit files."""
    return {path.name: path.read_text() for path in UNITS.iterdir() if path.is_file()}


def last(name: str, key: str) -> str:
    """A setting of a service, empty where it is not set."""
    values = parse_settings([texts()[name]]).get(("Service", key), [])
    return values[-1] if values else ""


def above(units: dict[str, Unit], name: str) -> frozenset[str]:
    """All units that `name` starts after, by any number of steps."""
    found, new = frozenset[str](), ordered_after(units)[name]
    while not new <= found:
        found |= new
        new = frozenset().union(*(ordered_after(units)[other] for other in new))
    return found


def test_a_local_node_can_run_them_all() -> None:
    """Nothing in them needs what the node does not know, and their order has no circle."""
    units = load_units([UNITS])
    check(units)
    assert set(units) == set(texts())
    assert {name for name, unit in units.items() if is_helper(unit)} == {
        "spoteval-start-run.service",
        "spoteval-poweroff.service",
    }


def test_the_hook_stops_first_and_the_run_before_the_follower() -> None:
    """Stops are starts backwards: hook, then boot-resume, then run, then follower."""
    units = load_units([UNITS])
    assert set(AGENTS) - {HOOK, RESTARTER} | {RUN} <= above(units, HOOK)
    assert {RUN, FOLLOWER} <= above(units, RESUME)
    assert FOLLOWER in above(units, RUN)
    assert FOLLOWER in above(units, END)
    stops = start_order(units)[::-1]
    guest = [name for name in stops if name in (HOOK, RESUME, RUN, FOLLOWER)]
    assert guest == [HOOK, RESUME, RUN, FOLLOWER]


def test_the_hook_keeps_the_bus_and_the_disk_until_it_has_ended() -> None:
    """Without D-Bus it could not ask whether this is a shutdown; the disk must not be unmounted first."""
    after = load_units([UNITS])[HOOK].after
    assert {"dbus.service", "dbus.socket", "network-online.target", "mnt-durable.mount"} <= after


def test_nothing_waits_for_a_hold_file_or_requires_the_disk() -> None:
    """A condition would keep a unit down for the rest of the boot, a missing disk the guards."""
    for name, text in texts().items():
        assert "Requires" not in re.sub(r"(?m)^#.*$", "", text), name
    conditions = {name: unit.conditions for name, unit in load_units([UNITS]).items()}
    assert {name for name, found in conditions.items() if found} == {RUN}
    assert [(str(c.path), c.there) for c in conditions[RUN]] == [("/run/spoteval/draining", False)]


def test_the_idle_guard_waits_for_nothing() -> None:
    """A disk or a network that does not come must not keep the machine on."""
    assert load_units([UNITS])[GUARD].after == frozenset()


def test_the_run_is_started_only_by_request_and_never_again() -> None:
    """Static, no restart, stopped the harness's own way."""
    run = load_units([UNITS])[RUN]
    assert run.enabled_by == ()
    assert run.restart == "no"
    assert (run.kill_signal, run.kill_mode) == (2, "mixed")
    assert run.commands[0].argv == ("spoteval", "run", "exec")


def test_nothing_but_the_run_is_in_its_control_group() -> None:
    """A process before it would be taken for the run, and its end for the run's."""
    found = [key for _, key in parse_settings([texts()[RUN]]) if key.startswith("Exec")]
    assert found == ["ExecStart"]
    wants = parse_settings([texts()[RUN]])[("Unit", "Wants")]
    assert wants == ["spoteval-fence.service"]
    assert "spoteval-fence.service" in load_units([UNITS])[RUN].after


def test_the_run_is_nobody_of_ours() -> None:
    """An agent under evaluation has a shell: as the agents' user it could lift a hold or signal an agent."""
    users = (UNITS.parent / "packaging" / "debian" / "spoteval.sysusers").read_text()
    assert last(RUN, "User") == RUN_USER != last(HOOK, "User")
    assert f"\nu {RUN_USER} - " in users


@pytest.mark.parametrize("name", ["start-run", "poweroff"])
def test_a_helper_takes_the_request_away_before_it_obeys(name: str) -> None:
    """A request file that stays would start the helper for ever."""
    units = load_units([UNITS])
    path, service = units[f"spoteval-{name}.path"], units[f"spoteval-{name}.service"]
    assert (str(path.path_exists), path.starts) == (f"/run/spoteval/{name}", service.name)
    assert service.commands[0].argv == ("rm", "-f", f"/run/spoteval/{name}")
    assert service.commands[1].argv[:2] == ("systemctl", "--no-block")
    assert service.enabled_by == ()
    assert path.enabled_by == ("paths.target",)


@pytest.mark.parametrize(
    ("name", "helper"),
    [(RESUME, "start-run"), (GUARD, "poweroff"), (END, "poweroff")],
)
def test_who_asks_a_helper_has_its_path_watched(name: str, helper: str) -> None:
    """Nobody enables a path unit by hand: a request that nobody watches is a run that never starts."""
    wants = parse_settings([texts()[name]])[("Unit", "Wants")]
    assert f"spoteval-{helper}.path" in " ".join(wants).split()


def test_who_proves_the_disk_sees_its_links() -> None:
    """PrivateDevices= hides /dev/disk, by which a file system's UUID is known."""
    for name in (HOOK, RESUME, FOLLOWER, GUARD, END):
        if last(name, "PrivateDevices") == "yes":
            assert last(name, "BindReadOnlyPaths") == "-/dev/disk", name


def test_a_guest_boots_all_but_the_restarter() -> None:
    """What is enabled on a guest, as the local node reads it."""
    booted = set(enabled(load_units([UNITS])))
    paths = {f"spoteval-{name}.path" for name in ("start-run", "poweroff", "remove-containers")}
    assert booted == set(AGENTS) - {RESTARTER} | paths


@pytest.mark.parametrize("name", AGENTS)
def test_agents_say_when_they_are_ready_and_run_without_root(name: str) -> None:
    """Notify, found by name, own user, shared /run that outlives each, back after any end but exit 2."""
    unit = load_units([UNITS])[name]
    assert unit.type == "notify"
    assert unit.commands[0].argv == (name.removesuffix(".service"),)
    assert last(name, "User") == "spoteval"
    assert (last(name, "RuntimeDirectory"), last(name, "RuntimeDirectoryPreserve")) == (
        "spoteval",
        "yes",
    )
    assert unit.restarts_after(1, clean=False)
    assert unit.restarts_after(0, clean=True)
    assert not unit.restarts_after(2, clean=False)
    assert unit.watchdog_s is not None


def test_every_agent_feeds_the_watchdog_that_its_unit_asks_for() -> None:
    """One that does not would be killed for being well, minutes after it started."""
    written = sorted((UNITS.parent / "agents" / "spoteval_agents").glob("*/agent.py"))
    assert written
    for agent in written:
        sources = "".join(path.read_text() for path in agent.parent.glob("*.py"))
        unit = load_units([UNITS])[f"spoteval-{agent.parent.name.replace('_', '-')}.service"]
        assert unit.watchdog_s is not None
        assert ".watchdog()" in sources, agent.parent.name


def test_only_those_who_end_the_run_may_signal_other_users() -> None:
    """CAP_KILL where the run is stopped, nothing at all elsewhere."""
    may = {name for name in AGENTS if last(name, "AmbientCapabilities") == "CAP_KILL"}
    assert may == {HOOK, RESUME, END}
    for name in AGENTS:
        assert last(name, "CapabilityBoundingSet") == ("CAP_KILL" if name in may else "")


def test_stops_fit_into_the_time_that_a_poweroff_has() -> None:
    """The forced power-off comes after the longest stop, or it would cut the hook short."""
    text = (UNITS / "poweroff.target.d" / "50-spoteval.conf").read_text()
    settings = parse_settings([text])
    assert settings[("Unit", "JobTimeoutSec")] == ["180s"]
    stops = [load_units([UNITS])[name].stop_timeout_s for name in AGENTS]
    assert max(s for s in stops if s is not None) < 180
    assert load_units([UNITS])[HOOK].stop_timeout_s == 150


def test_every_relaxed_line_has_its_reason_beside_it() -> None:
    """A lock that is missing from one unit and not from its sisters is explained there."""
    for name in AGENTS:
        text = texts()[name]
        for key in ("ProtectSystem=full", "PrivateDevices=no", "CapabilityBoundingSet=CAP_KILL"):
            if key in text:
                before = text[: text.index(key)].splitlines()
                comment = [line for line in before[-2:] if line.startswith("#")]
                assert comment, (name, key)


needs_analyze = pytest.mark.skipif(not has_analyze(), reason="no systemd-analyze here")


@needs_analyze
@pytest.mark.runs("starts systemd-analyze verify")
def test_systemd_finds_nothing_to_say_about_them(tmp_path: Path) -> None:
    """No unknown key, no wrong value."""
    assert complaints(tmp_path) == ""


@needs_analyze
@pytest.mark.runs("starts systemd-analyze security for each unit")
@pytest.mark.parametrize("name", services())
def test_no_sandbox_gets_weaker(tmp_path: Path, name: str) -> None:
    """systemd's own exposure level, lower is better; the figures are printed with -s."""
    copies(tmp_path)
    found, most = exposure(name, tmp_path), limit(name)
    why = f" ({found.reasons()})" if name in ABOVE else ""
    print(f"{name}: {found.level}, at most {most}{why}")
    assert most is None or found.level <= most, found.costs


@needs_analyze
@pytest.mark.runs("starts systemd-analyze security for each unit")
@pytest.mark.parametrize(
    "name", [*AGENTS, RUN, "spoteval-tunnel@.service", "spoteval-fence.service"]
)
def test_the_documents_say_each_exposure_and_stop(tmp_path: Path, name: str) -> None:
    """docs/units.md has the figures of systemd 252; a newer one gives a tenth or two less."""
    copies(tmp_path)
    page = (UNITS.parent / "docs" / "units.md").read_text()
    begins = f"| `{name.removesuffix('.service')}"
    row = next(line for line in page.splitlines() if line.startswith(begins))
    stop_s = load_units([UNITS])[name].stop_timeout_s
    said = float(row.split("|")[3])
    assert said == pytest.approx(exposure(name, tmp_path).level, abs=0.21)
    assert row.split("|")[4].split(",")[0].strip() == f"{stop_s:g} s"


def test_what_may_be_above_is_what_has_to() -> None:
    """An exception that is needed no more is taken away, and each has its reasons in the unit."""
    assert ABOVE.keys() <= set(AGENTS)
    for name in ABOVE:
        assert texts()[name].count("# Relaxed:") >= 4
