"""What idle-guard and end-handler do alike: an intent on the disk, its hold proved by a child."""

from collections.abc import Sequence
from pathlib import Path

from spoteval.clock import Now, read_now
from spoteval.control import children, enders
from spoteval.control.children import Ask
from spoteval.control.enders import Ender
from spoteval.shape import Reading, ShapeError, Unreadable

HOLD_CHILD_S = 60.0


def hold_id(kind: str, now: Now, random: bytes) -> str:
    """A name such as idle-20261201T030000-ab12; the random keeps two machines apart."""
    return f"{kind}-{now.wall:%Y%m%dT%H%M%S}-{random.hex()[:4]}"


def intents(places: Sequence[Path]) -> Reading[tuple[Ender, ...]]:
    """The intents in all places: the disk, and /run where there was no disk to write to."""
    found: list[Ender] = []
    for place in places:
        here = enders.enders(place)
        if isinstance(here, Unreadable):
            return here
        found.extend(here)
    return tuple(found)


def write_intent(places: Sequence[Path], intent: Ender) -> Ender:
    """Write it to the first place that takes it. Raises OSError where none does."""
    for place in places[:-1]:
        try:
            return enders.write_intent(place, intent)
        except OSError:
            continue
    return enders.write_intent(places[-1], intent)


def withdraw(places: Sequence[Path], intent: Ender, why: str, now: Now) -> None:
    """Say that nothing is stopped after all. Raises OSError."""
    enders.mark_withdrawn(_place_of(places, intent), intent.name, {"at": now.record(), "why": why})


def prove_hold(places: Sequence[Path], intent: Ender, ask: Ask = children.ask) -> Reading[str]:
    """Place the intent's hold by a child and have it proved; returns the strength. Blocks up to HOLD_CHILD_S.

    The proof is on the disk when this returns. Placing it again changes nothing.
    """
    words = ["hold", "place", "--reason", intent.reason, "--by", intent.agent]
    reply = ask([*words, "--ensure-stopped", "--id", intent.hold_id], HOLD_CHILD_S)
    if isinstance(reply, Unreadable):
        return reply
    if reply.refused:
        return Unreadable(f"hold place refused: {reply.said}")
    try:
        strength = reply.body.text("strength")
    except ShapeError as error:
        return Unreadable(str(error))
    detail = {"at": read_now().record(), "strength": strength, "by": intent.agent}
    enders.mark_proved(_place_of(places, intent), intent.name, detail)
    return strength


def _place_of(places: Sequence[Path], intent: Ender) -> Path:
    here = (place for place in places if (place / f"{intent.name}.json").exists())
    return next(here, places[-1])
