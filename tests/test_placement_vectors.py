"""The formulas against 51 reference values that were computed two ways."""

from typing import Any

import pytest

from vector_figures import off, vectors

WITHIN = 1e-6
ALL = vectors()


def test_all_are_there() -> None:
    """None is left out."""
    assert len({vector["id"] for vector in ALL}) == 51


@pytest.mark.parametrize("vector", ALL, ids=[vector["id"] for vector in ALL])
def test_reference_value(vector: dict[str, Any]) -> None:
    """To six digits; the reference rounds to nine, and to six where it is small."""
    assert off(vector) < WITHIN
