"""All tables of both roles, and what of them a host file sets: for what is shown, checked and documented."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from spoteval.config import guest, restarter
from spoteval.config.sections import Section
from spoteval.config.shared import HostFile
from spoteval.settings.keys import Key, keys_of
from spoteval.shape import Table

SECTIONS: Mapping[str, tuple[Section, ...]] = {
    "guest": guest.SECTIONS,
    "restarter": restarter.SECTIONS,
}


@dataclass(frozen=True, slots=True)
class Typed:
    """One table of a host file. `place` is where its values stand: `poll`, `server.0`, `instance.gpu-1`."""

    section: Section
    place: str
    table: Table

    @property
    def head(self) -> str:
        """The table as it is typed."""
        return f"[[{self.section.name}]]" if self.section.many == "list" else f"[{self.place}]"

    def known(self) -> Iterator[Key]:
        """Its keys: those of its kind in the place of its own of the same name."""
        kind = self.table.values.get(self.section.kind_key)
        return keys_for(self.section, kind if isinstance(kind, str) else "")


def keys_for(section: Section, kind: str = "") -> Iterator[Key]:
    """The keys of a section, with those that come with this choice of its kind."""
    settings = section.kinds.get(kind)
    own = {item.name: item for item in keys_of(settings)} if settings is not None else {}
    for item in keys_of(section.settings):
        yield own.pop(item.name, item)
    yield from own.values()


def typed_tables(file: HostFile) -> Iterator[Typed]:
    """Every table of the role in order; one that is absent is empty, of lists and names only those that are there."""
    root = file.root()
    for section in SECTIONS[file.role]:
        name = section.name
        if section.many == "list":
            for number, table in enumerate(root.tables(name)):
                yield Typed(section, f"{name}.{number}", table)
        elif section.many == "named":
            for below, table in root.each(name):
                yield Typed(section, f"{name}.{below}", table)
        else:
            yield Typed(section, name, root.table(name, {}))


def without_effect(file: HostFile) -> tuple[str, ...]:
    """What this host file sets in vain, as `[table] key`."""
    found = [
        f"{typed.head} {item.name}"
        for typed in typed_tables(file)
        for item in typed.known()
        if item.later and item.name in typed.table.values
    ]
    return tuple(dict.fromkeys(found))
