"""end_handler where a run is begun while an earlier one is being ended, in one life of the machine."""

from dataclasses import replace
from pathlib import Path

import pytest

from hook_world import Guest
from spoteval.control.runfiles import read_run
from spoteval.files import write_record
from spoteval.run import RunRecord
from test_end_cycle import KEYS, Ending


def begin_next(ending: Ending) -> None:
    """A person makes another run the active one."""
    durable = ending.guest.durable
    record = read_run(durable.run("swe"))
    assert isinstance(record, RunRecord)
    paths = durable.run("next")
    write_record(paths.record, replace(record, name="next").record())
    write_record(paths.intended, {"episodes": list(KEYS)})
    durable.active.write_text("next\n")


@pytest.mark.parametrize("stages", range(1, 6))
def test_the_end_is_withdrawn_and_the_machine_stays_on(tmp_path: Path, stages: int) -> None:
    """At any stage of the earlier one, before the power goes: nothing that is left keeps the next from going on."""
    ending = Ending(Guest(tmp_path))
    ending.finish(*KEYS)
    while len(set(ending.words())) < stages:
        ending.until(ending.guest.clock.at_s + 0.5)
    begin_next(ending)
    ending.until(ending.guest.clock.at_s + 3600)
    assert not ending.off
    assert [intent.withdrawn for intent in ending.intents()] == [True]
    assert ending.words()[-1].endswith("stage=complete")


def test_what_was_answered_about_a_drill_says_nothing_of_the_next_run(tmp_path: Path) -> None:
    """Published, told and recorded anew, though the drill's end was."""
    ending = Ending(Guest(tmp_path))
    record = read_run(ending.guest.run)
    assert isinstance(record, RunRecord)
    drill = replace(record, plan=replace(record.plan, label="drill"))
    write_record(ending.guest.run.record, drill.record())
    ending.finish(*KEYS)
    ending.until(ending.guest.clock.at_s + 60)
    assert (ending.off, ending.story) == (False, ["final", "pass", "fact put"])
    begin_next(ending)
    write_record(ending.guest.durable.run("next").record, replace(record, name="next").record())
    ending.until(ending.guest.clock.at_s + 60)
    (ending.guest.durable.run("next").finished).write_bytes(ending.guest.run.finished.read_bytes())
    ending.until(ending.guest.clock.at_s + 60)
    assert ending.off
    assert ending.story[3:] == ["final", "pass", "hold place", "fact put", "pass"]
