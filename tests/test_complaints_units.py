"""What users of neighbouring tools complain of, where it is the units and the package that must not do it."""

import re
import subprocess
from pathlib import Path

import pytest

from spoteval.config.guest import ShutdownSettings
from spoteval.control.dropins import mount_unit
from spoteval.local.unit_file import Settings, Unit, load_units, parse_settings, span_s
from spoteval.notice.open import NOTICES
from spoteval_agents.shutdown_hook.plan import plan_for
from unit_figures import UNITS, complaints, has_analyze, services

ROOT = UNITS.parent
HOOK, RUN = "spoteval-shutdown-hook.service", "spoteval-run.service"
FOLLOWER, RESUME = "spoteval-publication-follower.service", "spoteval-boot-resume.service"
END, GUARD = "spoteval-end-handler.service", "spoteval-idle-guard.service"
RESTARTER = "spoteval-restarter.service"
INSIDE_A_SHUTDOWN = frozenset(
    ["spoteval-remove-containers.service", "spoteval-remove-containers.path"]
)
"""Asked for by the hook in the middle of a shutdown, which ends whatever has the default dependencies."""
LONGEST_WINDOW_S = 120.0


def settings(name: str) -> Settings:
    """A unit's settings."""
    return parse_settings([(UNITS / name).read_text()])


def unit(name: str) -> Unit:
    """A unit as the local node reads it."""
    return load_units([UNITS])[name]


def test_complaint_41_the_stop_path_is_a_unit_of_our_own() -> None:
    """Its own program, its own time, and its place before all that it stops; no shutdown script of a vendor's agent."""
    hook = unit(HOOK)
    assert hook.commands[0].argv == ("spoteval-shutdown-hook",)
    assert settings(HOOK)[("Service", "TimeoutStopSec")] == ["150s"]
    assert {RUN, FOLLOWER, RESUME, END, GUARD} <= hook.after
    ours = [*UNITS.rglob("*"), *(ROOT / "packaging").rglob("*"), *(ROOT / "docs").rglob("*.md")]
    texts = (path.read_text(errors="replace") for path in ours if path.is_file())
    vendor = re.compile(r"google-shutdown-scripts|shutdown-script\b", re.IGNORECASE)
    assert not any(vendor.search(text) for text in texts)


@pytest.mark.runs("starts systemd-analyze verify")
def test_complaint_47_units_keep_the_default_dependencies(tmp_path: Path) -> None:
    """Else the network goes before their last words. `verify` finds nothing to say about any of them."""
    for path in UNITS.glob("*.*"):
        if path.is_file() and path.name not in INSIDE_A_SHUTDOWN:
            assert ("Unit", "DefaultDependencies") not in settings(path.name), path.name
    for name in (HOOK, FOLLOWER, RESUME, END, RESTARTER):
        assert "network-online.target" in unit(name).after, name
        assert "network-online.target" in settings(name)[("Unit", "Wants")], name
    if not has_analyze():
        pytest.skip("no systemd-analyze here")
    assert complaints(tmp_path) == ""


def test_complaint_48_whoever_talks_at_its_stop_stops_before_the_network() -> None:
    """By name, not by way of network-online.target, which need not be active. Hook, then follower, then the network."""
    for name in (HOOK, FOLLOWER, RESUME, END, RESTARTER, RUN):
        assert "network.target" in unit(name).after, name
    assert FOLLOWER in unit(HOOK).after
    assert unit(GUARD).after == frozenset(), "it says nothing at its stop, and waits for nothing"


def test_complaint_49_the_final_pass_fits_the_time_that_systemd_gives() -> None:
    """The longest window of any provider, the unit's own limit, then the forced power-off: each before the next."""
    longest_s = max(LONGEST_WINDOW_S, *(kind.window_s for kind in NOTICES.values()))
    plan = plan_for(longest_s, ShutdownSettings())
    stop_s = unit(HOOK).stop_timeout_s
    conf = parse_settings([(UNITS / "poweroff.target.d" / "50-spoteval.conf").read_text()])
    forced_s = span_s(conf[("Unit", "JobTimeoutSec")][-1])
    assert stop_s is not None
    assert forced_s is not None
    assert plan.final_by_s < longest_s < stop_s < forced_s


@pytest.mark.parametrize("name", services())
def test_complaint_50_no_unit_relies_on_a_default_stop_timeout(name: str) -> None:
    """A host may have any default: each service says its own, and those that are no daemons their start's too."""
    found = settings(name)
    assert span_s(found[("Service", "TimeoutStopSec")][-1]) is not None
    if found[("Service", "Type")] == ["oneshot"]:
        assert span_s(found[("Service", "TimeoutStartSec")][-1]) is not None


@pytest.mark.runs("starts install.sh, which refuses")
def test_complaint_51_agents_are_units_of_the_system() -> None:
    """A user's manager kills its services after 5 s: nothing is installed for one, and `--user` is refused."""
    wanted = {word for name in load_units([UNITS]) for word in unit(name).enabled_by}
    assert wanted == {"multi-user.target", "paths.target"}
    installed = (ROOT / "packaging" / "debian" / "spoteval.install").read_text()
    places = [line.split()[1] for line in installed.splitlines() if line.startswith("units/")]
    assert set(places) == {"lib/systemd/system"}
    for role in ("guest", "restarter"):
        argv = [str(ROOT / "install.sh"), role, "--user"]
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 3
        assert "--user" in done.stderr


def test_complaint_53_whoever_writes_to_the_disk_stops_before_it_is_unmounted() -> None:
    """After= its mount, which orders both ways; not Requires=, by which a missing disk would stop the guards."""
    for name in (HOOK, FOLLOWER, RESUME, END, RUN):
        assert mount_unit(Path("/mnt/durable")) in unit(name).after, name
        assert ("Unit", "RequiresMountsFor") not in settings(name), name


def test_complaint_55_we_never_block_a_poweroff() -> None:
    """Nothing of ours takes an inhibitor: only those of others are read."""
    sources = [*(ROOT / "common").rglob("*.py"), *(ROOT / "agents").rglob("*.py")]
    takes = re.compile(r"systemd-inhibit\b(?! --list)|\.Inhibit\b|\"Inhibit\"")
    assert [path.name for path in sources if takes.search(path.read_text())] == []
    assert not any("inhibit" in path.read_text() for path in UNITS.glob("*.service"))
