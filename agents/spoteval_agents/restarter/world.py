"""One look at an instance: provider, holds directory, store. Every failure becomes a reading."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from spoteval.clock import Now
from spoteval.control.drills import announced
from spoteval.control.holds import fetch
from spoteval.files import read_text
from spoteval.hold import UNREAD_BY
from spoteval.paths import InstancePaths
from spoteval.provider.contract import Provider
from spoteval.provider.contract import State as ProviderState
from spoteval.publication.listing import InstanceListing
from spoteval.shape import Reading, Unreadable
from spoteval.store.contract import Store, StoreError
from spoteval_agents.restarter.guest import Signs
from spoteval_agents.restarter.lists import Lists
from spoteval_agents.restarter.runs import assignment
from spoteval_agents.restarter.seen import Guest, Seen, StoreSight
from spoteval_agents.restarter.state import State
from spoteval_agents.restarter.strays import Strays

OBSERVE_S, PRICE_S, CALL_S = 10.0, 10.0, 20.0


@dataclass(frozen=True)  # without slots: what every look asks for is made once
class World:
    """What one instance is looked at through. `store` None: holds are files of this host alone."""

    instance: str
    provider: Provider
    store: Store | None
    paths: InstancePaths
    strays: Strays
    clock: Callable[[], Now]
    signs: Signs = field(default_factory=Signs)
    lists: Lists = field(default_factory=Lists)

    @cached_property
    def mirror(self) -> Path:
        """The directory in which holds of the store lie as files."""
        return self.paths.hold.with_name(f"{self.instance}.d")

    def look(self, state: State) -> Seen:
        """Everything that is cheap: one provider call, one LIST, a few files.

        The price only of a life that somebody else began, which is otherwise read before the start.
        """
        began = self.clock()
        provider = self.provider.observe(OBSERVE_S)
        store = self._store(state)
        running = not isinstance(provider, Unreadable) and provider.state is ProviderState.RUNNING
        has_guest = running or state.life is not None
        unpriced = running and state.life is not None and state.life.price is None
        return Seen(
            provider=provider,
            taken=began.mark,
            file_hold=self._file_hold(),
            store=store,
            mirror=_names(self.mirror),
            strays=self.strays.names(),
            guest=self._guest(store, began) if has_guest else None,
            price=self.provider.price(PRICE_S) if unpriced else None,
            drill=announced(self.paths, began),
        )

    def look_again(self, state: State, seen: Seen) -> Seen:
        """The price, and only then holds and owners once more: they are the newest when a start goes out."""
        price = self.provider.price(PRICE_S)
        first = None if isinstance(seen.store, Unreadable) else seen.store.listing.owners
        store, file_hold = self._store(state), self._file_hold()
        return replace(seen, price=price, store=store, file_hold=file_hold, first_owners=first)

    def _file_hold(self) -> Reading[str | None]:
        text = read_text(self.paths.hold)
        if text is None and not self.paths.hold.parent.is_dir():
            return Unreadable(f"{self.paths.hold.parent}: no such directory (mkdir lifts that)")
        return text

    def _store(self, state: State) -> Reading[StoreSight]:
        if self.store is None:
            return StoreSight(InstanceListing())
        known = {item.hold.id for item in state.holds if item.hold.by != UNREAD_BY}
        try:
            listing = self.lists.look(self.store, self.instance)
            wanted = [key for key in listing.standing if key not in known]
            bodies = fetch(self.store, self.instance, wanted)
            run = assignment(self.store, listing, self.lists.assigned, self.paths.run, state.run)
        except StoreError as error:
            return Unreadable(str(error))
        return run if isinstance(run, Unreadable) else self.lists.sight(listing, bodies, run)

    def _guest(self, store: Reading[StoreSight], now: Now) -> Guest | None:
        if isinstance(store, Unreadable) or self.store is None or store.run is None:
            return None
        newest = store.listing.newest_boot
        if newest is None:
            return None
        with suppress(StoreError):
            return self.signs.newest(self.store, store.run.run, newest[1], now)
        return None


def _names(directory: Path) -> Reading[frozenset[str] | None]:
    try:
        return frozenset(path.name for path in directory.iterdir())
    except FileNotFoundError:
        return None
    except OSError as error:
        return Unreadable(f"{directory}: {error.strerror}")
