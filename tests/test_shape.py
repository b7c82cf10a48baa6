"""The typed reader and its errors."""

from datetime import UTC, datetime

import pytest

from spoteval.shape import ShapeError, Table, duration_s, size_bytes


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("250ms", 0.25), ("60s", 60), ("15min", 900), ("1.5h", 5400), ("1d", 86400), ("0", 0)],
)
def test_durations_have_units(text: str, seconds: float) -> None:
    """A duration is a number with its unit."""
    assert duration_s(text) == seconds


@pytest.mark.parametrize("text", ["60", "", "s", "-5s", "5 parsecs", "5m", "nan s", "1e3s"])
def test_durations_without_a_known_unit_are_refused(text: str) -> None:
    """A bare number could be seconds or minutes: it is refused, with an example."""
    with pytest.raises(ValueError, match=r'is not a duration such as "60s"'):
        duration_s(text)


def test_sizes_are_powers_of_ten() -> None:
    """As disks and clouds count."""
    assert (size_bytes("64MB"), size_bytes("50GB"), size_bytes("0")) == (64_000_000, 50 * 10**9, 0)


def test_an_unknown_key_names_the_nearest() -> None:
    """The error of a typo names what was probably meant."""
    table = Table({"setlement": "none"}, "run")
    table.has("settlement")
    error = '[run] setlement: unknown key (did you mean "settlement"?)'
    assert table.unknown() == {"setlement": error}


def test_an_unknown_key_like_no_other_lists_the_known() -> None:
    """Where nothing is near, all that is known is named."""
    table = Table({"zzz": 1}, "idle")
    table.has("after")
    table.has("every")
    assert table.unknown() == {"zzz": "[idle] zzz: unknown key (known: after, every)"}


@pytest.mark.parametrize(
    ("get", "value", "error"),
    [
        ("text", 5, "[t] k 5: must be a string"),
        ("flag", "yes", '[t] k "yes": must be true or false'),
        ("whole", True, "[t] k true: must be a whole number"),
        ("whole", 1.5, "[t] k 1.5: must be a whole number"),
        ("number", True, "[t] k true: must be a number"),
        ("number", float("nan"), "[t] k nan: must be a number"),
        ("number", float("inf"), "[t] k inf: must be a number"),
        ("number", 10**400, f"[t] k 1{'0' * 199}…: must be a number"),
        ("text", ["a\nb"], '[t] k ["a?b"]: must be a string'),
        ("texts", ["a", 1], '[t] k ["a", 1]: must be a list of strings'),
        ("table", [], "[t] k []: must be a table"),
        ("tables", {}, "[t] k {}: must be a list of tables"),
        ("duration_s", "5", '[t] k "5" is not a duration such as "60s", "15min" or "2h"'),
        ("duration_s", 5, '[t] k 5: must be a duration such as "60s", "15min" or "2h"'),
        ("mark", {}, "[t] k {}: must be a mark {wall, mono_s, boot}"),
    ],
)
def test_wrong_kinds_say_place_value_and_what_is_allowed(
    get: str, value: object, error: str
) -> None:
    """One line: table, key, value as written, what is allowed."""
    with pytest.raises(ShapeError) as caught:
        getattr(Table({"k": value}, "t"), get)("k")
    assert str(caught.value) == error


def test_a_missing_key_is_an_error_unless_it_has_a_default() -> None:
    """Required means required."""
    with pytest.raises(ShapeError, match=r"\[t\] k: missing"):
        Table({}, "t").text("k")
    assert Table({}, "t").text("k", "default") == "default"


def test_zero_and_false_are_values() -> None:
    """A zero is a zero, never "not set"."""
    table = Table({"n": 0, "f": False, "t": ""}, "t")
    assert (table.whole("n", 5), table.flag("f", default=True), table.text("t", "x")) == (
        0,
        False,
        "",
    )


def test_moments_need_a_zone() -> None:
    """TOML date-times and text alike."""
    at = datetime(2026, 12, 4, 8, tzinfo=UTC)
    assert Table({"k": at}, "t").moment("k") == at
    assert Table({"k": "2026-12-04T09:00:00+01:00"}, "t").moment("k") == at
    with pytest.raises(ShapeError, match="with its zone"):
        Table({"k": datetime(2026, 12, 4)}, "t").moment("k")  # noqa: DTZ001 - the case under test


def test_places_nest() -> None:
    """An error deep inside names its whole place."""
    with pytest.raises(ShapeError, match=r"\[run.env\] A 1: must be a string"):
        Table({"env": {"A": 1}}, "run").strings("env")
    with pytest.raises(ShapeError, match=r"\[server\[1\]\] url: missing"):
        [item.text("url") for item in Table({"server": [{"url": "u"}, {}]}, "").tables("server")]


@pytest.mark.parametrize(
    ("typed", "near"),
    [
        ("setlement", True),
        ("settlementt", True),
        ("settlenent", True),
        ("settelment", True),
        ("settlement_", True),
        ("sttlment", False),
        ("harness", False),
    ],
)
def test_a_key_that_is_almost_there_is_a_typo(typed: str, near: bool) -> None:
    """One letter more, less or other, or two in the wrong order; else the key is missing."""
    with pytest.raises(ShapeError) as error:
        Table({typed: "x"}, "run").text("settlement")
    said = f'[run] {typed}: unknown key (did you mean "settlement"?)'
    assert str(error.value) == (said if near else "[run] settlement: missing")
