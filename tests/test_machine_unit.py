"""machine.unit: what a service manager says of somebody's unit, systemd's and a local node's."""

from pathlib import Path

import pytest

from guest_world import NOW
from said_program import Said
from spoteval.local.journal import Journal
from spoteval.machine.unit import OFF, LocalUnits, Systemd, UnitState, units_here
from spoteval.shape import Unreadable

SHOWN = "LoadState=loaded\nActiveState=activating\nResult=exit-code\nNRestarts=2\n"


def test_systemd_counts_restarts() -> None:
    """Asked without any right; a name that begins with a dash is a name."""
    said = Said(SHOWN)
    assert Systemd(said).state("-x.service") == UnitState(
        known=True, state="activating", result="exit-code", restarts=2
    )
    assert said.asked[0][-2:] == ["--", "-x.service"]


@pytest.mark.parametrize(
    ("out", "known", "gave_up"),
    [
        (SHOWN.replace("activating", "failed"), True, True),
        (SHOWN.replace("activating", "active"), True, False),
        (SHOWN.replace("loaded", "not-found").replace("activating", "inactive"), False, False),
    ],
)
def test_a_unit_that_failed_is_not_started_again(out: str, known: bool, gave_up: bool) -> None:
    """`activating` between two tries is not the end; a unit that is not there is not known."""
    found = Systemd(Said(out)).state("vllm.service")
    assert isinstance(found, UnitState)
    assert (found.known, found.gave_up) == (known, gave_up)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (Said(timed_out=True), "timeout:5s"),
        (Said(code=1, err="Failed to connect to bus\n"), "Failed to connect to bus"),
        (Said("nothing\n"), "no answer"),
    ],
)
def test_a_manager_that_does_not_answer_is_unreadable(said: Said, why: str) -> None:
    """A container without systemd: nothing is counted, nothing concluded."""
    assert Systemd(said).state("a.service") == Unreadable(f"systemctl show a.service: {why}")


def test_a_count_that_is_none_is_none() -> None:
    """systemd before 235 had no NRestarts."""
    found = Systemd(Said("ActiveState=active\n")).state("a.service")
    assert found == UnitState(known=True, state="active", result="", restarts=0)


def test_the_journal_is_this_boots() -> None:
    """Whoever may not read it gets no line, which is no error."""
    said = Said("one\ntwo\n")
    assert Systemd(said).last_lines("a.service") == "one\ntwo\n"
    assert "--boot" in said.asked[0]
    assert Systemd(Said(code=1)).last_lines("a.service") == ""


def test_a_local_node_tells_by_its_journal(tmp_path: Path) -> None:
    """The node's own lines are states, the unit's are lines; an earlier life counts for nothing."""
    journal, units = Journal(tmp_path / "journal"), LocalUnits(tmp_path)
    assert units.state("a") == UnitState(known=True, state="inactive", result="", restarts=0)
    assert units.last_lines("a") == ""
    for text in ("active", "auto-restart ended with 1", OFF, "active"):
        journal.say("a", text, NOW)
    journal.take("a", b"Load weight begin\n-- dashes of its own\n", NOW)
    journal.say("a", "auto-restart ended with 3", NOW)
    found = units.state("a")
    assert found == UnitState(known=True, state="auto-restart", result="ended with 3", restarts=1)
    assert units.last_lines("a").splitlines()[0] == "Load weight begin"
    journal.say("a", "failed ended with 3", NOW)
    failed = units.state("a")
    assert isinstance(failed, UnitState)
    assert (failed.gave_up, failed.result) == (True, "ended with 3")


def test_who_is_marked_belongs_to_a_local_node() -> None:
    """Else to systemd."""
    assert units_here({"SPOTEVAL_UNIT": "/n:a.service"}) == LocalUnits(Path("/n"))
    assert isinstance(units_here({}), Systemd)
