"""Makes properties visible to a tool that passes over every decorated function."""

import ast
from collections.abc import Iterator

_KINDS = frozenset(["property", "cached_property"])


def with_getters(source: str) -> str:
    """The same module with each property as a plain method and `name = property(get_name)` behind it."""
    lines = source.splitlines()
    for item in sorted(_properties(source), key=lambda one: one.lineno, reverse=True):
        indent = " " * item.col_offset
        last = item.end_lineno if item.end_lineno is not None else item.lineno
        lines.insert(last, f"{indent}{item.name} = {_kind(item)}(get_{item.name})")
        head = item.lineno - 1
        lines[head] = lines[head].replace(f"def {item.name}(", f"def get_{item.name}(", 1)
        del lines[item.decorator_list[0].lineno - 1]
    return "\n".join(lines) + "\n"


def _properties(source: str) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and _kind(node) in _KINDS:
            yield node


def _kind(item: ast.FunctionDef) -> str | None:
    """The name of its only decorator."""
    only = item.decorator_list[0] if len(item.decorator_list) == 1 else None
    return only.id if isinstance(only, ast.Name) else None
