"""The environment of a run as people read it: the same over all boots, or what changed and who accepted it."""

from collections.abc import Iterator

from spoteval.control.environment import Standing


def environment_lines(found: Standing) -> Iterator[str]:
    """One sentence for each change, else one that says that there was none; nothing before the first boot."""
    if found.boots and not found.disclosed and not found.changes:
        boots = "boot" if found.boots == 1 else "boots"
        yield f"GPU, driver, server, harness, model: the same over {found.boots} {boots}"
    yield from found.disclosed
    yield from (f"{change}: waits for a person" for change in found.changes)


def environment_record(found: Standing) -> dict[str, object]:
    """The same as JSON, with what is in force."""
    return {
        "boots": found.boots,
        "in_force": dict(found.in_force),
        "changed": list(found.disclosed),
        "waiting": list(found.changes),
    }
