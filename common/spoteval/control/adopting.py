"""Taking an instance over by hand: what was, what is, what is on record."""

from dataclasses import dataclass
from datetime import datetime

from spoteval.clock import Now
from spoteval.control.eventlog import log_event
from spoteval.control.holds import look
from spoteval.control.owner import Owner, owner_of, owner_since, register
from spoteval.control.refused import Failed
from spoteval.event import Event
from spoteval.paths import InstancePaths
from spoteval.shape import Reading, Unreadable
from spoteval.store.contract import Store

ADOPTED = "adopted"


@dataclass(frozen=True, slots=True)
class Adopted:
    """Who owns the instance now, who did before, and since when that one did. `fresh`: it changed hands."""

    instance: str
    owner: Owner
    before: Owner | None
    since: Reading[datetime]

    @property
    def fresh(self) -> bool:
        """Whether it changed hands."""
        return self.before != self.owner

    def record(self) -> dict[str, object]:
        """As JSON."""
        return {
            "instance": self.instance,
            "number": self.owner.number,
            "identity": self.owner.identity,
            "before": self.before.identity if self.before is not None else None,
            "changed": self.fresh,
        }


def adopt_instance(store: Store, paths: InstancePaths, own: str, by: str, now: Now) -> Adopted:
    """Put this host's entry and see that it is the greatest; repeating it changes nothing.

    Raises StoreError, OSError, and Failed where another host took it over at the same moment.
    """
    before = owner_of(look(store, paths.instance))
    since = _since(store, paths.instance, before)
    owner = register(store, paths.instance, own, now.wall, by)
    if owner.identity != own:
        raise Failed(
            f"{paths.instance}: {owner.identity[:8]} took it over at the same moment"
            f" (again: spoteval restarter adopt {paths.instance})"
        )
    done = Adopted(paths.instance, owner, before, since)
    if done.fresh:
        _tell(paths, done, by, now)
    return done


def _since(store: Store, instance: str, owner: Owner | None) -> Reading[datetime]:
    return Unreadable("nobody") if owner is None else owner_since(store, instance, owner)


def _tell(paths: InstancePaths, done: Adopted, by: str, now: Now) -> None:
    event = Event(
        at=now.wall,
        kind=ADOPTED,
        source="operator",
        instance=paths.instance,
        reason=f"adopted by hand ({by})",
        detail={"number": done.owner.number, "before": done.record()["before"]},
    )
    log_event(paths.events, event)
