"""Options among the arguments of a run: `--name value` and `--name=value`."""

from collections.abc import Sequence


def option(args: Sequence[str], name: str) -> str | None:
    """The value that counts of an option that takes one: the last one given, None where none is."""
    found = None
    for at, arg in enumerate(args):
        if arg.startswith(f"{name}="):
            found = arg.partition("=")[2]
        elif arg == name and at + 1 < len(args):
            found = args[at + 1]
    return found


def without(args: Sequence[str], name: str) -> tuple[str, ...]:
    """The arguments without an option that takes a value."""
    kept: list[str] = []
    is_value = False
    for arg in args:
        if is_value or arg == name:
            is_value = not is_value
        elif not arg.startswith(f"{name}="):
            kept.append(arg)
    return tuple(kept)
