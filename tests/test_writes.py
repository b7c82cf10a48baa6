"""Every effect on a file passes `spoteval.files`, or is announced, so that tests can cut there."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from code_shape import ROOT, modules

METHODS = frozenset(["write_text", "write_bytes", "unlink", "rmdir", "touch", "symlink_to"])
METHODS |= frozenset(["hardlink_to", "rmtree", "move", "copyfile", "copytree", "truncate"])
FUNCTIONS = frozenset(["os.unlink", "os.remove", "os.rename", "os.replace", "os.link", "os.write"])
FUNCTIONS |= frozenset(["os.symlink", "os.truncate", "os.ftruncate", "os.rmdir"])
# Where an effect is not one of the product on the durable disk, with the reason.
ALLOWED = {
    "common/spoteval/files/": "here it passes",
    "common/spoteval/local/": "stands in for systemd, journald, the cloud and an episode's witness",
    "common/spoteval/drill/episodes.py": "stands in for the harness that a drill's run needs",
    "common/spoteval/store/file.py": "drops the temporary of its own put",
    "common/spoteval/cli/demo.py": "removes the last demo's directory as a whole",
}


def effects(tree: ast.AST) -> Iterator[str]:
    """Calls that change a file, as `name:line`, but for functions that announce it by `step`."""
    announced = {id(inner) for function in _announcing(tree) for inner in ast.walk(function)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or id(node) in announced:
            continue
        name = ast.unparse(node.func)
        last = name.rpartition(".")[2]
        opens = last in ("open", "fdopen") and _writes(node)
        if (last in METHODS and "." in name) or name in FUNCTIONS or opens:
            yield f"{name}:{node.lineno}"


def _announcing(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            calls = [inner for inner in ast.walk(node) if isinstance(inner, ast.Call)]
            if any(ast.unparse(call.func) == "step" for call in calls):
                yield node


def _writes(call: ast.Call) -> bool:
    words = [*call.args, *(keyword.value for keyword in call.keywords)]
    modes = [word.value for word in words if isinstance(word, ast.Constant)]
    return any(
        isinstance(mode, str) and set(mode) & set("wax+") and len(mode) < 4 for mode in modes
    )


def test_only_files_changes_files() -> None:
    """No other module writes, renames, links or removes a file without saying so."""
    names = {str(path.relative_to(ROOT)): path for path in modules().values()}
    found = {
        name: seen
        for name, path in names.items()
        if not name.startswith(tuple(ALLOWED)) and (seen := _effects_in(path))
    }
    assert found == {}


@pytest.mark.parametrize("prefix", sorted(ALLOWED))
def test_allowances_are_used(prefix: str) -> None:
    """An allowance whose files are gone or clean is taken off the list."""
    files = [path for path in modules().values() if str(path.relative_to(ROOT)).startswith(prefix)]
    assert any(_effects_in(path) for path in files)


def _effects_in(path: Path) -> list[str]:
    return list(effects(ast.parse(path.read_text(encoding="utf-8"))))


@pytest.mark.parametrize(
    ("code", "seen"),
    [
        ("path.write_text('x')", True),
        ("os.replace(a, b)", True),
        ("open(p, 'w')", True),
        ("path.open(mode='ab')", True),
        ("shutil.rmtree(p)", True),
        ("def f():\n    os.link(a, b)", True),
        ("def f():\n    step('link', b)\n    os.link(a, b)", False),
        ("open(p, 'rb')", False),
        ("path.open()", False),
        ("'a'.replace('a', 'b')", False),
    ],
)
def test_effects_are_seen(code: str, seen: bool) -> None:
    """The finder itself."""
    assert bool(list(effects(ast.parse(code)))) is seen
