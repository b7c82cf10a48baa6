"""`spoteval demo`: try it, no cloud."""

import shutil
import sys
from pathlib import Path

import click

from spoteval.clock import read_now
from spoteval.control.refused import Refused
from spoteval.demo.director import Options, Played, play
from spoteval.demo.layout import EPISODES, SLOTS, DemoPaths
from spoteval.demo.result import failures, keys, summary
from spoteval.demo.screen import Screen
from spoteval.demo.stage import DemoFailed
from spoteval.files import encoded, write_whole
from spoteval.local.weather import PROFILES
from spoteval.loop import Waker
from spoteval.report.summary import render


@click.command()
@click.option(
    "--seed", type=int, default=7, show_default=True, help="Which weather the market has."
)
@click.option(
    "--json",
    "json_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the figures there.",
)
@click.option(
    "--keep",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where to put it all (default: demo).",
)
@click.option(
    "--profile",
    type=click.Choice(PROFILES[:2]),
    default="demo",
    help="calm = nothing is ever taken.",
)
def demo(seed: int, json_file: Path | None, keep: Path | None, profile: str) -> None:
    """A real Inspect evaluation on a local node that a seeded market preempts. About 4 minutes.

    The model server is a stand-in that answers by rule; everything else is what runs on a real node.
    """
    options = Options(_fresh(keep), seed, profile)
    _refuse_without_inspect()
    screen = Screen(read_now().wall)
    screen.say(
        f" 2/4 a node, a market that preempts it, a restarter, a store: all in {options.root}"
    )
    screen.say(
        f" 3/4 {EPISODES} episodes, {SLOTS} at a time, answered by a stand-in for a model server"
    )
    played = _played(options, screen)
    _tell(options, played, screen, json_file)


def _played(options: Options, screen: Screen) -> Played:
    with Waker() as waker:
        try:
            return play(options, waker, screen.look)
        except DemoFailed as error:
            raise click.ClickException(str(error)) from error


def _tell(options: Options, played: Played, screen: Screen, json_file: Path | None) -> None:
    until = read_now().wall
    found = keys(options, played, until)
    if json_file is not None:
        write_whole(json_file.absolute(), encoded(found))
    verified = (
        "every byte verified"
        if played.pull_verified
        else f"NOT as on the disk: {played.differences[0]}"
    )
    screen.say(f" 4/4 pulled into {DemoPaths(options.root).pulled}, {verified}")
    screen.say("\n" + "\n".join(render(summary(options, played, until))))
    if wrong := failures(found):
        raise click.ClickException(f"does not hold: {', '.join(wrong)} (see {options.root})")


_URL = "#?*[]"
"""What Inspect takes for a part of a URL or a pattern, also in the path of a file."""


def _fresh(keep: Path | None) -> Path:
    """An empty directory. The default one may hold the last demo, which goes; a named one must be empty."""
    root = (keep or Path("demo")).absolute()
    if bad := [char for char in str(root) if char in _URL or not char.isprintable()]:
        raise Refused(
            f'"{root}": Inspect cannot read its logs below a name with {bad[0]!r}'
            " (--keep DIR names another)"
        )
    if root.exists() and any(root.iterdir()):
        if keep is not None or not (root / "env").exists() or not (root / "cloud").is_dir():
            raise Refused(f'"{root}" is not empty: nothing was touched (--keep DIR names another)')
        shutil.rmtree(root)
    root.mkdir(parents=True, exist_ok=True)
    return root


def _refuse_without_inspect() -> None:
    if not (Path(sys.prefix) / "bin" / "inspect").exists():
        raise Refused(
            f"no Inspect in {sys.prefix} (./install.sh demo makes an environment with it)"
        )
