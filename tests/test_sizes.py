"""The shape of the source: small files, small functions, no circles, deciders that touch nothing."""

import statistics
from pathlib import Path

import pytest

from code_shape import circle, import_graph, imported, modules, sizes

FILE_MEDIAN, FILE_MAX = 140, 400
FUNCTION_MEDIAN, FUNCTION_MAX = 10, 60
# What a decide.py may not import: it would touch the clock, a file, the network or a process.
WORLD = frozenset(
    [
        "time",
        "os",
        "io",
        "shutil",
        "tempfile",
        "socket",
        "ssl",
        "http",
        "urllib",
        "requests",
        "boto3",
        "botocore",
        "subprocess",
        "threading",
        "select",
        "signal",
        "random",
        "psutil",
        "spoteval.files",
        "spoteval.machine",
        "spoteval.store",
        "spoteval.provider",
    ]
)
PURE = ("contract",)  # types and protocols alone, in whichever package
READS_CLOCK = frozenset(["spoteval.clock.read_now"])


def test_files_are_small(capsys: pytest.CaptureFixture[str]) -> None:
    """The median file has at most 140 lines, none more than 400."""
    found = sizes()
    with capsys.disabled():
        print(f"\nsizes: {found.line()}")
    assert statistics.median(found.files.values()) <= FILE_MEDIAN
    assert _above(found.files, FILE_MAX) == {}


def test_functions_are_small() -> None:
    """The median function has at most 10 lines, none more than 60."""
    found = sizes()
    assert statistics.median(found.functions.values()) <= FUNCTION_MEDIAN
    assert _above(found.functions, FUNCTION_MAX) == {}


def _above(lines: dict[str, int], limit: int) -> dict[str, int]:
    return {name: count for name, count in lines.items() if count > limit}


def test_no_import_circle() -> None:
    """No module reaches itself by imports, those inside functions included."""
    assert circle(import_graph(modules())) == []


def test_deciders_touch_nothing() -> None:
    """A decide.py imports nothing that reads a clock, a file, the network or a process."""
    deciders = {name: path for name, path in modules().items() if path.name == "decide.py"}
    if not deciders:
        pytest.skip("no agent exists yet")
    touching = {name: found for name, path in deciders.items() if (found := _world(path, name))}
    assert touching == {}


def _world(path: Path, name: str) -> list[str]:
    return [target for target in imported(path, name.rpartition(".")[0]) if _touches(target)]


def _touches(target: str) -> bool:
    if set(PURE) & set(target.split(".")):
        return False
    return target in READS_CLOCK or any((target + ".").startswith(f"{bad}.") for bad in WORLD)


def test_a_circle_inside_functions_is_found() -> None:
    """The finder itself: a → b → c → a is named, a tree is not."""
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == ["a", "b", "c", "a"]
    assert circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_hidden_and_relative_imports_are_seen(tmp_path: Path) -> None:
    """The reader itself: relative, in a function, aliased; not what only the type checker sees."""
    path = tmp_path / "decide.py"
    path.write_text(
        "from typing import TYPE_CHECKING\n"
        "from . import near\n"
        "from ..clock import read_now as r\n"
        "def f():\n    import time\n"
        "if TYPE_CHECKING:\n    import socket\n"
    )
    found = list(imported(path, "top.mid"))
    assert found == ["typing.TYPE_CHECKING", "top.mid.near", "top.clock.read_now", "time"]
    assert _world(path, "top.mid.decide") == ["time"]
