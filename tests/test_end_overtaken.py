"""end_handler where a run is begun while an earlier one is being ended, in one life of the machine."""

from dataclasses import replace
from pathlib import Path

import pytest

from hook_world import Guest
from spoteval.control.runfiles import read_run
from spoteval.files import write_record
from spoteval.run import RunRecord
from spoteval.shape import Unreadable
from spoteval_agents.end_handler.observe import observe, of_run
from spoteval_agents.end_handler.seen import State
from test_end_cycle import KEYS, Ending
from test_end_decide import GOING, INTENT, NOW, OPEN, TOLD, row, with_run

OTHER = with_run(GOING, name="next", count=OPEN)


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


def test_an_end_that_another_run_overtook_is_withdrawn() -> None:
    """Whoever began the next run needs the machine: else nothing would resume it, and nobody end the machine."""
    assert row(OTHER) == (
        'wait stage=withdraw reason="run swe is over: complete" why="run next is active now"',
        "withdraw",
    )
    assert row(replace(OTHER, kill_switch="wait"))[1] is None


@pytest.mark.parametrize(
    "change", [{"withdrawn": True}, {"session": "0ld"}, {"agent": "idle-guard"}, {"run": "next"}]
)
def test_another_intent_is_not_withdrawn(change: dict[str, object]) -> None:
    """One that does not stand, and another session's, agent's or run's."""
    intent = replace(INTENT, **change)  # type: ignore[arg-type]
    assert row(replace(OTHER, intents=(intent,)))[0].startswith("wait stage=complete run=next")


def test_answers_about_another_run_are_forgotten() -> None:
    """A drill's end was passed and told; the run after it in the same life is asked for anew."""
    known = replace(TOLD, run="swe", pending=0, failures={"fact": 1})
    assert of_run(known, GOING) == known
    assert of_run(known, OTHER) == State(run="next")
    assert of_run(known, replace(OTHER, run=Unreadable("torn"))) == known


def test_an_answer_that_is_still_to_come_is_not_taken_for_the_next_run() -> None:
    """The work beside the loop was begun for the earlier one."""
    busy = replace(OTHER, work="fact")
    state = of_run(replace(TOLD, run="swe"), busy)
    assert state == State()
    late = observe(state, {"fact": "done"}, None, NOW)
    assert of_run(late, busy) == State()
    assert of_run(late, OTHER) == State(run="next")
