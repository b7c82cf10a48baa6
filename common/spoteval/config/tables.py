"""The names of all tables of host files, and whose business a name is that nobody knows."""

from collections.abc import Collection, Mapping

TABLES: Mapping[str, tuple[str, ...]] = {
    "guest": (
        *("host", "disk", "provider", "shutdown", "store"),
        *("publication", "server", "run", "idle", "end"),
    ),
    "restarter": (
        *("host", "store", "instance", "poll", "grant"),
        *("costs", "monitor", "alerts", "tunnel"),
    ),
}
"""Tables of each role."""


def meant(role: str, name: str) -> str | None:
    """The table of this name, else the nearest one, this role's before the other's; None where none is near."""
    from difflib import get_close_matches  # 0.2 MB that an agent with a right file never needs

    others = [table for tables in TABLES.values() for table in tables]
    for known in (TABLES[role], others):
        if near := get_close_matches(name, known, n=1):
            return near[0]
    return None


def left_to_others(
    role: str, agent: str, shared: Collection[str], own: Mapping[str, tuple[str, ...]]
) -> frozenset[str | None]:
    """Tables of which a mistyped name only warns this agent: those of the other role, and those that another agent
    is strict about. None among them: also a name that resembles none, as for the children of agents (""). Any other
    unknown table is an error: it may have been a limit.
    """
    theirs = {table for name, tables in own.items() if name != agent for table in tables}
    theirs |= {table for tables in TABLES.values() for table in tables} - {*TABLES[role]}
    if agent == "":
        return frozenset({*theirs, *TABLES[role], None}) - {*shared}
    return frozenset(theirs - {*shared, *own.get(agent, ())})
