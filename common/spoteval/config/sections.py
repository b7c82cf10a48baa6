"""Reading the tables of a host file: strict about some, with a warning about the rest."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import TypeVar

from spoteval.config.host import error_line, fail
from spoteval.config.shared import HostFile
from spoteval.config.tables import TABLES, meant
from spoteval.settings.keys import read
from spoteval.shape import ShapeError, Table

T = TypeVar("T")


@dataclass(slots=True)
class SectionReader:
    """Reads the tables of one host file. `strict` None: about all; else only about these tables.

    `lenient`: tables of which a mistyped name is not an error here (`left_to_others`).
    """

    file: HostFile
    strict: Collection[str] | None
    lenient: Collection[str | None] = ()
    root: Table = field(init=False)
    warnings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.root = self.file.root()

    def table(self, name: str, settings: type[T]) -> T:
        """A table that may be absent, all of whose keys have defaults."""
        return self.part(name, lambda root: read(settings, root.table(name, {})), settings)

    def must(self, name: str, parse: Callable[[Table], T]) -> T:
        """What is parsed from a shared table. Raises ConfigError."""
        self.root.has(name)
        try:
            return parse(self.root)
        except ShapeError as error:
            fail(self.file.path, self._by_variable(str(error)))

    def part(self, name: str, parse: Callable[[Table], T], otherwise: Callable[[], T]) -> T:
        """What is parsed from the table of that name. Raises ConfigError, or warns and gives `otherwise()`."""
        self.root.has(name)
        try:
            return parse(self.root)
        except ShapeError as error:
            self._wrong(name, error)
            return otherwise()

    def end(self) -> tuple[str, ...]:
        """Nothing else may stand in the file; returns the warnings. Raises ConfigError."""
        role = self.file.role
        for name, error in self.root.unknown().items():
            table = meant(role, name)
            foreign = table == name and table not in TABLES[role]
            why = f"[{name}]: not of role {role}, and without effect here" if foreign else error
            text = self._by_variable(why)
            if self.strict is None or table not in self.lenient:
                fail(self.file.path, text)
            self.warnings.append(error_line(self.file.path, text))
        return tuple(self.warnings)

    def _wrong(self, name: str, error: ShapeError) -> None:
        text = self._by_variable(str(error))
        if self.strict is None or name in self.strict:
            fail(self.file.path, text)
        self.warnings.append(error_line(self.file.path, text))

    def _by_variable(self, text: str) -> str:
        """The error with the variable that set the value, where it was one."""
        for place, variable in self.file.environment.items():
            table, _, name = place.partition(".")
            if text.startswith((f"[{table}] {name} ", f"[{table}] {name}:")):
                return f"{text} (set by {variable})"
        return text
