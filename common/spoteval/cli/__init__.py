"""The command `spoteval`: one file a verb, imported when the verb is called."""

import sys


def main() -> None:
    """The entry point. Exit 0 done, 1 failed, 2 wrong configuration or command line, 3 refused."""
    from spoteval.cli.root import root

    root.main(args=sys.argv[1:], prog_name="spoteval")
