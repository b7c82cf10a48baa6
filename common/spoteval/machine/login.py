"""Who is logged in, and who asks that the machine is not switched off: as logind keeps it in /run/systemd.

systemd calls these files private; sd-login(3), `loginctl` and `systemd-inhibit --list` show the same facts from them.
They are read here because asking costs a process each minute.
"""

from collections.abc import Iterator
from pathlib import Path

from spoteval.shape import Reading, Unreadable

SESSIONS, INHIBITORS = Path("/run/systemd/sessions"), Path("/run/systemd/inhibit")
_HERE = ("opening", "online", "active")  # `closing`: the person has gone, what was left runs on
_OFF = frozenset(["shutdown", "idle"])


def logged_in(sessions: Path = SESSIONS) -> Reading[tuple[str, ...]]:
    """Users with a session that is not closing; nobody where there is no logind (most containers)."""
    found = _files(sessions)
    if isinstance(found, Unreadable):
        return found
    users = (
        one.get("USER") or one.get("UID", "?")
        for one in found
        if one.get("CLASS", "user") == "user" and one.get("STATE", "active") in _HERE
    )
    return tuple(dict.fromkeys(users))


def inhibitors(folder: Path = INHIBITORS) -> Reading[tuple[str, ...]]:
    """Who blocks a power-off or idleness, and why. One that only delays is no reason to stay on."""
    found = _files(folder)
    if isinstance(found, Unreadable):
        return found
    blocking = (one for one in found if one.get("MODE") == "block")
    return tuple(
        f"{one.get('WHO', '?')}: {one.get('WHY', '?')}"
        for one in blocking
        if _OFF & set(one.get("WHAT", "").split(":"))
    )


def _files(folder: Path) -> Reading[list[dict[str, str]]]:
    """The files of a folder as tables, but for the pipes beside them."""
    try:
        names = sorted(path for path in folder.iterdir() if path.suffix != ".ref")
        return [dict(_pairs(text)) for path in names if (text := _text(path)) is not None]
    except FileNotFoundError:
        return []
    except OSError as error:
        return Unreadable(f"{error.filename or folder}: {error.strerror}")


def _text(path: Path) -> str | None:
    """None for what went away since it was listed."""
    try:
        return path.read_text(errors="replace")
    except FileNotFoundError:
        return None


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if equals and not name.startswith("#"):
            yield name, value.strip('"')
