"""Markers of interruptions that are there and cannot be read: said to a person, never guessed from."""

from spoteval.files import read_record
from spoteval.interruption import opened_from
from spoteval.paths import RunPaths
from spoteval.publication.keys import interruption_key
from spoteval.shape import Table, Unreadable


def damaged_interruptions(paths: RunPaths) -> tuple[str, ...]:
    """One sentence for each. What such an interruption cut is settled under the next marker, and nothing is lost."""
    if not paths.interruptions.is_dir():
        return ()
    found = []
    for folder in sorted(paths.interruptions.iterdir()):
        opened = read_record(folder / "opened.json")
        record = opened_from(opened) if isinstance(opened, Table) else opened
        if isinstance(record, Unreadable):
            copy = interruption_key(paths.root.name, folder.name, "opened.json")
            found.append(f"{record.why}; the published copy is {copy} in the store")
    return tuple(found)
