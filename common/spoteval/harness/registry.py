"""Adapters by name. Imported one at a time: a run without Inspect must not need its log reader."""

from spoteval.harness.contract import Harness


def adapter(name: str) -> Harness:
    """The adapter of that name; raises KeyError for a harness that does not exist.

    Raises ImportError where the extra that the adapter needs is not installed.
    """
    if name == "inspect":
        from spoteval.harness.inspect import Inspect

        return Inspect()
    if name == "directory":
        from spoteval.harness.directory import Directory

        return Directory()
    raise KeyError(name)
