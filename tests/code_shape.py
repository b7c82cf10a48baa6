"""Measures the product's source: sizes, import graph, forbidden imports. Reads, never imports it."""

import ast
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("common", "agents")
Graph = dict[str, set[str]]


@dataclass(frozen=True, slots=True)
class Sizes:
    """Lines per file and per function; names are paths, with `:function` for functions."""

    files: dict[str, int]
    functions: dict[str, int]

    def line(self) -> str:
        """The figures in one line, for people."""
        return (
            f"{len(self.files)} files, median {statistics.median(self.files.values()):g}, "
            f"max {max(self.files.values())}; {len(self.functions)} functions, "
            f"median {statistics.median(self.functions.values()):g}, "
            f"max {max(self.functions.values())}"
        )


def modules(root: Path = ROOT) -> dict[str, Path]:
    """Every module of the product, by its dotted name."""
    found = {}
    for source in SOURCES:
        for path in sorted((root / source).rglob("*.py")):
            parts = path.relative_to(root / source).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def sizes(root: Path = ROOT) -> Sizes:
    """All lines, blank ones and docstrings too: whoever counts otherwise finds less."""
    files, functions = {}, {}
    for path in modules(root).values():
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        name = str(path.relative_to(root))
        if not _only_docstring(tree):  # an empty __init__.py would flatter the median
            files[name] = len(text.splitlines())
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                end = node.end_lineno or node.lineno
                functions[f"{name}:{node.name}:{node.lineno}"] = end - node.lineno + 1
    return Sizes(files, functions)


def _only_docstring(tree: ast.Module) -> bool:
    return all(isinstance(node, ast.Expr) for node in tree.body)


def imported(path: Path, package: str) -> Iterator[str]:
    """Every name that a file imports, also inside functions, but not for the type checker alone."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = {id(inner) for block in _typing_only(tree) for inner in ast.walk(block)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _base(node, package)
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _typing_only(tree: ast.AST) -> Iterator[ast.If]:
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            yield node


def _base(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    parts = parts[: len(parts) - node.level + 1]
    return ".".join([*parts, node.module] if node.module else parts)


def import_graph(known: dict[str, Path]) -> Graph:
    """Module → modules of the product that it imports; a package's name means its `__init__`."""
    graph: Graph = {}
    for name, path in known.items():
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        targets = {_module(target, known) for target in imported(path, package)}
        graph[name] = {target for target in targets if target and target != name}
    return graph


def _module(target: str, known: dict[str, Path]) -> str | None:
    while target and target not in known:
        target = target.rpartition(".")[0]
    return target or None


def circle(graph: Graph) -> list[str]:
    """The modules of one import circle, or nothing. Depth first; the graph is small."""
    done: set[str] = set()
    for start in graph:
        if found := _circle_from(start, graph, [], done):
            return found
    return []


def _circle_from(name: str, graph: Graph, trail: list[str], done: set[str]) -> list[str]:
    if name in trail:
        return [*trail[trail.index(name) :], name]
    if name in done:
        return []
    for target in sorted(graph.get(name, ())):
        if found := _circle_from(target, graph, [*trail, name], done):
            return found
    done.add(name)
    return []
