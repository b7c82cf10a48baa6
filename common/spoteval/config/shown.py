"""The configuration in force: every value and where it came from."""

from collections.abc import Iterator
from dataclasses import dataclass

from spoteval.config.described import Typed, typed_tables
from spoteval.config.run import RunSettings
from spoteval.config.shared import HostFile
from spoteval.notice.open import NOTICES
from spoteval.run import RunPlan
from spoteval.settings.keys import Key, keys_of
from spoteval.settings.kinds import seconds

FILE, DEFAULT, ENVIRONMENT, RUN, PROVIDER = "file", "default", "environment", "run", "provider"


@dataclass(frozen=True, slots=True)
class Shown:
    """One value. `place` is where it is typed: table and key."""

    place: str
    value: str
    source: str

    def record(self) -> dict[str, object]:
        """As JSON."""
        return {"place": self.place, "value": self.value, "source": self.source}


def values(file: HostFile, frozen: RunPlan | None = None) -> list[Shown]:
    """Every value of a host file that was read without error; those of a frozen run win over the file's."""
    found = [
        shown
        for typed in typed_tables(file)
        if typed.section.name != "run" or (frozen is None and typed.table.values)
        for item in typed.known()
        for shown in _shown(file, typed, item)
    ]
    if frozen is not None:
        found += [Shown(place, value, RUN) for place, value in run_pairs(frozen)]
    return found


def run_pairs(plan: RunPlan) -> Iterator[tuple[str, str]]:
    """The values of a plan, as they are typed in `[run]`."""
    for item in keys_of(RunSettings):
        if hasattr(plan, item.field):
            pairs = item.pairs(getattr(plan, item.field))
            yield from ((f"run.{name}", text) for name, text in pairs)


def differences(frozen: RunPlan, file: RunPlan | None) -> list[str]:
    """Where the file says otherwise than the run that was frozen: the run wins."""
    if file is None:
        return []
    run, typed = dict(run_pairs(frozen)), dict(run_pairs(file))
    return [
        f"config differs: {place} {run.get(place, 'none')} (run) {typed.get(place, 'none')} (file)"
        for place in dict.fromkeys([*run, *typed])
        if run.get(place, "none") != typed.get(place, "none")
    ]


def _shown(file: HostFile, typed: Typed, item: Key) -> Iterator[Shown]:
    place = f"{typed.place}.{item.name}"
    if item.name in typed.table.values:
        source = ENVIRONMENT if place in file.environment else FILE
        for name, text in item.pairs(item.kind.read(typed.table, item.name)):
            yield Shown(f"{typed.place}.{name}", text, source)
    elif place == "provider.notice_window":
        kind = typed.table.text("kind")
        yield Shown(place, seconds(NOTICES[kind].window_s), PROVIDER)
    else:
        yield Shown(place, item.text(item.default), DEFAULT)
