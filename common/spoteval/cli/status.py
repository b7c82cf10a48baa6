"""`spoteval status`."""

import click

from spoteval.cli.common import this_host
from spoteval.cli.follow import follow_until_stopped
from spoteval.cli.output import follow_option, json_option, on_terminal, painted, say, say_json
from spoteval.cli.sight import sights
from spoteval.clock import read_now
from spoteval.report.gather import Sight
from spoteval.report.gather import status as gathered
from spoteval.report.overview import overview
from spoteval.report.status import Status
from spoteval.report.status_lines import screen

MOST = 3
"""More instances than these are a line each; by name each has its whole screen."""
_CLEAR = "\x1b[H\x1b[2J"
_AGEING = ("at", "state_s", "facts", "spent", "done", "night")
_COLOURS = {"ok": "green", "waiting": "yellow", "needs you": "red"}


@click.command()
@click.argument("name", required=False)
@json_option
@follow_option
def status(name: str | None, as_json: bool, follow: bool) -> int:
    """Where the run stands, from files and the store; the provider is not asked.

    NAME is an instance on the restarter host, elsewhere a run. More than three instances are a line each.
    Exit 1 when something needs you.
    """
    where = sights(this_host(), name)
    page = _Page(where, as_json)
    if follow:
        follow_until_stopped(page.show_news)
    else:
        page.show(page.look())
    return 1 if page.needs else 0


class _Page:
    """The screen, drawn again where something changed."""

    def __init__(self, where: tuple[Sight, ...], as_json: bool) -> None:
        self._where = where
        self._as_json = as_json
        self._shown: list[dict[str, object]] = []
        self.needs = False

    def look(self) -> list[Status]:
        """All instances now."""
        found = [gathered(sight, read_now()) for sight in self._where]
        self.needs = any(one.needs for one in found)
        return found

    def show(self, found: list[Status]) -> None:
        """Print."""
        if self._as_json:
            for one in found:
                say_json(one.record())
        elif len(found) > MOST:
            say("\n".join(overview(found)))
        else:
            say("\n\n".join("\n".join(_coloured(one)) for one in found))

    def show_news(self) -> None:
        """On a terminal always, elsewhere only what changed besides the passing of time."""
        found = self.look()
        fresh = [_lasting(one) for one in found]
        if on_terminal() and not self._as_json:
            say(_CLEAR)
        elif fresh == self._shown:
            return
        self._shown = fresh
        self.show(found)


def _lasting(status: Status) -> dict[str, object]:
    found = {key: value for key, value in status.record().items() if key not in _AGEING}
    return {**found, "published": status.published}


def _coloured(status: Status) -> list[str]:
    first, second, *rest = screen(status)
    word = next(word for word in _COLOURS if status.second_line.startswith(word))
    terminal = on_terminal()
    coloured = painted(second, _COLOURS[word], terminal)
    return [painted(first, "bold", terminal), coloured, *rest]
