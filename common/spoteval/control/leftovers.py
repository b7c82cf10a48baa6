"""Starting an instance whose run is over, only so that what is left on its disk is published."""

from collections.abc import Iterable

from spoteval.control.handhold import hold_object, release_mirrors, release_objects
from spoteval.control.holds import fetch, look
from spoteval.control.refused import Refused
from spoteval.files import read_text
from spoteval.hold import Hold
from spoteval.paths import InstancePaths
from spoteval.shape import Unreadable
from spoteval.store.contract import Store

KIND = "publish"
"""How the ids of its holds begin."""
_ENDER, _IDLER = "end-handler", "idle-guard"


def ending_holds(store: Store, paths: InstancePaths) -> tuple[str, ...]:
    """The holds that stand, all of them of the run's end. Raises Refused where another stands, or none; StoreError.

    The end-handler's hold says that the guest hold stands on the disk too: there nothing is resumed. After an idle stop
    alone it does not, so that a release resumes the run and publishes besides. One that came after the end is how an
    earlier try of this was over.
    """
    text = read_text(paths.hold)
    if text is not None:
        reason = text.why if isinstance(text, Unreadable) else text
        raise Refused(f'held: "{reason}" (rm {paths.hold})')
    found = fetch(store, paths.instance, look(store, paths.instance).standing)
    ends = [hold for hold in found if _is_of_end(hold)]
    others = [hold.id for hold in found if hold not in ends and not _is_idle_after(hold, ends)]
    if others:
        raise Refused(f"held by {', '.join(others)}, which is not the end of a run")
    if not found:
        raise Refused(
            "no hold of the end-handler stands: the run is not over, and going on publishes what is"
            f" left (spoteval start {paths.instance})"
        )
    return tuple(hold.id for hold in found)


def hold_instead(
    store: Store, paths: InstancePaths, hold: Hold, ending: Iterable[str]
) -> tuple[str, ...]:
    """Place `hold`, and only then lift those of the end, which would have the machine stopped within minutes.

    At every moment one of them stands: nothing is started. Returns what was lifted. Raises StoreError, Failed.
    """
    hold_object(store, hold, may_list=True)
    assert hold.at is not None
    lifted = release_objects(store, paths.instance, ending, hold.by, hold.at)
    release_mirrors(paths, lifted)
    return lifted


def _is_of_end(hold: Hold) -> bool:
    return hold.by == _ENDER or hold.id.startswith(f"{KIND}-")


def _is_idle_after(hold: Hold, ends: Iterable[Hold]) -> bool:
    at = hold.at
    return (
        hold.by == _IDLER and at is not None and any(e.at is not None and e.at < at for e in ends)
    )
