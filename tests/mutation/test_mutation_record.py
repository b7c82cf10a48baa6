"""The mutation score says what was measured, of which sources, and hides no survivor."""

from dataclasses import replace
from pathlib import Path

import pytest

from mutation.campaign import figure, strangers
from mutation.getters import with_getters
from mutation.record import Record, Survivor, read, survivors, write
from mutation.scope import MODULES, RESTARTER, fingerprint, killers, mutated
from show.mutation_lines import judged_record

ALIVE = Survivor("m.x_f__mutmut_3", "- return 1 + return 2", "both are the same to a caller")
RECORD = Record("mutmut 3.8", "abc", ("m",), 10, 9, (ALIVE,))


def test_every_pure_module_is_mutated() -> None:
    """A module of the restarter that says of itself that it is pure is in the list, or remembers and recovers."""
    shell = {"recover", "state", "state_file", "state_parts", "__init__"}
    files = mutated()[0].parent.glob("*.py")
    pure = {file.stem for file in files if "Pure." in file.read_text().split('"""')[1]}
    assert pure - shell <= set(MODULES)


def test_the_fingerprint_is_of_names_and_bytes(tmp_path: Path) -> None:
    """One byte more, and it is another one."""
    (tmp_path / RESTARTER).mkdir(parents=True)
    for file in mutated():
        (tmp_path / RESTARTER / file.name).write_bytes(file.read_bytes())
    assert fingerprint(tmp_path) == fingerprint()
    with (tmp_path / RESTARTER / "decide.py").open("a") as out:
        out.write(" ")
    assert fingerprint(tmp_path) != fingerprint()


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
        "    @staticmethod\n"
        "    def two() -> int:\n"
        "        return 2\n"
    )
    changed = with_getters(source)
    assert "@property" not in changed
    assert "def get_one(self) -> int:" in changed
    found: dict[str, type] = {}
    exec(changed, found)
    one = found["A"]()
    assert (one.one, one.two(), one.get_one()) == (1, 2, 1)


@pytest.mark.parametrize(
    ("record", "word"),
    [
        (RECORD, "ok"),
        (replace(RECORD, sources="other"), "short"),
        (replace(RECORD, mutants=100, killed=89), "short"),
        (replace(RECORD, killed=10), "short"),
        (replace(RECORD, mutants=11), "short"),
        (replace(RECORD, mutants=0, killed=0, survivors=()), "short"),
        (replace(RECORD, survivors=(replace(ALIVE, why=" "),)), "short"),
    ],
)
def test_what_makes_the_score_short(record: Record, word: str) -> None:
    """Other sources, too few killed, sums that do not add up, a survivor without a reason."""
    assert judged_record("mutants", record, "abc").word == word


@pytest.mark.parametrize(("killed", "word"), [(9, "ok"), (8, "short")])
def test_nine_of_ten_are_enough(killed: int, word: str) -> None:
    """At 90 % and below."""
    alive = tuple(replace(ALIVE, mutant=f"m.x_f__mutmut_{number}") for number in range(10 - killed))
    record = replace(RECORD, killed=killed, survivors=alive)
    assert judged_record("mutants", record, "abc").word == word


def test_a_reason_stays_with_its_change() -> None:
    """Numbers move with every edit of a function; another change, or another function, has no reason yet."""
    again = survivors({"m.x_f__mutmut_5": ALIVE.change}, RECORD)
    assert again == (replace(ALIVE, mutant="m.x_f__mutmut_5"),)
    others = {"m.x_f__mutmut_3": "- a + b", "m.x_g__mutmut_3": ALIVE.change}
    assert [item.why for item in survivors(others, RECORD)] == ["", ""]
    assert survivors(others, None)[0].why == ""


def test_a_sample_finds_what_the_record_does_not_list() -> None:
    """Listed survivors and killed ones are as recorded; an untested mutant is not killed."""
    sample = {
        "m.x_f__mutmut_3": 0,
        "m.x_f__mutmut_1": 1,
        "m.x_f__mutmut_2": 0,
        "m.x_g__mutmut_1": 33,
    }
    assert strangers(sample, RECORD) == ["m.x_f__mutmut_2", "m.x_g__mutmut_1"]


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    """And says its score in one line."""
    write(RECORD, tmp_path / "r.json")
    assert read(tmp_path / "r.json") == RECORD
    assert figure(RECORD) == "9 of 10 mutants killed (90.0%), 1 live, 0 of them unexplained"
