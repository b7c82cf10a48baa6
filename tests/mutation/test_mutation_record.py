"""The mutation score says what was measured, of which sources, and hides no survivor."""

from dataclasses import replace
from functools import cached_property
from pathlib import Path

import pytest

from mutation.campaign import figure, merged, stale, strangers
from mutation.getters import with_getters
from mutation.plan import planned
from mutation.record import Module, Record, Survivor, read, recorded, survivors, write
from mutation.scope import MODULES, RESTARTER, hashes, killers, mutated
from show.mutation_lines import judged_record

ALIVE = Survivor("p.m.x_f__mutmut_3", "- return 1 + return 2", "both are the same to a caller")
FILES = {"m": "abc", "n": "def"}
MODULES_OF = {"m": Module("abc", 6, 5), "n": Module("def", 4, 4)}
RECORD = recorded("mutmut 3.8", MODULES_OF, (ALIVE,))


def test_every_pure_module_is_mutated() -> None:
    """A module of the restarter that says of itself that it is pure is in the list, or remembers and recovers."""
    shell = {"recover", "state", "state_file", "state_parts", "__init__"}
    files = mutated()[0].parent.glob("*.py")
    pure = {file.stem for file in files if "Pure." in file.read_text().split('"""')[1]}
    assert pure - shell <= set(MODULES)


def test_a_hash_is_of_every_byte(tmp_path: Path) -> None:
    """One byte more, and that file is another one."""
    (tmp_path / RESTARTER).mkdir(parents=True)
    for file in mutated():
        (tmp_path / RESTARTER / file.name).write_bytes(file.read_bytes())
    before = hashes(tmp_path)
    assert before == hashes()
    with (tmp_path / RESTARTER / "decide.py").open("a") as out:
        out.write(" ")
    after = hashes(tmp_path)
    assert {name for name in before if before[name] != after[name]} == {"decide"}


def test_there_are_tests_to_kill_with() -> None:
    """The patterns find files, and no simulation among them."""
    names = {file.name for file in killers()}
    assert {"test_restarter_rows.py", "test_restarter_observe.py"} <= names
    assert all("sim" not in file.parts for file in killers())


def test_properties_become_methods_that_a_tool_can_change() -> None:
    """The copy behaves as the source does."""
    source = (
        "class A:\n"
        "    @property\n"
        "    def one(self) -> int:\n"
        '        """One."""\n'
        "        return 1\n"
        "\n"
        "    @cached_property\n"
        "    def many(self) -> list[int]:\n"
        "        return [1]\n"
        "\n"
        "    @staticmethod\n"
        "    def two() -> int:\n"
        "        return 2\n"
    )
    changed = with_getters(source)
    assert "@property" not in changed
    assert "def get_one(self) -> int:" in changed
    assert "def get_many(self) -> list[int]:" in changed
    found: dict[str, object] = {"cached_property": cached_property}
    exec(changed, found)
    one = found["A"]()  # type: ignore[operator]
    assert (one.one, one.two(), one.get_one(), one.many) == (1, 2, 1, [1])
    assert one.many is one.many


@pytest.mark.parametrize(
    ("record", "word"),
    [
        (RECORD, "ok"),
        (replace(RECORD, sources="other"), "short"),
        (replace(RECORD, killed=10), "short"),
        (replace(RECORD, mutants=11), "short"),
        (recorded("m", {}, ()), "short"),
        (recorded("m", {**MODULES_OF, "n": Module("xyz", 4, 4)}, (ALIVE,)), "short"),
        (recorded("m", {**MODULES_OF, "o": Module("xyz", 4, 4)}, (ALIVE,)), "short"),
        (recorded("m", {"m": MODULES_OF["m"]}, (ALIVE,)), "short"),
        (recorded("m", MODULES_OF, ()), "short"),
        (recorded("m", MODULES_OF, (ALIVE, ALIVE)), "ok"),
        (recorded("m", MODULES_OF, (replace(ALIVE, mutant="p.n.x_f__mutmut_3"),)), "short"),
        (recorded("m", MODULES_OF, (replace(ALIVE, why=" "),)), "short"),
    ],
)
def test_what_makes_the_score_short(record: Record, word: str) -> None:
    """Other sources, sums that do not add up, a survivor without a reason or in another module."""
    assert judged_record("mutants", record, FILES).word == word


def test_other_sources_are_named() -> None:
    """So that --changed can be seen to be enough."""
    line = judged_record("mutants", RECORD, {"m": "abc", "n": "xyz"})
    assert line.text() == "short   mutants  the record is of other sources: n"


@pytest.mark.parametrize(("killed", "word"), [(9, "ok"), (8, "short")])
def test_nine_of_ten_are_enough(killed: int, word: str) -> None:
    """At 90 % and below."""
    names = (f"p.m.x_f__mutmut_{number}" for number in range(10 - killed))
    alive = tuple(replace(ALIVE, mutant=name) for name in names)
    record = recorded("m", {"m": Module("abc", 10, killed)}, alive)
    assert judged_record("mutants", record, {"m": "abc"}).word == word


def test_only_what_changed_is_measured_again() -> None:
    """A file that is another one, or new; without a record, all."""
    assert stale(FILES, RECORD) == []
    assert stale({"m": "abc", "n": "xyz", "o": "1"}, RECORD) == ["n", "o"]
    assert stale(FILES, None) == ["m", "n"]


def test_what_was_measured_again_takes_its_place() -> None:
    """Counts and survivors of that module, of no other; old modules go."""
    files = {"m": "abc", "n": "xyz"}
    noticed = {"p.n.x_g__mutmut_1": True, "p.n.x_g__mutmut_2": False, "p.n.x_g__mutmut_3": False}
    alive = {"p.n.x_g__mutmut_2": "- a + b", "p.n.x_g__mutmut_3": "- c + d"}
    found = merged(RECORD, files, noticed, alive, "mutmut 3.9")
    assert found.modules == {"m": MODULES_OF["m"], "n": Module("xyz", 3, 1)}
    assert [item.mutant for item in found.survivors] == [ALIVE.mutant, *alive]
    assert (found.mutants, found.killed, found.tool) == (9, 6, "mutmut 3.9")
    assert found.adds_up
    again = merged(RECORD, {"m": "new"}, {ALIVE.mutant: True}, {}, "mutmut 3.9")
    assert (again.modules, again.survivors) == ({"m": Module("new", 1, 1)}, ())
    assert merged(None, files, noticed, alive, "m").modules == {"n": Module("xyz", 3, 1)}


def test_the_record_adds_up() -> None:
    """Whatever the sources are by now: every mutant is killed or listed, and every listed one explained."""
    record = read()
    assert record.adds_up
    assert record.unexplained == ()
    assert set(record.modules) <= set(MODULES)


def test_a_reason_stays_with_its_change() -> None:
    """Numbers move with every edit of a function; another change, or another function, has no reason yet."""
    again = survivors({"p.m.x_f__mutmut_5": ALIVE.change}, RECORD)
    assert again == (replace(ALIVE, mutant="p.m.x_f__mutmut_5"),)
    others = {"p.m.x_f__mutmut_3": "- a + b", "p.m.x_g__mutmut_3": ALIVE.change}
    assert [item.why for item in survivors(others, RECORD)] == ["", ""]
    assert survivors(others, None)[0].why == ""


def test_the_tests_that_go_through_the_fewest_functions_come_first() -> None:
    """One of a whole cycle comes last; what no test goes through has none."""
    tests_of = {"m.x_f": ["whole", "f1", "both"], "m.x_g": ["whole", "both"], "m.x_h": ["whole"]}
    names = ["m.x_f__mutmut_1", "m.x_g__mutmut_12", "m.x_none__mutmut_1"]
    assert planned(names, tests_of) == {
        "m.x_f__mutmut_1": ["f1", "both", "whole"],
        "m.x_g__mutmut_12": ["both", "whole"],
        "m.x_none__mutmut_1": [],
    }


def test_a_sample_finds_what_the_record_does_not_list() -> None:
    """Listed survivors and killed ones are as recorded."""
    sample = {
        "p.m.x_f__mutmut_3": False,
        "p.m.x_f__mutmut_1": True,
        "p.m.x_f__mutmut_2": False,
        "p.m.x_g__mutmut_1": False,
    }
    assert strangers(sample, RECORD) == ["p.m.x_f__mutmut_2", "p.m.x_g__mutmut_1"]


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    """And says its score in one line."""
    write(RECORD, tmp_path / "r.json")
    assert read(tmp_path / "r.json") == RECORD
    assert figure(RECORD) == "9 of 10 mutants killed (90.0%), 1 live, 0 of them unexplained"
