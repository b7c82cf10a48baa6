"""The numbers, whole: formulas, lifetimes, published examples, a month of events, policies."""

from show.lines import Show
from show.named_lines import named
from show.number_lines import alone, examples, month, rows, values
from show.policy_table_lines import policies
from show.program import run
from show.stage import Stage

CHANCE_TESTS = 8


def main(argv: list[str] | None = None) -> int:
    """The exit code of the program."""
    return run("numbers", "The numbers, whole.", shows, argv)


def shows(stage: Stage) -> list[Show]:
    """In this order: quick ones first."""
    chance = "formulas against Monte Carlo"
    return [
        Show("reference values", values),
        Show("published examples", lambda: examples(stage)),
        Show("spot_math alone", lambda: alone(stage)),
        Show("published traces", lambda: rows(stage)),
        Show(chance, lambda: named(stage, chance, "test_chance_", CHANCE_TESTS)),
        Show("a month of 50 machines", lambda: month(stage)),
        Show("policies", lambda: policies(stage)),
    ]
