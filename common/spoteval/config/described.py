"""All tables of both roles, and what of them a host file sets: for what is shown, checked and documented."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from spoteval.config import guest, restarter
from spoteval.config.grant import Grant
from spoteval.config.monitor import AlertSettings, CostSettings, MonitorSettings
from spoteval.config.run import RunSettings
from spoteval.config.server import ServerSettings
from spoteval.config.shared import HostFile, StoreSettings
from spoteval.config.tunnel import TunnelSettings
from spoteval.notice.open import NOTICES
from spoteval.provider.open import PROVIDERS
from spoteval.settings.keys import Key, keys_of
from spoteval.shape import Table


@dataclass(frozen=True, slots=True)
class Section:
    """A table of a host file, for its schema and its documentation.

    `many`: one table, a list of them (`[[server]]`), or named ones below it (`[instance.gpu-1]`). `kinds`: the keys
    that come with each choice of `kind_key`, in the place of its own of the same name.
    """

    name: str
    settings: type
    many: Literal["one", "list", "named"] = "one"
    required: bool = False
    kind_key: str = ""
    kinds: Mapping[str, type] = field(default_factory=dict)


GUEST = (
    Section("host", guest.GuestHost, required=True),
    Section("disk", guest.DiskSettings, required=True),
    Section(
        "provider",
        guest.ProviderSettings,
        required=True,
        kind_key="kind",
        kinds={name: kind.settings for name, kind in NOTICES.items()},
    ),
    Section("shutdown", guest.ShutdownSettings),
    Section("store", StoreSettings, required=True),
    Section("publication", guest.PublicationSettings),
    Section("server", ServerSettings, many="list"),
    Section("run", RunSettings),
    Section("idle", guest.IdleSettings),
    Section("end", guest.EndSettings),
)
RESTARTER = (
    Section("host", restarter.RestarterHost, required=True),
    Section("store", StoreSettings),
    Section(
        "instance",
        restarter.InstanceSettings,
        many="named",
        required=True,
        kind_key="provider",
        kinds={name: kind.settings for name, kind in PROVIDERS.items()},
    ),
    Section("poll", restarter.PollSettings),
    Section("grant", Grant),
    Section("costs", CostSettings),
    Section("monitor", MonitorSettings),
    Section("alerts", AlertSettings),
    Section("tunnel", TunnelSettings, many="named"),
)
SECTIONS: Mapping[str, tuple[Section, ...]] = {"guest": GUEST, "restarter": RESTARTER}


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
