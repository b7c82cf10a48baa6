"""Which tests are run for a mutant, and in which order: almost all are noticed by one of the first."""

from collections import Counter
from collections.abc import Iterable, Mapping


def planned(mutants: Iterable[str], tests_of: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """For each mutant the tests that go through its function; those that go through the fewest others first."""
    known = {function: list(tests) for function, tests in tests_of.items()}
    reach = Counter(test for tests in known.values() for test in tests)
    order = {
        function: sorted(tests, key=lambda test: (reach[test], test))
        for function, tests in known.items()
    }
    return {mutant: order.get(function_of(mutant), []) for mutant in mutants}


def function_of(mutant: str) -> str:
    """`m.x_f` for `m.x_f__mutmut_3`."""
    return mutant.partition("__mutmut_")[0]
