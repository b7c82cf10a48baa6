"""Writes the shells' completions of `spoteval` into a directory, as click makes them.

python3 packaging/completions.py DIR
"""

import sys
from pathlib import Path

from click.shell_completion import get_completion_class

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))

from spoteval.cli.root import root

NAMES = {"bash": "spoteval", "zsh": "_spoteval", "fish": "spoteval.fish"}


def main(directory: Path) -> None:
    """One file for each shell, under the name by which the shell finds it."""
    directory.mkdir(parents=True, exist_ok=True)
    for shell, name in NAMES.items():
        found = get_completion_class(shell)
        assert found is not None
        made = found(root, {}, "spoteval", "_SPOTEVAL_COMPLETE")
        (directory / name).write_text(static(made.source_template % made.source_vars()))


def static(source: str) -> str:
    """The text of one file. Fish: click splits at each comma, and would cut what is said of a verb at its first."""
    return source.strip().replace('split "," ', 'split --max 1 "," ') + "\n"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
